"""Object headers and the inline form (SEMANTICS 11.1)."""

from __future__ import annotations

import pytest

from tests.muranopl.world import World
from vetro.muranopl.errors import ClassNotFound, DeclarationError, PackageNotFound
from vetro.muranopl.objects.header import as_type, inline_key, parse, split


@pytest.fixture
def world() -> World:
    return World({"Main": "", "Item": ""}, version="1.2.3")


def test_version_and_package_in_the_type_win_over_their_keys(world: World) -> None:
    kind = world.session.type_for("t.Item")
    for header in (
        {"type": "t.Item"},
        {"type": "t.Item/1.2.3@t", "classVersion": "9", "package": "other"},
        {"type": "t.Item", "classVersion": ">=1", "package": "t"},
        {"type": "t.Item", "classVersion": 1.2},
        {"type": "t.Item/1.2.0"},
        {"type": kind.type_object},
    ):
        assert parse(world.session, header).type is kind
    with pytest.raises(PackageNotFound):
        parse(world.session, {"type": "t.Item", "package": "other"})
    with pytest.raises((ClassNotFound, PackageNotFound)):
        parse(world.session, {"type": "t.Missing"})


def test_what_a_header_keeps(world: World) -> None:
    header = parse(
        world.session,
        {
            "id": "x",
            "name": "n",
            "metadata": {"k": [1]},
            "_1234": {"p": 1},
            "other": "dropped",
            5: "dropped",
            "_actions": {
                "x_on": {"name": "on", "enabled": True},
                "x_off": {"name": "off", "enabled": False},
                "junk": 3,
            },
            "dependencies": {"onDestruction": [{"subscriber": "s", "handler": "h"}, {"subscriber": "r"}, {"x": 1}]},
            "destroyed": False,
        },
    )
    assert header.type is None and header.id == "x" and header.name == "n" and not header.destroyed
    assert header.kept == {"metadata": {"k": (1,)}, "_1234": {"p": 1}, "_actions": {"off": False}}
    assert header.subscriptions == [("s", "h"), ("r", None)]


@pytest.mark.parametrize("header", [{"type": 5}, {"type": ""}, {"type": "/1"}, {"type": "t.Item", "id": [1]}])
def test_malformed_headers_are_declaration_errors(world: World, header: dict[str, object]) -> None:
    with pytest.raises(DeclarationError):
        parse(world.session, header)
    with pytest.raises(DeclarationError):
        split(world.session, {"?": "text"}, None)


def test_inline_definitions(world: World) -> None:
    item = world.session.type_for("t.Item")
    main = world.session.type_for("t.Main")
    for key in (":Item", "=:Item", item.type_object):
        mapping = {key: {"n": 1}, "id": "i", "name": "nice"}
        if key == "=:Item":
            assert inline_key(mapping) is None
            continue
        header, values = split(world.session, mapping, main)
        assert header.type is item and header.id == "i" and header.name == "nice" and values == {"n": 1}
    header, values = split(world.session, {":t.Item/1@t": None}, None)
    assert header.type is item and values == {}


def test_a_class_in_a_key_is_one_class_with_a_body() -> None:
    assert inline_key({":A": {}, ":B": {}}) is None
    assert inline_key({":A": "no mapping"}) is None


def test_as_type(world: World) -> None:
    kind = world.session.type_for("t.Item")
    assert as_type(kind.type_object) is kind
    assert as_type("t.Item") is None and as_type(None) is None and as_type((1,)) is None
