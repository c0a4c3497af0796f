"""Garbage collection and destruction (SEMANTICS 13)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.muranopl.world import World, define
from vetro.muranopl.errors import InvalidOperation, MethodNotFound, ObjectDestroyed
from vetro.muranopl.objects.gc import reachable
from vetro.yaql.values import FDict, FSet

pytestmark = pytest.mark.usefixtures("small_heap")
CLASSES = {
    "Main": """
        Properties:
          kids: {Contract: [$.class(Item)], Usage: InOut}
          rt: {Contract: $, Usage: Runtime}
        Methods:
          told: {Arguments: [{o: {Contract: $}}], Body: [!yaql "trace([told, id($o)])"]}
    """,
    "Item": """
        Properties:
          sub: {Contract: $.class(Item), Usage: InOut}
          any: {Contract: $, Usage: Runtime}
        Methods:
          f: {Body: [{Return: 1}]}
          told: {Arguments: [{o: {Contract: $}}], Body: [!yaql "trace([id($), id($o)])"]}
          .destroy: {Body: [trace(id($))]}
    """,
}


@pytest.fixture
def world() -> World:
    return World(CLASSES)


def item(world: World, owner: Any = None) -> Any:
    return world.session.store.create(world.session.type_for("t.Item"), {}, owner)


def test_collect_destroys_what_nothing_refers_to(world: World) -> None:
    root = world.root(kids=[define("Item", "a")])
    held, held_in_list, private = item(world), (item(world),), item(world)
    by_id = {name: obj._id for name, obj in (("held", held), ("list", held_in_list[0]), ("private", private))}
    setattr(root, "q:t.Main/1.0.0:x", FDict({1: FSet((private,))}))
    del private
    dropped = item(world)._id
    view = world.session.view(item(world), world.session.type_for("t.Item"))
    world.session.gc.collect()
    assert world.traces == [dropped]
    assert all(world.session.store.is_alive(i) for i in by_id.values())
    assert view._state == "alive" and not world.session.store.is_alive(dropped)
    setattr(root, "q:t.Main/1.0.0:x", None)
    del held, view
    world.session.gc.collect()
    assert len(world.traces) == 4 and world.session.store.is_alive(by_id["list"])
    world.session.gc.collect()
    assert len(world.traces) == 4


def test_collect_sees_through_circles(world: World) -> None:
    world.root()
    one, two = item(world), item(world)
    one.p_any, two.p_any = FDict(x=(two,)), FDict(x=(one,))
    inner = item(world, one)
    names = (one._id, two._id, inner._id)
    world.session.gc.collect()
    assert world.traces == []
    del one, two
    world.session.gc.collect()
    assert world.traces == [], "the owner of an object in use stays, and what that refers to"
    del inner
    world.session.gc.collect()
    assert sorted(world.traces) == sorted(names) and world.traces.index(names[2]) < world.traces.index(names[0])


def test_locals_of_running_code_are_references() -> None:
    world = World(
        {
            **CLASSES,
            "Main": """
                Methods:
                  run:
                    Scope: Public
                    Body:
                      - $x: new(Item)
                      - $y: {k: [new(Item)]}
                      - new(Item)
                      - $.keep($x)
                      - sys:GC.collect()
                      - trace(between)
                      - $y: null
                      - sys:GC.collect()
                      - trace(end)
                  keep: {Arguments: [{a: {Contract: $}}], Body: [sys:GC.collect()]}
            """,
        }
    )
    world.root()
    world.session.call("run")
    assert [t if t in ("between", "end") else "id" for t in world.traces] == ["id", "between", "id", "end"]


def test_cleanup_destroys_owned_objects_first(world: World) -> None:
    deep: Any = define("Item", "i0")
    for number in range(1, 2000):
        deep = define("Item", f"i{number}", sub=deep)
    world.load(define("Main", "root"), copy=define("Main", "root", kids=[deep]))
    world.session.cleanup()
    assert world.traces == [f"i{n}" for n in range(2000)]
    world.session.cleanup()
    assert len(world.traces) == 2000


def test_finalize_keeps_what_serialised_properties_hold(world: World) -> None:
    root = world.root(kids=[define("Item", "a", sub=define("Item", "b"))])
    root.p_rt = item(world)
    gone = root.p_rt
    model = world.session.finalize()
    assert world.traces == [gone._id] and gone._state == "destroyed"
    assert {o._id for o in reachable(world.session, root)} == {"root", "a", "b"}
    assert model["Objects"]["kids"][0]["sub"]["?"]["id"] == "b"
    assert reachable(world.session, None) == set()


def test_finalize_goes_on_with_what_destructors_make() -> None:
    world = World(
        {
            "Main": "",
            "Item": "Methods: {.destroy: {Body: [trace(item), $.x: new(Last)]}}",
            "Last": "Methods: {.destroy: {Body: [trace(last)]}}",
        }
    )
    world.root()
    item(world)
    world.session.finalize()
    assert world.traces == ["item", "last"]


def test_errors_in_destroy_are_logged_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    world = World(
        {
            "Main": "",
            "Item": "Extends: Base\nMethods: {.destroy: {Body: [trace(item), {Throw: x}]}}",
            "Base": "Methods: {.destroy: {Body: [trace(base)]}}",
        }
    )
    world.root()
    item(world)
    world.session.gc.collect()
    assert world.traces == ["item", "base"]
    assert "t.Item::.destroy" in caplog.text


# -- subscriptions -----------------------------------------------------------------------------------------------------


def test_subscribers_are_told_before_anything_goes(world: World) -> None:
    root = world.root(kids=[define("Item", "a", sub=define("Item", "b"))])
    a, b = world.get("a"), world.get("b")
    collector = world.session.gc
    collector.subscribe(b, root, "told")
    collector.subscribe(b, root, "told")
    collector.subscribe(a, b, "told")
    collector.subscribe(b, a)
    collector.destroy([a, b])
    assert sorted(map(str, world.traces[:2])) == ["('b', 'a')", "('told', 'b')"]
    assert sorted(world.traces[2:]) == ["a", "b"]


def test_a_publisher_goes_before_its_subscriber(world: World) -> None:
    world.root(kids=[define("Item", "s"), define("Item", "p")])
    world.session.gc.subscribe(world.get("p"), world.get("s"))
    world.session.gc.destroy([world.get("s"), world.get("p")])
    assert world.traces == ["p", "s"]


def test_circles_of_subscriptions_are_broken_somewhere(world: World) -> None:
    world.root(kids=[define("Item", str(i)) for i in range(5)])
    items = [world.get(str(i)) for i in range(5)]
    for index, publisher in enumerate(items):
        world.session.gc.subscribe(publisher, items[(index + 1) % 5])
        world.session.gc.subscribe(publisher, publisher)
    world.session.gc.destroy(items)
    assert sorted(world.traces) == ["0", "1", "2", "3", "4"]


def test_one_unsubscription_ends_it(world: World) -> None:
    root = world.root(kids=[define("Item", "a")])
    a = world.get("a")
    world.session.gc.subscribe(a, root, "told")
    world.session.gc.subscribe(a, root, "told")
    world.session.gc.unsubscribe(a, root, "told")
    world.session.gc.unsubscribe(a, root, "told")
    world.session.gc.destroy([a])
    assert world.traces == ["a"]


def test_subscriptions_are_part_of_the_model(world: World) -> None:
    root = world.root(kids=[define("Item", "a")])
    world.session.gc.subscribe(world.get("a"), root, "told")
    world.session.gc.subscribe(world.get("a"), item(world), "told")
    model = world.session.finalize()
    header = model["Objects"]["kids"][0]["?"]
    assert header["dependencies"] == {"onDestruction": [{"subscriber": "root", "handler": "told"}]}
    again = World(CLASSES)
    again.session.load(model)
    again.session.gc.destroy([again.get("a")])
    assert again.traces == [("told", "a"), "a"]


def test_wrong_subscriptions_are_refused(world: World) -> None:
    root = world.root(kids=[define("Item", "a")])
    with pytest.raises(MethodNotFound, match="'nope'"):
        world.session.gc.subscribe(world.get("a"), root, "nope")
    with pytest.raises(InvalidOperation):
        world.session.gc.subscribe(None, root, None)


# -- afterwards --------------------------------------------------------------------------------------------------------


def test_a_destroyed_object_can_be_read_but_not_called(world: World) -> None:
    world.root(kids=[define("Item", "a", sub=define("Item", "b"))])
    a, other = world.get("a"), world.get("b")
    collector = world.session.gc
    assert not collector.is_doomed(a) and not collector.is_destroyed(a)
    collector.destroy([a])
    assert collector.is_doomed(a) and collector.is_destroyed(a) and not collector.is_destroyed(other)
    assert a.p_sub is other and repr(a) == "<t.Item a>"
    with pytest.raises(ObjectDestroyed, match="'f'"):
        a.m_f()
    with pytest.raises(ObjectDestroyed):
        a.yaql_method("f", None)
    with pytest.raises(ObjectDestroyed):
        world.session.type_for("t.Item").methods["f"].invoke(a)
    assert other.m_f() == 1, "other objects of the class are not affected"
    collector.destroy([a])
    assert world.traces == ["a"]


def test_doom_is_known_before_destruction_and_a_level_goes_together() -> None:
    world = World(
        {
            "Main": "Properties: {kids: {Contract: [$.class(Item)]}}",
            "Item": """
                Properties: {peer: {Contract: $.class(Item)}}
                Methods:
                  .destroy:
                    Body:
                      - !yaql "trace([id($), sys:GC.isDoomed($.peer), sys:GC.isDestroyed($.peer)])"
                      - sys:GC.collect()
            """,
        }
    )
    kids = [define("Item", "a", peer="b"), define("Item", "b", peer="a"), define("Item", "c", peer="c")]
    world.root(kids=kids)
    world.session.gc.destroy([world.get("a"), world.get("b")])
    assert sorted(world.traces) == [("a", True, False), ("b", True, False)]
    assert world.session.store.is_alive("c")
