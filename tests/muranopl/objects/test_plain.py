"""Language values as plain data (SEMANTICS 12.3)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.muranopl.world import World
from vetro.muranopl.objects.plain import host_text, plain_key, with_ids
from vetro.muranopl.types.reflection import TypeInfo
from vetro.yaql.values import FDict, FSet


def test_containers_become_plain_and_objects_ids() -> None:
    world = World({"Main": "Methods: {f: {}}"})
    root = world.root()
    kind = root._type
    value = FDict({"a": (root, FSet((1,)), iter((2, 3))), root: None, 5: kind.type_object})
    assert with_ids(value) == {"a": ["root", [1], [2, 3]], "root": None, 5: "t.Main/1.0.0@t"}
    assert host_text(TypeInfo(kind)) == "t.Main/1.0.0@t"
    assert host_text(TypeInfo(kind).yaql_attribute("methods", None)[0])
    assert host_text(world.session.view(root, kind)) == "root"
    assert plain_key(kind.type_object) == "t.Main/1.0.0@t" and plain_key(None) is None


def test_scalars_stay_and_the_rest_becomes_text() -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    assert with_ids((None, True, 1, 1.5, "x", moment)) == [None, True, 1, 1.5, "x", "2026-01-02T00:00:00+00:00"]


def test_depth_costs_no_stack() -> None:
    value: Any = ()
    for _ in range(100_000):
        value = (value,)
    result = with_ids(value)
    depth = 0
    while result:
        result, depth = result[0], depth + 1
    assert depth == 100_000
