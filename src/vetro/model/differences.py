"""What differs between two states of an object model, object by object (history, pending changes, plans).

Objects are the same when their ids are. Values of properties whose names say that they are secret are never shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.model.header import class_name, class_of, id_of, name_of, parse_type_text, type_of
from vetro.model.paths import ABSENT
from vetro.model.secrets import Secret, masked
from vetro.model.tree import Place, walk
from vetro.yaql.redact import Secrets


@dataclass(frozen=True, slots=True)
class Property:
    """A property that differs. ``old`` or ``new`` is None, too, where there was none: `added`, `removed`."""

    name: str
    old: Any
    new: Any
    added: bool = False
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """One object that differs. A changed one may have been moved, too: then `came_from` is set."""

    what: Literal["created", "changed", "moved", "destroyed"]
    id: str
    #: Class, version and package, of the newer state where it is there.
    type: str
    name: str
    #: Id of the owner and the property that holds it; None for the root.
    place: tuple[str, str] | None
    came_from: tuple[str, str] | None = None
    properties: tuple[Property, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "what": self.what,
            "id": self.id,
            "type": self.type,
            "name": self.name,
            "place": _place(self.place),
            "came_from": _place(self.came_from),
            "properties": [
                {"name": p.name, "old": p.old, "new": p.new, "added": p.added, "removed": p.removed}
                for p in self.properties
            ],
        }


@dataclass(frozen=True, slots=True)
class _Entry:
    obj: Mapping[str, Any]
    place: tuple[str, str] | None


def diff(before: Any, after: Any, secret: Secret | None = None) -> list[Difference]:
    """Differences between two root objects (None: nothing there) in the order of the newer one; destroyed ones last.

    Values of secret properties are masked, and their texts in those of the others.
    """
    old, new = _index(before), _index(after)
    secrets = _secrets((*old.values(), *new.values()), secret)
    found = []
    for own, entry in new.items():
        known = old.get(own)
        if known is None:
            found.append(_difference("created", own, entry, _properties({}, entry.obj, secret)))
            continue
        properties = _properties(known.obj, entry.obj, secret)
        moved = known.place != entry.place
        if properties or moved:
            what: Any = "changed" if properties else "moved"
            found.append(_difference(what, own, entry, properties, known.place if moved else None))
    found += [_difference("destroyed", own, entry, ()) for own, entry in old.items() if own not in new]
    return [_without(item, secrets) for item in found] if secrets else found


def tidied(items: list[Difference]) -> list[Difference]:
    """Differences without properties of which only the objects in them are others: those are told by themselves."""
    kept = []
    for item in items:
        told = tuple(p for p in item.properties if not (contains_only(p.old, p.new) or _versioned(p)))
        if told or item.what != "changed":
            kept.append(replace(item, properties=told))
        elif item.came_from is not None:
            kept.append(replace(item, what="moved", properties=()))
    return kept


def _versioned(told: Property) -> bool:
    """Whether a class only got the version that it was deployed with."""
    return told.name == "?/type" and told.old == class_name(told.new)


def in_words(told: Mapping[str, Any]) -> dict[str, Any]:
    """A property (of `Difference.as_json`) as people read it: what a header says is called what it is."""
    if told["name"] == "?/name":
        return {**told, "name": Text("name")}
    if told["name"] != "?/type":
        return dict(told)
    old, new = parse_type_text(str(told["old"])), parse_type_text(str(told["new"]))
    if old.name == new.name and old.version != new.version:
        return {**told, "name": Text("version"), "old": old.version, "new": new.version,
                "added": old.version is None, "removed": new.version is None}  # fmt: skip
    if old.name == new.name:
        return {**told, "name": Text("package"), "old": old.package, "new": new.package}
    shown = [f"{one.name} {one.version}" if one.version else one.name for one in (old, new)]
    return {**told, "name": Text("class"), "old": shown[0], "new": shown[1]}


def contains_only(old: Any, new: Any) -> bool:
    """Whether two values of a property differ in nothing but the objects that they hold. Two that look the same differ
    in what is not shown of them: they are secret."""
    return bool(old != new and _hollow(old) == _hollow(new))


def _hollow(value: Any) -> Any:
    if isinstance(value, list):
        return [item for item in map(_hollow, value) if item is not None] or None
    if isinstance(value, Mapping):
        items = {key: _hollow(item) for key, item in value.items()}
        return None if "?" in value else {key: item for key, item in items.items() if item is not None} or None
    return value


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, with nested objects seen as the references they are."""
    pairs = [(one, other)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict) or isinstance(other, dict):
            if id_of(one) is not None or id_of(other) is not None:
                if _reference(one) != _reference(other):
                    return False
                continue
            if not isinstance(one, dict) or not isinstance(other, dict) or one.keys() != other.keys():
                return False
            pairs += [(value, other[key]) for key, value in one.items()]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif type(one) is not type(other) or one != other:
            return False
    return True


def _reference(value: Any) -> str | None:
    return value if isinstance(value, str) else id_of(value)


def _secrets(entries: Iterable[_Entry], secret: Secret | None) -> Secrets:
    known = Secrets()
    for entry in entries if secret is not None else ():
        class_name = class_of(entry.obj)
        for name, value in entry.obj.items():
            if name != "?" and secret is not None and secret(class_name, name):
                known.add(value)
    return known


def _without(item: Difference, known: Secrets) -> Difference:
    properties = tuple(replace(p, old=known.data(p.old), new=known.data(p.new)) for p in item.properties)
    return replace(item, name=known.text(item.name), properties=properties)


def _difference(
    what: Any, own: str, entry: _Entry, properties: tuple[Property, ...], came_from: tuple[str, str] | None = None
) -> Difference:
    return Difference(what, own, type_of(entry.obj), name_of(entry.obj), entry.place, came_from, properties)


def _index(root: Any) -> dict[str, _Entry]:
    """Id -> object and where it stands; objects without id are numbered."""
    found: dict[str, _Entry] = {}
    ids: dict[Place, str] = {}
    number = 0
    for place in walk(root):
        own = id_of(place.object)
        if own is None:
            number += 1
            own = f"(new {number})"
        ids[place] = own
        around = None if place.around is None else (ids[place.around], str(place.property))
        found[own] = _Entry(place.object, around)
    return found


def _properties(old: Mapping[str, Any], new: Mapping[str, Any], secret: Secret | None) -> tuple[Property, ...]:
    class_name = class_of(new)
    found = []
    if old:
        for name in ("type", "name"):
            was, now = old["?"].get(name), new["?"].get(name)
            if was is not None and now is not None and was != now:
                found.append(Property(f"?/{name}", was, now))
    for name in [*(key for key in new if key != "?"), *(key for key in old if key != "?" and key not in new)]:
        was, now = old.get(name, ABSENT), new.get(name, ABSENT)
        if was is not ABSENT and now is not ABSENT and same(was, now):
            continue
        found.append(
            Property(
                name,
                None if was is ABSENT else masked(name, was, class_name, secret),
                None if now is ABSENT else masked(name, now, class_name, secret),
                added=was is ABSENT,
                removed=now is ABSENT,
            )
        )
    return tuple(found)


def _place(place: tuple[str, str] | None) -> dict[str, str] | None:
    return None if place is None else {"owner": place[0], "property": place[1]}
