"""Templates: complete, checked definitions (SEMANTICS 6.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.muranopl.world import World, define
from vetro.muranopl.contracts.runtime import to_template
from vetro.muranopl.errors import ContractViolation, ObjectNotFound
from vetro.muranopl.types.reflection import TypeInfo
from vetro.yaql.values import FDict, freeze

CLASSES = {
    "Main": """
        Properties:
          x: {Contract: !yaql "$.template(Outer, excludeProperties => [z, 'inner.n', 'list.n'])"}
          item: {Contract: $.class(Inner)}
    """,
    "Outer": """
        Properties:
          inner: {Contract: $.class(Inner).notNull()}
          list: {Contract: [$.class(Inner)]}
          z: {Contract: $.int().notNull()}
          twice: {Contract: $.int(), Default: $.once * 2}
          once: {Contract: $.int(), Default: 4}
          rt: {Contract: $.int(), Usage: Runtime, Default: 1}
    """,
    "Inner": """
        Properties:
          n: {Contract: $.int().notNull()}
          m: {Contract: $.int()}
          peer: {Contract: $.class(Inner)}
        Methods:
          .init: {Body: [trace(init)]}
    """,
}


def kind(world: World, name: str) -> Any:
    return TypeInfo(world.session.type_for(name))


def test_a_template_in_a_model_keeps_its_ids_and_runs_nothing() -> None:
    world = World(CLASSES)
    inner = define("Inner", "inn", m="2", peer="inn")
    root = world.root(x=define("Outer", "out", inner=inner, list=[define("Inner", "l")]))
    head = {"name": None, "metadata": None}
    assert root.p_x == freeze(
        {
            "?": {"type": kind(world, "t.Outer"), "id": "out", **head},
            "inner": {"?": {"type": kind(world, "t.Inner"), "id": "inn", **head}, "m": 2, "peer": "inn"},
            "list": [{"?": {"type": kind(world, "t.Inner"), "id": "l", **head}, "m": None, "peer": None}],
            "twice": 8,
            "once": 4,
        }
    )
    assert world.traces == [] and len(world.session.store) == 1


def test_a_template_may_refer_to_objects_of_the_model_that_come_later() -> None:
    world = World(CLASSES)
    root = world.root(x=define("Outer", "out", inner=define("Inner", "inn", peer="i")), item=define("Inner", "i", n=1))
    assert root.p_x["inner"]["peer"] == "i"
    with pytest.raises(ObjectNotFound):
        World(CLASSES).root(x=define("Outer", "out", inner=define("Inner", "inn", peer="nobody")))


def test_a_template_makes_a_fresh_object_each_time() -> None:
    world = World(CLASSES)
    root = world.root(x=define("Outer", "out", inner=define("Inner", "inn", m=2, peer="inn")))
    filled = freeze({**root.p_x, "z": 1, "inner": {**root.p_x["inner"], "n": 5}})
    first, second = (world.session.store.from_mapping(filled, None, root, None) for _ in range(2))
    assert first is not second and len({first._id, second._id, "out"}) == 3
    assert first.p_inner.p_peer is first.p_inner and first.p_inner is not second.p_inner
    assert world.traces == ["init", "init"]


def test_violations_are_located_inside_and_outside() -> None:
    with pytest.raises(ContractViolation) as caught:
        World(CLASSES).root(x=define("Outer", "out", inner=define("Inner", "inn", m="x")))
    assert caught.value.location == "t.Main.x"
    assert caught.value.message.startswith("[t.Main.x] [t.Outer.inner] [t.Inner.m] ")


def test_an_object_is_dumped_with_its_id() -> None:
    world = World(CLASSES)
    root = world.root(item=define("Inner", "i", n=1, m=2, peer=define("Inner", "j", n=3)))
    cx, inner = world.session.type_for("t.Main").context, world.session.type_for("t.Inner")
    made = to_template(root.p_item, cx, root, inner, exclude=("m", "peer.n"))
    assert isinstance(made, FDict)
    assert made["?"]["id"] == "i" and made["?"]["type"] == TypeInfo(inner)
    assert made["n"] == 1 and "m" not in made
    assert "n" not in made["peer"] and made["peer"]["m"] is None
