"""Loading object models (SEMANTICS 5.6, 6.2, 7.7, 11.3, 13.1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.muranopl.world import World, bare, define
from vetro.muranopl.errors import (
    CircularDefaults,
    ContractViolation,
    DeclarationError,
    NestingLimit,
    ObjectNotFound,
)
from vetro.yaql.context import Limits

NODE = """
    Properties:
      name: {Contract: $.string()}
      next: {Contract: $.class(Node)}
      kids: {Contract: [$.class(Node)]}
    Methods:
      .init: {Body: [trace(id($))]}
"""


def nodes() -> World:
    return World({"Main": "Extends: Node", "Node": NODE})


def test_references_are_resolved_in_any_direction() -> None:
    world = nodes()
    root = world.root(next="b", kids=[define("Node", "a", next="b"), define("Node", "b", next="root")])
    a, b = world.get("a"), world.get("b")
    assert root.p_next is b and a.p_next is b and b.p_next is root
    assert a._owner is root and b._owner is root and root._owner is None


def test_a_reference_may_come_levels_before_the_definition() -> None:
    world = nodes()
    root = world.root(
        next="deep", kids=[define("Node", "a", kids=[define("Node", "b", kids=[define("Node", "deep")])])]
    )
    assert root.p_next is world.get("deep")
    assert world.get("deep")._owner is world.get("b")


def test_an_unknown_reference_is_named() -> None:
    with pytest.raises(ObjectNotFound, match="'nowhere'"):
        nodes().root(kids=[define("Node", "a", next="nowhere")])


def test_a_definition_under_an_open_contract_is_no_object() -> None:
    world = World({"Main": "Properties: {any: {Contract: $}, ref: {Contract: $.class(Main)}}"})
    with pytest.raises(ObjectNotFound):
        world.root(any=define("Main", "inner"), ref="inner")


def test_init_runs_for_owned_objects_first_in_definition_order() -> None:
    world = nodes()
    world.root(kids=[define("Node", "a", kids=[define("Node", "a1"), define("Node", "a2")]), define("Node", "b")])
    assert world.traces == ["a1", "a2", "a", "b", "root"]


def test_init_arguments_come_from_the_model_and_hide_properties() -> None:
    world = World(
        {
            "Main": """
                Properties:
                  hidden: {Contract: $.int(), Usage: InOut}
                  seen: {Contract: $.int()}
                Methods:
                  .init:
                    Arguments: [{hidden: {Contract: $.int()}}, {other: {Contract: $.string()}}]
                    Body: [!yaql "trace([$hidden, $other])"]
            """
        }
    )
    root = world.root(hidden="7", other="x", seen=1)
    assert world.traces == [(7, "x")]
    assert not hasattr(root, "p_hidden") and root.p_seen == 1


def test_values_met_last_win_for_an_id_defined_twice() -> None:
    world = nodes()
    world.root(kids=[define("Node", "a", name="first", next="root"), define("Node", "a", name="second")])
    a = world.get("a")
    assert a.p_name == "second" and a.p_next is world.get("root")
    assert world.get("root").p_kids == (a, a)
    assert world.traces == ["a", "root"]


def test_an_id_stands_for_objects_of_one_class_only() -> None:
    world = World(
        {"Main": """Properties: {kids: {Contract: [!yaql "$.class('io.murano.Object')"]}}""", "A": "", "B": ""}
    )
    with pytest.raises(DeclarationError, match="'x'"):
        world.root(kids=[define("A", "x"), define("B", "x")])


def test_an_object_defined_inside_itself_keeps_its_owner() -> None:
    world = nodes()
    world.root(kids=[define("Node", "a", kids=[define("Node", "a", name="again")])])
    assert world.get("a")._owner is world.get("root")
    assert world.get("a").p_name == "again"


def test_a_check_may_read_the_object_it_gets() -> None:
    world = World(
        {
            "Main": "Properties: {x: {Contract: $.class(Item).notNull().check($.n = 12)}}",
            "Item": "Properties: {n: {Contract: $.int(), Default: $.m + 2}, m: {Contract: $.int(), Default: 10}}",
        }
    )
    root = world.root(x={})
    assert root.p_x.p_n == 12
    assert len(world.session.store) == 2
    with pytest.raises(ContractViolation) as caught:
        World(world_classes(world)).root(x={"m": 1})
    assert caught.value.location == "t.Main.x"


def world_classes(world: World) -> dict[str, str]:
    """The classes of a world once more, for a fresh session."""
    package = next(iter(world.engine.source.packages("t")))
    return {
        name.removeprefix("t."): "\n".join(package.read_class(name).text.splitlines()[2:]) for name in package.classes
    }


def test_defaults_of_one_class_see_each_other_in_any_order() -> None:
    world = World(
        {
            "Main": """
                Properties:
                  a: {Contract: $.int(), Default: $.b + 1}
                  b: {Contract: $.int(), Default: $.c + 1}
                  c: {Contract: $.int(), Default: 1}
            """
        }
    )
    root = world.root()
    assert (root.p_a, root.p_b, root.p_c) == (3, 2, 1)


def test_circular_defaults_are_named() -> None:
    world = World({"Main": "Properties: {a: {Contract: $.int(), Default: $.b}, b: {Contract: $.int(), Default: $.a}}"})
    with pytest.raises(CircularDefaults, match="'a', 'b'"):
        world.root()


def test_a_derived_default_cannot_read_a_base_property_but_the_other_way_round_works() -> None:
    derived = World(
        {
            "Main": "Extends: Base\nProperties: {d: {Contract: $.int(), Default: $.b}}",
            "Base": "Properties: {b: {Contract: $.int(), Default: 1}}",
        }
    )
    with pytest.raises(CircularDefaults):
        derived.root()
    base = World(
        {
            "Main": "Extends: Base\nProperties: {x: {Contract: $.int(), Default: 5}}",
            "Base": "Properties: {x: {Contract: $.int()}, b: {Contract: $.int(), Default: $.x}}",
        }
    )
    assert base.root().p_b == 5


def test_a_runtime_property_with_an_unfit_default_stays_without_value() -> None:
    world = World(
        {"Main": "Properties: {r: {Contract: $.int(), Usage: Runtime, Default: abc}, s: {Contract: $.int()}}"}
    )
    root = world.root(s=1)
    assert not hasattr(root, "p_r") and root.p_s == 1


def test_violations_are_located_at_the_outermost_property() -> None:
    world = World(
        {
            "Main": "Properties: {m: {Contract: {$.string(): [$.class(Item)]}}}",
            "Item": "Properties: {sub: {Contract: $.class(Item)}, n: {Contract: $.int().notNull()}}",
        }
    )
    with pytest.raises(ContractViolation) as caught:
        world.root(m={"k": [{"n": 1}, {"n": 2, "sub": {"n": "x"}}]})
    assert caught.value.location == "t.Main.m['k'][1]"
    assert str(caught.value).startswith("[t.Main.m['k'][1]] [t.Item.sub] [t.Item.n] ")


def test_a_failed_load_leaves_nothing_in_the_store() -> None:
    world = nodes()
    with pytest.raises(ContractViolation):
        world.root(kids=[define("Node", "a"), 5])
    assert list(world.session.store) == []


def test_nesting_is_limited_by_the_settings_only() -> None:
    deep: dict[str, Any] = define("Node", "n0")
    for number in range(1, 5000):
        deep = define("Node", f"n{number}", next=deep)
    world = World({"Node": NODE, "Main": "Extends: Node"})
    world.load(deep)
    assert len(world.session.store) == 5000
    assert world.traces[:2] == ["n0", "n1"]
    small = World({"Node": NODE, "Main": "Extends: Node"}, limits=Limits(max_object_nesting=24))
    with pytest.raises(NestingLimit):
        small.load(deep)


def test_a_long_chain_of_forward_references_is_resolved() -> None:
    world = nodes()
    count = 2000
    kids = [define("Node", f"n{i}", next=f"n{i + 1}" if i + 1 < count else "root") for i in range(count)]
    world.root(kids=kids)
    assert world.get("n0").p_next is world.get("n1")


def test_checks_that_wait_for_each_other_level_by_level_are_resolved() -> None:
    item = """
        Properties:
          sub: {Contract: !yaql "$.class(Item).check($ = null or $.depth > 0)"}
          depth: {Contract: $.int(), Default: !yaql "$.sub.depth + 1"}
    """
    world = World({"Main": "Extends: Item", "Item": item})
    deep: dict[str, Any] = define("Item", "i0", depth=1)
    for number in range(1, 400):
        deep = define("Item", f"i{number}", sub=deep)
    root = world.load(deep)
    assert root is not None and root.p_depth == 400


def test_the_copy_only_adds_what_the_model_lost() -> None:
    world = nodes()
    kept = define("Node", "a", name="new")
    world.load(
        define("Main", "root", kids=[kept]),
        copy=define("Main", "root", name=5, kids=[define("Node", "a", name="old"), define("Node", "b", name="gone")]),
    )
    assert world.get("a").p_name == "new"
    assert [o._id for o in world.session.store.removed] == ["b"]
    assert world.get("b")._owner is world.get("root")


def test_a_destroyed_object_shows_what_fits_and_runs_nothing() -> None:
    world = nodes()
    gone = define("Node", "a", name="x", next="nowhere")
    gone["?"]["destroyed"] = True
    world.root(kids=[gone])
    a = world.get("a")
    assert a._state == "destroyed" and a.p_name == "x" and not hasattr(a, "p_next")
    assert world.traces == ["root"]
    assert world.session.serialize()["Objects"]["kids"][0]["?"]["destroyed"] is True


def test_ids_of_definitions_made_at_run_time_connect_them_but_are_not_kept() -> None:
    world = nodes()
    root = world.root(kids=[define("Node", "a")])
    made = world.session.store.from_mapping(
        define("Node", "a", kids=[define("Node", "x", next="a")], next="x"), None, root, None
    )
    assert made is not world.get("a") and made._id != "a" and len(made._id) == 32
    (inner,) = made.p_kids
    assert inner.p_next is made and made.p_next is inner and inner._owner is made and made._owner is root
    with pytest.raises(ObjectNotFound):
        world.get("x")


def test_a_failing_init_of_a_new_object_leaves_no_object() -> None:
    world = World({"Main": "", "Bad": "Methods: {.init: {Body: [{Throw: bad}]}, .destroy: {Body: [trace(gone)]}}"})
    world.root()
    with pytest.raises(Exception, match="bad"):
        world.session.store.from_mapping(define("Bad"), None, None, None)
    assert [o._id for o in world.session.store] == ["root"]


def test_serialised_models_load_again() -> None:
    world = nodes()
    world.root(name="r", next="b", kids=[define("Node", "a", next="b"), define("Node", "b", next="root")])
    model = world.session.serialize(copy=True)
    again = nodes()
    again.session.load(model)
    assert again.session.serialize(copy=True) == model
    assert bare(model["Objects"])["next"]["?"] == "b"


def test_what_is_to_be_destroyed_need_not_fit_its_class_any_more() -> None:
    world = World(
        {
            "Main": "Properties: {kids: {Contract: [$.class(Item).check($.n > 0)]}}",
            "Item": "Properties: {n: {Contract: $.int().notNull()}, peer: {Contract: $.class(Item)}}",
        }
    )
    old = [define("Item", "bad", n="x", peer="nobody"), define("Item", "zero", n=0), define("Item", "good", n=3)]
    world.load(define("Main", "root"), copy=define("Main", "root", kids=old))
    assert sorted(o._id for o in world.session.store.removed) == ["bad", "good", "zero"]
    assert world.get("good").p_n == 3 and not hasattr(world.get("bad"), "p_n")


def test_violations_of_base_contracts_have_no_location() -> None:
    world = World(
        {
            "Main": "Extends: Base\nProperties: {x: {Contract: $}}",
            "Base": "Properties: {x: {Contract: $.int()}}",
        }
    )
    with pytest.raises(ContractViolation) as caught:
        world.root(x="text")
    assert caught.value.location is None


def test_values_are_frozen_whatever_the_contract_lets_through() -> None:
    world = World(
        {
            "Main": """
                Properties:
                  open: {Contract: $}
                  items: {Contract: [$]}
                  map: {Contract: {a: $, $.string(): {b: [$.int()]}}}
                  checked: {Contract: $.check(true)}
                  any: {Contract: {}}
            """
        }
    )
    raw = {"k": [1, {"z": [2]}]}
    root = world.root(open=raw, items=[raw], map={"a": raw, "o": {"b": [1]}}, checked=raw, any=raw)
    for value in (root.p_open, root.p_items[0], root.p_map["a"], root.p_checked, root.p_any):
        assert type(value).__name__ == "FDict" and hash(value) == hash(root.p_open)
    raw["k"].append(3)
    assert root.p_open == {"k": (1, {"z": (2,)})}


def test_a_default_definition_that_has_to_wait_makes_one_object() -> None:
    world = World(
        {
            "Main": """
                Properties:
                  a: {Contract: $.class(Item), Default: {n: $.b}}
                  b: {Contract: $.int(), Default: $.c}
                  c: {Contract: $.int(), Default: 4}
            """,
            "Item": "Properties: {n: {Contract: $.int()}}",
        }
    )
    root = world.root()
    assert root.p_a.p_n == 4 and len(world.session.store) == 2
