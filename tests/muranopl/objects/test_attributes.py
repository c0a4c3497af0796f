"""Attributes of objects (SEMANTICS 11.5)."""

from __future__ import annotations

import pytest

from tests.muranopl.world import World, define


@pytest.fixture
def world() -> World:
    made = World({"Main": "Extends: Base\nProperties: {kid: {Contract: $.class(Base)}}", "Base": ""})
    made.root(kid=define("Base", "kid"))
    return made


def test_values_belong_to_object_and_class(world: World) -> None:
    store = world.session.attributes
    root, kid = world.get("root"), world.get("kid")
    main, base = world.session.type_for("t.Main"), world.session.type_for("t.Base")
    store.set(root, main, "x", 1)
    store.set(root, base, "x", 2)
    assert store.get(root, main, "x") == 1 and store.get(root, base, "x") == 2
    assert store.get(kid, main, "x") is None and store.get(kid, main, "x", "none") == "none"
    store.set(root, main, "x", None)
    store.set(kid, main, "never", None)
    assert store.get(root, main, "x") is None and store.get(root, base, "x") == 2


def test_objects_are_stored_as_ids_and_values_are_frozen(world: World) -> None:
    store = world.session.attributes
    root, main = world.get("root"), world.session.type_for("t.Main")
    store.set(root, main, "o", {"k": [world.get("kid"), world.session.view(root, main)], "t": main.type_object})
    assert store.get(root, main, "o") == {"k": ("kid", "root"), "t": "t.Main/1.0.0@t"}
    hash(store.get(root, main, "o"))
    assert store.rows({"root"}) == [["root", "t.Main", "o", {"k": ["kid", "root"], "t": "t.Main/1.0.0@t"}]]


def test_only_rows_of_objects_in_the_model_are_written() -> None:
    world = World({"Main": ""})
    rows = [
        ["root", "t.Main", "x", 5],
        ["other", "t.Main", "x", 7],
        ["root", "t.Main", "gone", None],
        ["bad"],
        5,
        [1] * 4,
    ]
    world.load(define("Main", "root"), attributes=rows)
    assert world.session.serialize()["Attributes"] == [["root", "t.Main", "x", 5]]


def test_attributes_of_destroyed_objects_vanish(world: World) -> None:
    store = world.session.attributes
    kid, base = world.get("kid"), world.session.type_for("t.Base")
    store.set(kid, base, "x", 1)
    world.session.gc.destroy([kid])
    assert store.rows({"kid"}) == [] and store.get(kid, base, "x") is None
