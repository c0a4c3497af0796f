"""The object store (SEMANTICS 11.2 to 11.4)."""

from __future__ import annotations

import gc

import pytest

from tests.muranopl.world import World, define
from vetro.muranopl.errors import DeclarationError, ObjectNotFound

CLASSES = {
    "Main": "Properties: {kids: {Contract: [$.class(Item)]}}",
    "Item": "Properties: {sub: {Contract: $.class(Item)}, n: {Contract: $.int(), Default: 1}}",
    "Noisy": "Extends: Item\nMethods: {.destroy: {Body: [trace(id($))]}}",
}


@pytest.fixture
def world() -> World:
    made = World(CLASSES, seed="same")
    made.root(kids=[define("Item", "a", sub=define("Item", "b"))])
    return made


def test_look_up_by_id(world: World) -> None:
    store = world.session.store
    assert store.get("a") is store.require("a") and store.get("zzz") is None
    assert store.is_alive("a") and not store.is_alive("zzz")
    assert len(store) == 3 and {o._id for o in store} == {"root", "a", "b"}
    with pytest.raises(ObjectNotFound, match="'zzz'"):
        store.require("zzz")


def test_look_up_by_owner(world: World) -> None:
    store, session = world.session.store, world.session
    main, item, noisy = (session.type_for(f"t.{n}") for n in ("Main", "Item", "Noisy"))
    root, a, b = (store.require(i) for i in ("root", "a", "b"))
    assert store.find_owner(b, item) is a and store.find_owner(b, main) is root
    assert store.find_owner(a, item) is None and store.find_owner(root, main) is None
    assert store.find_owner(b, main, package=main.package) is root
    with pytest.raises(ObjectNotFound, match=r"no owner of class t\.Noisy"):
        store.find_owner(b, noisy, required=True)


def test_create_gives_a_fresh_id_unless_told_to_keep_one(world: World) -> None:
    store = world.session.store
    item = world.session.type_for("t.Item")
    header = {"id": "mine", "name": "nice", "metadata": {"k": 1}, "_designer": 1}
    fresh = store.create(item, {"n": "7", "unknown": 1}, world.get("a"), header=header)
    assert fresh._id != "mine" and fresh._name == "nice" and fresh._header == {"metadata": {"k": 1}, "_designer": 1}
    assert fresh.p_n == 7 and fresh._owner is world.get("a") and fresh.p_sub is None
    kept = store.create(item, {}, None, "other", header=header, keep_id=True)
    assert kept._id == "mine" and kept._name == "other" and store.get("mine") is kept


def test_ids_are_the_same_in_every_run() -> None:
    def ids() -> list[str]:
        world = World(CLASSES, seed="same")
        return [world.session.store.create(world.session.type_for("t.Item"), {})._id for _ in range(3)]

    assert ids() == ids() and len(set(ids())) == 3


def test_objects_whose_end_nobody_notices_go_when_they_are_dropped(world: World) -> None:
    store, session = world.session.store, world.session
    quiet = [store.create(session.type_for("t.Item"), {}) for _ in range(5)]
    loud = store.create(session.type_for("t.Noisy"), {})
    ids = [obj._id for obj in quiet]
    pinned = quiet[0]
    session.gc.subscribe(pinned, world.get("root"), None)
    del quiet, pinned
    gc.collect()
    assert store.get(ids[0]) is not None, "somebody waits for its end"
    assert all(store.get(i) is None for i in ids[1:])
    loud_id = loud._id
    del loud
    assert store.get(loud_id) is not None
    store.discard(store.require(loud_id))
    assert store.get(loud_id) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("SystemData", 7),
        ("SystemData", {"Packages": 3}),
        ("SystemData", {"Packages": {"t": {"a": 1}}}),
        ("SystemData", {"Packages": {"t": ["no version"]}}),
        ("Attributes", 5),
        ("Attributes", {"a": 1}),
        ("Objects", [1]),
        ("ObjectsCopy", "x"),
    ],
)
def test_a_malformed_part_of_a_model_is_named(key: str, value: object) -> None:
    session = World(CLASSES).session
    with pytest.raises(DeclarationError):
        session.load({"Objects": {"?": {"type": "t.Item"}}, key: value})
