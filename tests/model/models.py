"""Object models made up by hypothesis: unique ids, objects at any depth, references among them, secrets."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "text", "0"])
NAMES = st.sampled_from(["a", "b", "c", "items", "text"])
#: Properties that are secret in every class.
SECRET = frozenset({"pin", "word"})
CANARY = "canary-of-the-test"


@st.composite
def models(draw: st.DrawFn, secrets: bool = False, ids: Any = None) -> dict[str, Any]:
    """A root object. ``secrets``: some have texts with `CANARY` in secret properties."""
    count = 0
    made: list[str] = []

    def obj(depth: int) -> dict[str, Any]:
        nonlocal count
        own = f"id{count}" if ids is None else ids[count % len(ids)]
        count += 1
        made.append(own)
        header = {"id": own, "type": draw(st.sampled_from(["T", "U/1.0.0@p", "io.x.V"]))}
        found: dict[str, Any] = {"?": header}
        for name in draw(st.lists(NAMES, max_size=3, unique=True)):
            found[name] = value(depth)
        if secrets:
            for name in draw(st.lists(st.sampled_from(sorted(SECRET)), max_size=2, unique=True)):
                found[name] = f"{CANARY} {own}"
        return found

    def value(depth: int) -> Any:
        kind = draw(st.sampled_from(["scalar", "reference", "list", "map", "object"] if depth else ["scalar"]))
        if kind == "object":
            return obj(depth - 1)
        if kind == "list":
            return [value(depth - 1) for _ in range(draw(st.integers(0, 3)))]
        if kind == "map":
            return {name: value(depth - 1) for name in draw(st.lists(NAMES, max_size=3, unique=True))}
        return draw(st.sampled_from(made)) if kind == "reference" else draw(SCALARS)

    root = obj(3)
    root["applications"] = [obj(3) for _ in range(draw(st.integers(0, 3)))]
    return root


def deep(levels: int, *, with_ids: bool = True) -> dict[str, Any]:
    """An object in an object in a list in a mapping…"""
    value: Any = {"?": {"id": "innermost", "type": "T"}, "word": CANARY}
    for level in range(levels):
        value = {"?": {"id": f"o{level}", "type": "T"} if with_ids else {"type": "T"}, "in": [{"x": value}]}
    return dict(value)
