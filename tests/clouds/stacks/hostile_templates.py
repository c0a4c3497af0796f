"""Templates in which one place is hostile: every property of every resource type, a corpus, and a mark to look for."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from tests.clouds.stacks.resources import CASES, ref
from vetro.clouds.stacks.types.base import Prop
from vetro.clouds.stacks.types.registry import TYPES

#: Stands in every hostile text, and nowhere else.
MARK = "kZ9qMark"
#: A text that breaks out of what it is written into, or is taken for something else.
CORPUS: Mapping[str, str] = {
    "nft": f"10.9.9.9 }} drop\n}}\n}}\nflush ruleset\n# {MARK}",
    "newline": f"{MARK}\nExecStart=/bin/sh",
    "substitution": f"$(touch /tmp/{MARK})",
    "backticks": f"`touch /tmp/{MARK}`;{MARK}",
    "quotes": f"'\"{MARK}",
    "nul": f"{MARK}\0",
    "path": f"../../../../etc/{MARK}",
    "absolute": f"/etc/{MARK}",
    "option": f"--{MARK}",
    "long": MARK + "x" * 65_536,
    "turned": f"\u202e{MARK}",
    "digit": f"²{MARK}",
    "escape": f"\x1b]0;{MARK}\x07",
    "number": f"{MARK}{'9' * 5000}",
    "json": f'{{"a": ["{MARK}"]}}',
    "yaml": f"- {MARK}\n- !!python/object/apply:os.system [id]",
    "bind": f"{MARK}:/etc:rw,x",
    "percent": f"%s%n%h{MARK}",
    "surrogate": f"{MARK}\ud800",
    "zone": f"fe80::1%{MARK}",
    "prefix": f"10.0.0.1/{MARK}",
    "space": f"tcp {MARK}",
}
#: Values for what stands beside the hostile one.
_BESIDE: Mapping[str, Any] = {
    "start": "10.1.2.9", "end": "10.1.2.20", "destination": "10.7.0.0/16", "nexthop": "10.1.2.9", "protocol": "tcp",
    "network": "ext-net", "ip_address": "10.1.2.30", "IpProtocol": "tcp", "name": "n", "config": "text",
    "sequence": "abc", "volume_id": "vol",
}  # fmt: skip
#: What a list or mapping needs besides, so that it can be made at all.
_ENTRY: Mapping[tuple[str, str], Mapping[str, Any]] = {("OS::Nova::Server", "networks"): {"port": ref("port")}}

Place = tuple[str, tuple[str, ...]]


def places() -> Iterator[Place]:
    """Every place where a type takes a value: (type, names from the property down)."""
    for type_name, handler in TYPES.items():
        for name, prop in handler.properties.items():
            yield from ((type_name, path) for path in _paths((name,), prop))


def _paths(path: tuple[str, ...], prop: Prop) -> Iterator[tuple[str, ...]]:
    if prop.fields is None:
        yield path
    for name, field in (prop.fields or {}).items():
        yield from _paths((*path, name), field)


def prop_at(place: Place) -> Prop:
    """The definition of the value at a place."""
    type_name, (name, *rest) = place
    prop = TYPES[type_name].properties[name]
    for step in rest:
        assert prop.fields is not None
        prop = prop.fields[step]
    return prop


def template(place: Place, text: str) -> tuple[str, dict[str, Any]]:
    """(name of the resource, resources with the text at this place): all else is as it works."""
    type_name, (name, *rest) = place
    resources = copy.deepcopy(CASES[type_name][0])
    key = next(key for key, body in resources.items() if body["type"] == type_name)
    properties = resources[key].setdefault("properties", {})
    prop = TYPES[type_name].properties[name]
    properties[name] = _value(prop, rest, text, properties.get(name), _ENTRY.get((type_name, name), {}))
    return key, resources


def _value(prop: Prop, rest: list[str], text: str, there: Any, more: Mapping[str, Any]) -> Any:
    if not rest:
        if prop.kind == "list":
            return [text]
        return {"key": text, text: "value"} if prop.kind == "map" else text
    assert prop.fields is not None
    entry = there[0] if isinstance(there, list) and there else there if isinstance(there, dict) else {}
    needed = {name: _BESIDE[name] for name, field in prop.fields.items() if field.required and name not in entry}
    entry = {**more, **needed, **entry}
    entry[rest[0]] = _value(prop.fields[rest[0]], rest[1:], text, entry.get(rest[0]), {})
    return [entry] if prop.kind == "list" else entry


def marked(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths in plain data where the mark stands."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if MARK in str(key):
                yield (*path, "(key)")
            yield from marked(item, (*path, str(key)))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from marked(item, path)
    elif MARK in str(value):
        yield path
