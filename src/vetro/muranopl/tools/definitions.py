"""Where objects stand in the properties of a class, and definitions there written with a header, as stored models have.

A definition may name its class by a key (``p:Item: {…}``), or leave it to the contract. Which class that is depends on
the class whose property it stands in: its namespaces, and its contract, which alone says whether a mapping is an object
or data. Classes are only read, nothing of them runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from vetro import muranopl
from vetro.data_classes import dataclass
from vetro.model.header import header_of, parse_type_text, type_of
from vetro.muranopl.contracts.model import (
    Contract,
    ContractExpression,
    ContractList,
    ContractMap,
    OfClass,
    object_calls,
)
from vetro.muranopl.declarations.tree import EMPTY, Namespaces
from vetro.muranopl.errors import UnknownPrefix
from vetro.muranopl.objects.header import inline_key
from vetro.muranopl.tools.inspect import class_of_header


@dataclass(frozen=True, slots=True)
class ValueSlot:
    """A place in the value of a property. Only what holds objects, or has places that do, is one."""

    #: Of the class that declares the property, where objects may stand.
    namespaces: Namespaces | None = None
    #: The class of objects that name none.
    default: str = ""
    #: Of a list, by position; the last one repeats.
    items: tuple[ValueSlot | None, ...] = ()
    #: Of a mapping, by key, and for all other keys.
    entries: Mapping[str, ValueSlot | None] = field(default_factory=lambda: EMPTY)
    rest: ValueSlot | None = None


#: The ``type`` of an object -> its properties that hold objects.
Places: TypeAlias = Callable[[str], Mapping[str, ValueSlot]]


def places_of(engine: muranopl.Engine, type_text: str) -> dict[str, ValueSlot]:
    """The properties of a class that hold objects. Raises `VetroError` where there is no such class."""
    session = engine.session()
    try:
        return session.run(lambda: _places(class_of_header(session, type_text).property_owners))
    finally:
        session.close()


def _places(owners: Mapping[str, Any]) -> dict[str, ValueSlot]:
    found = {}
    for name, (declaring, *_) in owners.items():
        place = _place(declaring.own_properties[name].decl.contract, declaring.decl.namespaces)
        if place is not None:
            found[name] = place
    return found


def _place(contract: Contract, namespaces: Namespaces) -> ValueSlot | None:
    if not any(object_calls(contract)):
        return None
    if isinstance(contract, ContractList):
        return ValueSlot(items=tuple(_place(item, namespaces) for item in contract.items))
    if isinstance(contract, ContractMap):
        entries = {key: _place(inner, namespaces) for key, inner in contract.entries if isinstance(key, str)}
        return ValueSlot(entries=entries, rest=_place(contract.rest[0][1], namespaces) if contract.rest else None)
    steps = contract.chain.steps if isinstance(contract, ContractExpression) and contract.chain is not None else ()
    written = next((step.default or step.name for step in steps if isinstance(step, OfClass)), None)
    return ValueSlot(namespaces=namespaces, default=_resolved(namespaces, written) if written else "")


def _resolved(namespaces: Namespaces, name: str) -> str:
    try:
        return namespaces.resolve(name)
    except UnknownPrefix:
        return ""


def with_headers(model: Any, places: Places, *, new_id: Callable[[], str] | None = None, defaults: bool = False) -> Any:
    """A copy of a model; ``new_id`` gives ids to definitions that have none and get a header.

    ``defaults``: also definitions that leave their class to the contract get one.
    """
    root: list[Any] = [None]
    work: list[tuple[Any, Any, Any, ValueSlot | None]] = [(model, root, 0, None)]
    while work:
        value, holder, key, place = work.pop()
        if isinstance(value, Mapping):
            made = value if header_of(value) is not None else _headed(value, place, defaults)
            if made is not value and new_id is not None and made["?"].get("id") is None:
                made["?"]["id"] = new_id()
            holder[key] = copy = dict(made)
            is_object = header_of(made) is not None
            inside = places(type_of(made)) if is_object else EMPTY if place is None else place.entries
            rest = None if is_object or place is None else place.rest
            work += [
                (item, copy, name, inside.get(name, rest))
                for name, item in made.items()
                if name != "?" and isinstance(item, (Mapping, list, tuple))
            ]
        elif isinstance(value, (list, tuple)):
            holder[key] = copies = list(value)
            items = () if place is None else place.items
            work += [
                (item, copies, index, items[min(index, len(items) - 1)] if items else None)
                for index, item in enumerate(value)
            ]
        else:
            holder[key] = value
    return root[0]


def _headed(value: Mapping[str, Any], place: ValueSlot | None, defaults: bool) -> Mapping[str, Any]:
    """A mapping without a header as it would be with one; itself where it is no object."""
    if place is None or place.namespaces is None:
        return value
    key = inline_key(value)
    if key is None:
        return {"?": {"type": place.default}, **value} if defaults and place.default and "?" not in value else value
    name, version, package = parse_type_text(key)
    full = _resolved(place.namespaces, name)
    if not full:
        return value
    text = full + (f"/{version}" if version else "") + (f"@{package}" if package else "")
    header = {name: item for name, item in value.items() if name != key}
    return {"?": {**header, "type": text}, **{k: v for k, v in (value[key] or {}).items() if k != "?"}}
