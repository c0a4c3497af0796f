"""``io.murano.system.Resources``: files of a package (CORE_LIBRARY.md, Resources)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from vetro.library.natives.common import whole
from vetro.muranopl.errors import SourceError
from vetro.muranopl.source.documents import load_documents
from vetro.muranopl.source.nodes import PLAIN, STANDARD, position
from vetro.muranopl.source.scalars import construct, plain_value
from vetro.muranopl.types.native import method, state
from vetro.yaql.resolve.signature import Param, Type
from vetro.yaql.values import FDict, freeze

RESOURCES = "io.murano.system.Resources"

_NAME = Param("name", Type.STR)
_OWNER = Param("owner", Type.ANY, None, nullable=True)


def is_resources(value: Any) -> bool:
    """True for objects of class io.murano.system.Resources."""
    kind = getattr(whole(value), "_type", None)
    return kind is not None and any(a.name == RESOURCES for a in kind.ancestors)


def package_of(cx: Any, this: Any, owner: Any) -> Any:
    """The package to read: the owner's, else the one the object is bound to, else that of the calling class."""
    if owner is not None:
        obj = whole(owner)
        kind = obj._type if hasattr(obj, "_type") else cx.resolve(owner)
        return kind.package
    bound = getattr(whole(this), "_native_state", None)
    if bound and "package" in bound:
        return bound["package"]
    return cx.type.package


#: Longest text that is kept for the next reader.
_KEPT = 1 << 20


def _read(cx: Any, package: Any, kind: str, name: str, make: Callable[[str], Any]) -> Any:
    """``make(text)`` of a file; kept, because every server of a deployment reads the same ones."""
    known: dict[Any, Any] = cx.session.native.setdefault("resources", {})
    key = (id(package), kind, name)
    found = known.get(key)
    if found is None:
        text = package.resource_text(name)
        made = make(text)
        if len(text) > _KEPT:
            return made
        # The package is kept as well: its identity must not pass to another one.
        found = known[key] = (package, made)
    return found[1]


def _json(text: str, name: str) -> Any:
    try:
        return freeze(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"resource '{name}' is no JSON: {error}") from None


def _yaml(text: str, file: str) -> Any:
    """The first document of ``text`` as frozen data: safe, bounded, dates as text; null when there is none."""
    documents = load_documents(text, file, allow_duplicate_keys=True)
    return _convert(documents[0], file) if documents else None


def _scalar(node: ScalarNode, file: str) -> Any:
    try:
        if node.tag == PLAIN:
            return plain_value(node.value)
        return construct(node.tag, node.value) if node.tag.startswith(STANDARD) else node.value
    except ValueError as error:
        raise SourceError(str(error), position=position(node, file)) from None


def _convert(node: Node, file: str) -> Any:
    # The source layer limits the nesting to 200 levels, so recursion is safe.
    if isinstance(node, MappingNode):
        return FDict((_convert(key, file), _convert(value, file)) for key, value in node.value)
    if isinstance(node, SequenceNode):
        return tuple(_convert(item, file) for item in node.value)
    assert isinstance(node, ScalarNode)
    return _scalar(node, file)


class Resources:
    """Each method works on an object and on the class."""

    def created(cx: Any, this: Any) -> None:
        """Binds a new object to the package of the code that made it."""
        state(this)["package"] = cx.type.package

    @method("string", params=(_NAME, _OWNER, Param("binary", Type.BOOL, False)), static=True)
    def string(cx: Any, this: Any, name: str, owner: Any = None, binary: bool = False) -> Any:
        """The file as text (or as bytes). Raises `ResourceNotFound`, also for names that leave the folder."""
        package = package_of(cx, this, owner)
        return package.resource(name) if binary else _read(cx, package, "text", name, str)

    @method("json", params=(_NAME, _OWNER), static=True)
    def json(cx: Any, this: Any, name: str, owner: Any = None) -> Any:
        """The JSON file as a structure. Raises `ValueError` when it is none."""
        return _read(cx, package_of(cx, this, owner), "json", name, lambda text: _json(text, name))

    @method("yaml", params=(_NAME, _OWNER), static=True)
    def yaml(cx: Any, this: Any, name: str, owner: Any = None) -> Any:
        """The YAML file as a structure; dates stay text. Raises `SourceError` when it is none."""
        return _read(cx, package_of(cx, this, owner), "yaml", name, lambda text: _yaml(text, name))
