"""``io.murano.system.HeatStack``: an in-memory template that ``push`` makes real (CORE_LIBRARY.md, HeatStack).

The cloud itself is behind the effects ``stack.read``, ``stack.push`` and ``stack.delete``; waiting and retrying are
the host's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.library.natives.common import private, whole
from vetro.library.natives.resourceowners import owners_of
from vetro.library.natives.stacks import Stack
from vetro.library.natives.stackstates import HeatStackError
from vetro.muranopl.runtime.context import calling_object
from vetro.muranopl.types.native import method, state
from vetro.yaql.resolve.signature import Param, Type

STACK = "io.murano.system.HeatStack"


def stack_of(cx: Any, this: Any) -> Stack:
    """The Python side of a stack object."""
    obj = whole(this)
    values = state(obj)
    found: Stack | None = values.get("stack")
    if found is None:
        name = str(private(obj, STACK, "_name"))
        region = private(obj, STACK, "_regionName") or None
        found = values["stack"] = Stack(cx.session, name, region, private(obj, STACK, "_description"))
    return found


def _writer(cx: Any, this: Any) -> tuple[Any, Any]:
    """Whose resources are whose in the template, and the object whose code writes into it now; nulls: all may."""
    owners = owners_of(cx, whole(this))
    writer = calling_object() if owners is not None else None
    return (owners, writer) if writer is not None else (None, None)


_TEMPLATE = Param("template", Type.DICT)
_FLAG = Type.BOOL


class HeatStack:
    """The methods of a stack."""

    @method()
    def current(cx: Any, this: Any) -> Any:
        """The template; the first call reads it from the cloud, ``{}`` when there is no such stack."""
        return stack_of(cx, this).read()

    @method()
    def reload(cx: Any, this: Any) -> Any:
        """Forgets what is in memory and reads again."""
        return stack_of(cx, this).reload()

    @method()
    def parameters(cx: Any, this: Any) -> Any:
        """The parameters of the stack."""
        stack = stack_of(cx, this)
        stack.read()
        return stack.values

    @method("setTemplate", params=(_TEMPLATE,))
    def set_template(cx: Any, this: Any, template: Any) -> None:
        """Replaces the template and clears the parameters."""
        stack_of(cx, this).replace(template, *_writer(cx, this))

    @method("setParameters", params=(Param("parameters", Type.DICT),))
    def set_parameters(cx: Any, this: Any, parameters: Any) -> None:
        """Replaces the parameters."""
        stack_of(cx, this).set_values(parameters)

    @method("setFiles", params=(Param("files", Type.DICT),))
    def set_files(cx: Any, this: Any, files: Any) -> None:
        """Sets the files that the template refers to."""
        stack_of(cx, this).set_files(files)

    @method("setHotEnvironment", params=(Param("environment", Type.ANY),))
    def set_environment(cx: Any, this: Any, environment: Any) -> None:
        """Sets the stack's environment text."""
        stack_of(cx, this).set_environment(environment)

    @method("updateTemplate", params=(_TEMPLATE,))
    def update_template(cx: Any, this: Any, template: Mapping[str, Any]) -> None:
        """Merges into the template. Raises `HeatStackError` for another template version than 2013-05-23."""
        stack_of(cx, this).update(template, *_writer(cx, this))

    # Python 3 made `async` a keyword; packages use both names.
    @method(params=(Param("isAsync", _FLAG, False), Param("async", _FLAG, False)))
    def push(cx: Any, this: Any, is_async: bool = False, async_: bool = False) -> None:
        """Brings the cloud in line with the template; nothing when nothing changed.

        The asynchronous form is made by the next push, by ``output``, ``reload`` or the end of the run.
        """
        stack = stack_of(cx, this)
        if is_async or async_:
            stack.push_later()
        else:
            stack.push()

    @method()
    def output(cx: Any, this: Any) -> Any:
        """The outputs of the stack, key to value, after a pending push has ended."""
        return stack_of(cx, this).outputs()

    @method()
    def delete(cx: Any, this: Any) -> None:
        """Deletes the stack and waits for it; nothing when there is none."""
        stack_of(cx, this).delete()


__all__ = ["HeatStack", "HeatStackError", "stack_of"]
