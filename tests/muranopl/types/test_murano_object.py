"""The Python side of objects (SEMANTICS 11.6, 4.4)."""

from __future__ import annotations

import pytest

from tests.muranopl.world import World, define
from vetro.muranopl.errors import AmbiguousMethodName, PropertyReadError
from vetro.muranopl.types.murano_object import mark_destroyed, owns
from vetro.yaql.values import HostObject


@pytest.fixture
def world() -> World:
    made = World(
        {
            "Main": """
                Extends: [Left, Right]
                Properties: {n: {Contract: $.int()}, kid: {Contract: $.class(Main)}}
                Methods:
                  add:
                    Arguments: [{x: {Contract: $.int()}}, {y: {Contract: $.int(), Default: 1}}]
                    Body: {Return: $x + $y}
                  st: {Usage: Static, Body: {Return: static}}
                  ext: {Usage: Extension, Arguments: [{x: {Contract: $.int()}}]}
            """,
            "Other": "",
            "Left": "Methods: {both: {}}",
            "Right": "Methods: {both: {}}",
        }
    )
    made.root(n=1, kid=define("Main", "kid"))
    return made


def test_identity_and_text(world: World) -> None:
    root, kid = world.get("root"), world.get("kid")
    assert isinstance(root, HostObject) and root != kid and root == world.get("root") and len({root, kid}) == 2
    assert repr(root) == "<t.Main root>"
    assert owns(root, kid) and not owns(kid, root) and not owns(root, root)


def test_members_as_expressions_reach_them(world: World) -> None:
    root = world.get("root")
    context = root._type.context
    assert root.yaql_attribute("n", context) == 1
    add = root.yaql_method("add", context)
    assert add is not None and add(2) == 3 and add("2", y=5) == 7
    static = root.yaql_method("st", context)
    assert static is not None and static() == "static"
    assert root.yaql_method("nope", context) is None and root.yaql_method("ext", context) is None
    assert root.yaql_method(".init", context) is None
    with pytest.raises(AmbiguousMethodName):
        root.yaql_method("both", context)
    with pytest.raises(PropertyReadError):
        root.yaql_attribute("nope", world.session.type_for("t.Other").context)


def test_ending_one_object_twice_is_ending_it_once(world: World) -> None:
    root, kid = world.get("root"), world.get("kid")
    mark_destroyed(kid)
    cls = type(kid)
    mark_destroyed(kid)
    mark_destroyed(root)
    assert type(kid) is cls is type(root) and cls._type is root._type and cls.__name__ == "Main"
    assert kid._id == "kid" and root.p_kid is kid
    assert root.yaql_method("st", None) is not None
