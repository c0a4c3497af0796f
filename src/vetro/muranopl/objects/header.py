"""Headers of object definitions (SEMANTICS 11.1): the ``?`` mapping and the inline form.

A definition is a mapping. Its class, id and name stand in a mapping under ``?``; or one key is a class (``:Item``,
``p:Item``, a type value) whose value holds the properties, and the keys beside it are the header.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from vetro.model.header import is_class_key, parse_type_text
from vetro.muranopl.errors import DeclarationError
from vetro.muranopl.types.murano_object import NO_HEADER
from vetro.muranopl.types.murano_type import MuranoType
from vetro.yaql.values import SCALARS, FDict, freeze

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, Runtime


class Header(NamedTuple):
    """A parsed header. ``type`` is None where the definition leaves it to the contract."""

    type: LinkedClass | None
    id: str | None
    name: str | None
    #: Other keys that are kept: metadata, designer keys, disabled actions.
    kept: Mapping[str, Any]
    subscriptions: list[tuple[str, str | None]] | None
    destroyed: bool


NOTHING = Header(None, None, None, NO_HEADER, None, False)


def as_type(value: Any) -> LinkedClass | None:
    """The class that a type object or a reflected type stands for; None for anything else."""
    if value.__class__ in SCALARS:
        return None
    found = getattr(value, "type", None)
    return found if isinstance(found, MuranoType) else None


def inline_key(mapping: Mapping[Any, Any]) -> Any:
    """The key of an inline definition that names its class; None when it is no inline definition."""
    found = None
    for key, value in mapping.items():
        named = is_class_key(key) if key.__class__ is str else as_type(key)
        if named not in (None, False) and (value is None or isinstance(value, Mapping)):
            if found is not None:
                return None
            found = key
    return found


def split(
    session: Runtime, mapping: Mapping[Any, Any], context: LinkedClass | None
) -> tuple[Header, Mapping[Any, Any]]:
    """Header and property values of a definition.

    Names in the inline form are resolved in ``context``, the class whose contract or code met the definition. Raises
    `DeclarationError` for a malformed header, `ClassNotFound` or `PackageNotFound` for a class nobody has.
    """
    raw = mapping.get("?")
    if raw is not None:
        if not isinstance(raw, Mapping):
            raise DeclarationError("the header '?' of an object must be a mapping")
        return parse(session, raw), mapping
    key = inline_key(mapping)
    if key is None:
        return NOTHING, mapping
    header = parse(session, {k: v for k, v in mapping.items() if k != key})
    found = _inline_type(session, key, context)
    return header._replace(type=found), mapping[key] if mapping[key] is not None else NO_HEADER


def _inline_type(session: Runtime, key: Any, context: LinkedClass | None) -> LinkedClass:
    found = as_type(key)
    if found is not None:
        return found
    name, version, package = parse_type_text(key)
    if context is not None:
        if version is None and package is None:
            return context.resolve_class(name)
        name = context.decl.namespaces.resolve(name)
    else:
        name = name.rpartition(":")[2]
    return session.type_for(name, version, package)


def parse(session: Runtime, raw: Mapping[Any, Any]) -> Header:
    """A header mapping; keys that mean nothing are dropped. Raises as `split` does."""
    kept: dict[str, Any] = {}
    subscriptions: list[tuple[str, str | None]] | None = None
    for key, value in raw.items():
        if key in _PLAIN or key.__class__ is not str:
            continue
        if key == "metadata":
            if value is not None:
                kept[key] = freeze(value)
        elif key == "dependencies":
            subscriptions = _subscriptions(value)
        elif key == "_actions":
            disabled = _disabled_actions(value)
            if disabled:
                kept[key] = disabled
        elif key.startswith("_"):
            kept[key] = freeze(value)
    name = raw.get("name")
    return Header(
        type=header_type(session, raw),
        id=_text(raw.get("id"), "id"),
        name=name if name is None or name.__class__ is str else str(name),
        kept=FDict(kept) if kept else NO_HEADER,
        subscriptions=subscriptions,
        destroyed=raw.get("destroyed") is True,
    )


_PLAIN = frozenset({"type", "classVersion", "package", "id", "name", "destroyed"})


def header_type(session: Runtime, raw: Mapping[Any, Any]) -> LinkedClass | None:
    """The class a header names: the type's own version and package win over the separate keys (11.1)."""
    written = raw.get("type")
    if written is None:
        return None
    if written.__class__ is not str:
        found = as_type(written)
        if found is None:
            raise DeclarationError("the 'type' of an object must be the name of a class")
        return found
    name, version, package = parse_type_text(written)
    if not name:
        raise DeclarationError(f"'{written}' is no name of a class")
    if version is None:
        given = raw.get("classVersion")
        version = None if given is None else str(given)
    return session.type_for(name, version, package or _text(raw.get("package"), "package"))


def _text(value: Any, what: str) -> str | None:
    if value is None or value.__class__ is str:
        return value or None
    if value.__class__ is int:
        return str(value)
    raise DeclarationError(f"the '{what}' of an object must be text")


def _subscriptions(value: Any) -> list[tuple[str, str | None]] | None:
    """``dependencies: {onDestruction: [{subscriber, handler}]}``; what does not look so is dropped."""
    rows = value.get("onDestruction") if isinstance(value, Mapping) else None
    found: list[tuple[str, str | None]] = []
    for row in rows if isinstance(rows, (list, tuple)) else ():
        if isinstance(row, Mapping) and isinstance(row.get("subscriber"), str):
            handler = row.get("handler")
            found.append((row["subscriber"], handler if isinstance(handler, str) else None))
    return found or None


def _disabled_actions(value: Any) -> FDict | None:
    """Names of the actions that the model switched off (12.2); nothing else of ``_actions`` is worth keeping."""
    if not isinstance(value, Mapping):
        return None
    off = {}
    for row in value.values():
        if isinstance(row, Mapping) and row.get("enabled") is False and isinstance(row.get("name"), str):
            off[row["name"]] = False
    return FDict(off) if off else None
