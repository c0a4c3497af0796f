"""``io.murano.system.HeatStack``: an in-memory template that ``push`` makes real (CORE_LIBRARY.md, HeatStack).

The cloud itself is behind the effects ``stack.read``, ``stack.push`` and ``stack.delete``; waiting and retrying are
the host's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.library.natives.common import perform, private, whole
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.native import method, state
from vetro.yaql.signature import Param, Type
from vetro.yaql.values import FDict, check_depth, freeze

STACK = "io.murano.system.HeatStack"
TEMPLATE_VERSION = "2013-05-23"


class HeatStackError(MuranoError):
    """A template that this library cannot push."""

    code = "LIB201"
    kind = "invalid-operation"
    aliases = ("murano.engine.system.heat_stack.HeatStackError",)


def merge(base: Any, other: Any) -> Any:
    """Templates merged deeply: mappings by key, lists united, anything else replaced."""
    if isinstance(base, dict) and isinstance(other, dict):
        result = dict(base)
        for key, value in other.items():
            result[key] = merge(result[key], value) if key in result else value
        return FDict(result)
    if isinstance(base, tuple) and isinstance(other, tuple):
        return base + tuple(item for item in other if item not in base)
    return other


class _Stack:
    """The Python side of one stack object."""

    def __init__(self, cx: Any, this: Any) -> None:
        self.cx = cx
        obj = whole(this)
        self.name = str(private(obj, STACK, "_name"))
        self.description = private(obj, STACK, "_description")
        self.region = private(obj, STACK, "_regionName") or None
        self.values = state(obj)

    def _effect(self, kind: str, **args: Any) -> Any:
        return perform(self.cx, kind, name=self.name, region=self.region, **args)

    def read(self) -> None:
        """Reads template and parameters from the cloud unless they are in memory."""
        if "template" in self.values:
            return
        found = self._effect("stack.read") or {}
        parameters = found.get("parameters") or {}
        self.values["template"] = freeze(found.get("template") or {})
        self.values["parameters"] = FDict({k: freeze(v) for k, v in parameters.items() if not k.startswith("OS::")})

    def change(self, **values: Any) -> None:
        """Sets values and marks the stack as changed."""
        self.values.update(values, dirty=True)

    def push(self, is_async: bool) -> None:
        if not self.values.get("dirty"):
            return
        template: dict[str, Any] = dict(self.values["template"])
        template.setdefault("heat_template_version", TEMPLATE_VERSION)
        if self.description and "description" not in template:
            template["description"] = self.description
        if not (template.get("resources") or template.get("Resources")):
            self._effect("stack.delete")
            self.values["outputs"] = FDict()
        else:
            answer = self._effect(
                "stack.push",
                template=template,
                parameters=self.values.get("parameters") or {},
                files=self.values.get("files") or {},
                environment=self.values.get("environment"),
                wait=not is_async,
            )
            self.values["outputs"] = None if is_async else freeze((answer or {}).get("outputs") or {})
        self.values["dirty"] = False

    def outputs(self) -> FDict:
        known = self.values.get("outputs")
        if known is None:
            found = self._effect("stack.read", wait=True) or {}
            known = self.values["outputs"] = freeze(found.get("outputs") or {})
        return known  # type: ignore[no-any-return]


_TEMPLATE = Param("template", Type.DICT)
_FLAG = Type.BOOL


class HeatStack:
    """The methods of a stack."""

    @method()
    def current(cx: Any, this: Any) -> Any:
        """The template; the first call reads it from the cloud, ``{}`` when there is no such stack."""
        stack = _Stack(cx, this)
        stack.read()
        return stack.values["template"]

    @method()
    def reload(cx: Any, this: Any) -> Any:
        """Forgets what is in memory and reads again."""
        stack = _Stack(cx, this)
        for name in ("template", "parameters", "outputs", "dirty"):
            stack.values.pop(name, None)
        stack.read()
        return stack.values["template"]

    @method()
    def parameters(cx: Any, this: Any) -> Any:
        """The parameters of the stack."""
        stack = _Stack(cx, this)
        stack.read()
        return stack.values["parameters"]

    @method("setTemplate", params=(_TEMPLATE,))
    def set_template(cx: Any, this: Any, template: Any) -> None:
        """Replaces the template and clears the parameters."""
        _Stack(cx, this).change(template=template, parameters=FDict())

    @method("setParameters", params=(Param("parameters", Type.DICT),))
    def set_parameters(cx: Any, this: Any, parameters: Any) -> None:
        """Replaces the parameters."""
        stack = _Stack(cx, this)
        stack.read()
        stack.change(parameters=parameters)

    @method("setFiles", params=(Param("files", Type.DICT),))
    def set_files(cx: Any, this: Any, files: Any) -> None:
        """Sets the files that the template refers to."""
        stack = _Stack(cx, this)
        stack.read()
        stack.change(files=files)

    @method("setHotEnvironment", params=(Param("environment", Type.ANY),))
    def set_environment(cx: Any, this: Any, environment: Any) -> None:
        """Sets the stack's environment text."""
        stack = _Stack(cx, this)
        stack.read()
        stack.change(environment=environment)

    @method("updateTemplate", params=(_TEMPLATE,))
    def update_template(cx: Any, this: Any, template: Mapping[str, Any]) -> None:
        """Merges into the template. Raises `HeatStackError` for another template version than 2013-05-23."""
        version = template.get("heat_template_version", TEMPLATE_VERSION)
        if str(version) != TEMPLATE_VERSION:
            raise HeatStackError(f"templates of version {version} cannot be merged, only {TEMPLATE_VERSION}")
        check_depth(template)
        stack = _Stack(cx, this)
        stack.read()
        merged = merge(stack.values["template"], template)
        if merged != stack.values["template"]:
            stack.change(template=merged)

    # Python 3 made `async` a keyword; packages use both names.
    @method(params=(Param("isAsync", _FLAG, False), Param("async", _FLAG, False)))
    def push(cx: Any, this: Any, is_async: bool = False, async_: bool = False) -> None:
        """Brings the cloud in line with the template; nothing when nothing changed."""
        _Stack(cx, this).push(is_async or async_)

    @method()
    def output(cx: Any, this: Any) -> Any:
        """The outputs of the stack, key to value, after a pending push has ended."""
        return _Stack(cx, this).outputs()

    @method()
    def delete(cx: Any, this: Any) -> None:
        """Deletes the stack and waits for it; nothing when there is none."""
        stack = _Stack(cx, this)
        stack._effect("stack.delete")
        stack.values.update(template=FDict(), parameters=FDict(), outputs=FDict(), dirty=False)
