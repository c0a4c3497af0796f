"""Writing the model, and dumps (SEMANTICS 12)."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from tests.muranopl.world import World, bare, define
from vetro.muranopl.objects.serializer import dump_object, serialize_value, serialized_properties
from vetro.muranopl.types.reflection import TypeInfo
from vetro.yaql.values import FDict, FSet

CLASSES = {
    "Main": """
        Properties:
          first: {Contract: $.class(Main)}
          kids: {Contract: [$.class(Main)]}
          out: {Contract: $, Usage: Out}
          late: {Contract: $, Usage: Out}
          rt: {Contract: $, Usage: Runtime}
    """
}


@pytest.fixture
def world() -> World:
    return World(CLASSES)


def main(world: World, owner: Any = None, **values: Any) -> Any:
    obj = world.session.store.create(world.session.type_for("t.Main"), {}, owner)
    for name, value in values.items():
        setattr(obj, "p_" + name, value)
    return obj


def test_properties_stand_in_order_base_classes_first() -> None:
    world = World(
        {
            "Main": "Extends: Base\nProperties: {z: {Contract: $}, b: {Contract: $, Usage: Runtime}, a: {Contract: $}}",
            "Base": "Properties: {b: {Contract: $}, c: {Contract: $, Usage: Const}, d: {Contract: $, Usage: Config}}",
        }
    )
    kind = world.session.type_for("t.Main")
    assert [name for name, _ in serialized_properties(kind)] == ["b", "c", "z", "a"]


def test_headers(world: World) -> None:
    root = define("Main", "root")
    root["?"].update({"name": "n", "metadata": {"k": [1]}, "_x": {"y": (1,)}, "other": 1})
    world.load(root)
    model = world.session.serialize(copy=True)
    head = {"type": "t.Main/1.0.0@t", "id": "root", "name": "n", "metadata": {"k": [1]}}
    assert model["Objects"]["?"] == {**head, "_x": {"y": [1]}, "_actions": {}}
    assert model["ObjectsCopy"]["?"] == head
    assert model["SystemData"]["Packages"]["t"] == ["1.0.0"]


def test_values_become_plain_data(world: World) -> None:
    root = world.root()
    kind = world.session.type_for("t.Main")
    root.p_out = (1, FDict(a=FSet((1, "x")), b=(FDict(c=None),)), kind.type_object, TypeInfo(kind), 1.5)
    written = world.session.serialize()["Objects"]["out"]
    assert written == [1, {"a": [1, "x"], "b": [{"c": None}]}, "t.Main/1.0.0@t", "t.Main/1.0.0@t", 1.5]
    assert type(written) is list and type(written[1]) is dict


def test_keys_that_are_no_scalars_become_text(world: World) -> None:
    root = world.root()
    root.p_out = FDict({root: 1, 5: 2})
    assert world.session.serialize()["Objects"]["out"] == {"root": 1, 5: 2}


def test_an_owned_object_is_written_at_the_first_place_of_its_owner(world: World) -> None:
    root = world.root(first="k", kids=[define("Main", "k")])
    root.p_out = (root.p_first, root)
    tree = world.objects()
    assert tree["first"]["?"] == "k" and tree["kids"] == ["k"] and tree["out"] == ["k", "root"]


def test_an_object_held_by_its_owner_is_an_id_elsewhere_even_before(world: World) -> None:
    root = world.root(kids=[define("Main", "a"), define("Main", "b", kids=[define("Main", "c")])])
    a, b = root.p_kids
    a.p_out = b.p_kids[0]
    tree = world.objects()
    assert tree["kids"][0]["out"] == "c" and tree["kids"][1]["kids"][0]["?"] == "c"


def test_unowned_objects_are_written_where_they_are_met_first(world: World) -> None:
    root = world.root(kids=[define("Main", "a"), define("Main", "b")])
    free = main(world)
    root.p_kids[1].p_out = free
    root.p_late = free
    root.p_kids[0].p_late = free
    tree = world.objects()
    assert tree["kids"][0]["late"]["?"] == free._id
    assert tree["kids"][1]["out"] == free._id and tree["late"] == free._id


def test_unowned_objects_may_hold_each_other_and_what_they_own(world: World) -> None:
    root = world.root()
    one, two = main(world), main(world)
    owned = main(world, owner=two)
    one.p_out, one.p_late = two, owned
    two.p_out, two.p_late = one, owned
    root.p_out = FDict(x=(one,), y=two)
    tree = world.objects()
    written = tree["out"]["x"][0]
    assert written["?"] == one._id and written["out"]["?"] == two._id and written["late"] == owned._id
    assert written["out"]["late"]["?"] == owned._id and written["out"]["out"] == one._id
    assert tree["out"]["y"] == two._id


def test_an_object_reached_only_through_what_it_owns_is_not_lost(world: World) -> None:
    root = world.root()
    holder = main(world)
    inner = main(world, owner=holder)
    holder.p_out, inner.p_out = inner, holder
    root.p_out = inner
    tree = world.objects()
    assert tree["out"]["?"] == inner._id and tree["out"]["out"]["?"] == holder._id
    assert tree["out"]["out"]["out"] == inner._id


def test_many_unowned_objects_cost_linear_time(world: World) -> None:
    root = world.root()
    root.p_out = tuple(main(world, late=main(world)) for _ in range(3000))
    tree = world.objects()
    assert len(tree["out"]) == 3000 and all(isinstance(item["late"], dict) for item in tree["out"])


def test_depth_costs_no_stack(world: World) -> None:
    root = world.root()
    value: Any = ()
    for _ in range(50_000):
        value = (value,)
    root.p_out = value
    obj = root
    for _ in range(5000):
        obj.p_first = main(world, owner=obj)
        obj = obj.p_first
    tree = world.session.serialize(copy=True)["ObjectsCopy"]
    depth = 0
    while tree["first"] is not None:
        tree, depth = tree["first"], depth + 1
    assert depth == 5000


def test_the_collector_is_left_as_it_was(world: World) -> None:
    world.root()
    world.session.serialize()
    assert gc.isenabled()
    gc.disable()
    try:
        world.session.serialize()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_model_without_objects(world: World) -> None:
    world.load(None)
    model = world.session.serialize(copy=True)
    assert model["Objects"] is None and model["ObjectsCopy"] is None and model["Attributes"] == []


def test_an_unset_property_is_left_out(world: World) -> None:
    root = world.root()
    del root.p_first
    assert "first" not in world.objects()


# -- dumps -------------------------------------------------------------------------------------------------------------


def test_dump_writes_what_the_object_owns(world: World) -> None:
    root = world.root(kids=[define("Main", "a", kids=[define("Main", "b")])])
    a = root.p_kids[0]
    a.p_out = (root, main(world), world.session.type_for("t.Main").type_object)
    tree = dump_object(world.session, a)
    assert bare(tree)["kids"][0]["?"] == "b" and tree["?"]["type"] == "t.Main/1.0.0@t"
    assert tree["out"] == ["root", a.p_out[1]._id, "t.Main/1.0.0@t"]
    assert set(tree["?"]) == {"type", "id", "name", "metadata"}


def test_dump_styles(world: World) -> None:
    root = world.root(kids=[define("Main", "a")])
    info = TypeInfo(world.session.type_for("t.Main"))
    root.p_out = info
    mixed = dump_object(world.session, root, "Mixed")
    assert mixed["?"]["type"] == info and mixed["kids"][0]["?"]["type"] == info and mixed["out"] == info
    inline = dump_object(world.session, root, "Inline")
    assert inline["id"] == "root" and inline["name"] is None and inline["metadata"] is None
    assert inline[info]["kids"][0]["id"] == "a" and inline[info]["out"] == info
    with pytest.raises(ValueError, match="'Wrong'"):
        dump_object(world.session, root, "Wrong")


def test_results_show_objects_in_full_once(world: World) -> None:
    root = world.root(kids=[define("Main", "a")])
    a = root.p_kids[0]
    result = serialize_value(world.session, (root, FDict(x=a), a, 5))
    assert result[0]["?"]["id"] == "root" and result[2] == "a" and result[3] == 5
    assert {type(result[1]["x"]), type(result[0]["kids"][0])} == {dict, str}
