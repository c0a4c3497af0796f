"""What differs between two states of an object model, object by object (history, pending changes, plans).

Objects are the same when their ids are. Values of properties whose names say that they are secret are never shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vetro.yaql.redact import MASK, Secrets

#: Whether the property of a class (name without version) is secret.
Secret = Callable[[str, str], bool]

_SECRET = re.compile(r"pass(word|wd|phrase)|secret|token|credential|private_?key|api_?key", re.IGNORECASE)
_ABSENT: Any = object()


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
    old, new = dict(_index(before)), dict(_index(after))
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


def _secrets(entries: Iterable[_Entry], secret: Secret | None) -> Secrets:
    known = Secrets()
    for entry in entries if secret is not None else ():
        class_name = _class_name(entry.obj)
        for name, value in entry.obj.items():
            if name != "?" and secret is not None and secret(class_name, name):
                known.add(value)
    return known


def _without(item: Difference, known: Secrets) -> Difference:
    properties = tuple(replace(p, old=known.data(p.old), new=known.data(p.new)) for p in item.properties)
    return replace(item, name=known.text(item.name), properties=properties)


def sounds_secret(name: str) -> bool:
    """Whether a property is called password, token or the like."""
    return _SECRET.search(name) is not None


def masked(name: str, value: Any, class_name: str = "", secret: Secret | None = None) -> Any:
    """A value as it may be shown: secrets masked at any depth, nested objects as ``{"?": {id, type}}``."""
    if value is not None and value != "" and (sounds_secret(name) or (secret is not None and secret(class_name, name))):
        return MASK
    if isinstance(value, list):
        return [masked(name, item, class_name, secret) for item in value]
    if isinstance(value, Mapping):
        if isinstance(value.get("?"), Mapping):
            return {"?": {"id": value["?"].get("id"), "type": value["?"].get("type")}}
        return {key: masked(str(key), item, class_name, secret) for key, item in value.items()}
    return value


def _difference(
    what: Any, own: str, entry: _Entry, properties: tuple[Property, ...], came_from: tuple[str, str] | None = None
) -> Difference:
    header = entry.obj["?"]
    name = header.get("name") or entry.obj.get("name")
    return Difference(what, own, str(header.get("type") or ""), str(name or ""), entry.place, came_from, properties)


def _index(root: Any) -> Iterator[tuple[str, _Entry]]:
    """Id -> object and where it stands; objects without id get their place as id."""
    if not isinstance(root, Mapping):
        return
    stack: list[tuple[Any, tuple[str, str] | None]] = [(root, None)]
    number = 0
    while stack:
        value, place = stack.pop()
        if isinstance(value, list):
            stack.extend((item, place) for item in reversed(value) if isinstance(item, (dict, list)))
        elif isinstance(value, Mapping):
            below = place
            if isinstance(value.get("?"), Mapping):
                own = value["?"].get("id")
                if not isinstance(own, str):
                    number += 1
                    own = f"(new {number})"
                yield own, _Entry(value, place)
                items = [(name, item) for name, item in value.items() if name != "?"]
                stack.extend((item, (own, name)) for name, item in reversed(items) if isinstance(item, (dict, list)))
            else:
                stack.extend((item, below) for item in reversed(list(value.values())) if isinstance(item, (dict, list)))


def _properties(old: Mapping[str, Any], new: Mapping[str, Any], secret: Secret | None) -> tuple[Property, ...]:
    class_name = _class_name(new)
    found = []
    if old:
        for name in ("type", "name"):
            was, now = old["?"].get(name), new["?"].get(name)
            if was is not None and now is not None and was != now:
                found.append(Property(f"?/{name}", was, now))
    for name in [*(key for key in new if key != "?"), *(key for key in old if key != "?" and key not in new)]:
        was, now = old.get(name, _ABSENT), new.get(name, _ABSENT)
        if was is not _ABSENT and now is not _ABSENT and same(was, now):
            continue
        found.append(
            Property(
                name,
                None if was is _ABSENT else masked(name, was, class_name, secret),
                None if now is _ABSENT else masked(name, now, class_name, secret),
                added=was is _ABSENT,
                removed=now is _ABSENT,
            )
        )
    return tuple(found)


def _class_name(obj: Mapping[str, Any]) -> str:
    return str(obj["?"].get("type") or "").partition("/")[0].partition("@")[0]


def _place(place: tuple[str, str] | None) -> dict[str, str] | None:
    return None if place is None else {"owner": place[0], "property": place[1]}


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, with nested objects seen as the references they are."""
    if isinstance(one, dict) and isinstance(other, dict):
        if _id_of(one) is not None or _id_of(other) is not None:
            return bool(_id_of(one) == _id_of(other))
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, str) and isinstance(other, dict):
        return bool(one == _id_of(other))
    if isinstance(one, dict) and isinstance(other, str):
        return bool(other == _id_of(one))
    return type(one) is type(other) and bool(one == other)


def _id_of(obj: Any) -> Any:
    header = obj.get("?") if isinstance(obj, Mapping) else None
    return header.get("id") if isinstance(header, Mapping) else None
