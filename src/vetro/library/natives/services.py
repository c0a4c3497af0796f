"""``MistralClient`` and ``MetadefBrowser``: workflows and metadata definitions of a cloud (CORE_LIBRARY.md 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.library.natives.common import perform, private, whole
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.runtime.effects import UnknownEffect
from vetro.muranopl.types.native import method
from vetro.yaql.resolve.signature import Param, Type
from vetro.yaql.values import FDict

MISTRAL = "io.murano.system.MistralClient"
METADEF = "io.murano.system.MetadefBrowser"

#: What a workflow's output holds beside what its author put there.
_INTERNAL = frozenset({"openstack", "__execution", "task"})


class MistralError(MuranoError):
    """A workflow failed or did not end in time, or there is no workflow service."""

    code = "LIB230"
    kind = "error"
    aliases = ("murano.engine.system.workflowclient.MistralError",)


def _workflow(cx: Any, this: Any, query: str, **args: Any) -> Any:
    region = private(whole(this), MISTRAL, "_regionName") or None
    try:
        return perform(cx, "workflow", region=region, query=query, **args)
    except UnknownEffect:
        raise MistralError("workflows are not available here: this cloud has no Mistral service") from None


_MAPPING = Type.DICT


class MistralClient:
    """Workflows."""

    @method("upload", params=(Param("definition", Type.STR),))
    def upload(cx: Any, this: Any, definition: str) -> None:
        """Makes workflows of a definition known to the service. Raises `MistralError`."""
        _workflow(cx, this, "upload", definition=definition)

    @method(
        "run",
        params=(
            Param("name", Type.STR),
            Param("timeout", Type.NUM, 600),
            Param("inputs", _MAPPING, None, nullable=True),
            Param("params", _MAPPING, None, nullable=True),
        ),
    )
    def run(cx: Any, this: Any, name: str, timeout: float = 600, inputs: Any = None, params: Any = None) -> Any:
        """The output of a workflow; with timeout 0 the id of its execution, at once. Raises `MistralError`."""
        answer = _workflow(cx, this, "run", name=name, timeout=timeout, inputs=inputs, params=params)
        if not isinstance(answer, Mapping):
            return answer
        return FDict({key: value for key, value in answer.items() if key not in _INTERNAL})


def _definitions(cx: Any, this: Any, query: str, **args: Any) -> Any:
    browser = whole(this)
    region = private(browser, METADEF, "_regionName") or None
    # Browsers come and go with the resources that ask; what they found is the session's.
    cache: dict[Any, Any] = cx.session.native.setdefault("metadata definitions", {})
    key = (region, query, *args.values())
    if not private(browser, METADEF, "_cache"):
        cache = {}
    if key not in cache:
        cache[key] = perform(cx, "metadef", region=region, query=query, **args) or ()
    return cache[key]


class MetadefBrowser:
    """Metadata definitions of the image service; ``canBeAppliedTo`` is MuranoPL."""

    @method("getNamespaces", params=(Param("resourceType", Type.STR),))
    def namespaces(cx: Any, this: Any, resource_type: str) -> Any:
        """Records of the namespaces whose definitions can be applied to resources of a type."""
        return _definitions(cx, this, "namespaces", resource_type=resource_type)

    @method("getObjects", params=(Param("namespace", Type.STR),))
    def objects(cx: Any, this: Any, namespace: str) -> Any:
        """Records of the objects of a namespace."""
        return _definitions(cx, this, "objects", namespace=namespace)
