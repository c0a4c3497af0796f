"""``_actions`` in headers (SEMANTICS 12.2)."""

from __future__ import annotations

from tests.muranopl.world import World, define

CLASSES = {
    "Main": """
        Extends: Base
        Methods:
          a:
            Scope: Public
            Meta: [m:Title: {text: The title}, m:Description: {text: What it does}, m:HelpText: {text: How}]
          s: {Usage: Static, Scope: Public}
          e: {Usage: Extension, Scope: Public, Arguments: [{x: {Contract: $.int()}}]}
          old: {Usage: Action}
          hidden: {}
          covered: {}
          .init: {Scope: Public}
    """,
    "Base": """
        Methods:
          b: {Scope: Public}
          a: {Scope: Public}
          covered: {Scope: Public}
    """,
}


def test_every_public_method_is_an_action_once() -> None:
    world = World(CLASSES)
    world.root()
    actions = world.session.serialize()["Objects"]["?"]["_actions"]
    assert actions["root_a"] == {
        "name": "a", "enabled": True, "title": "The title", "description": "What it does", "helpText": "How",
    }  # fmt: skip
    assert actions["root_old"] == {"name": "old", "enabled": True, "title": "old"}
    assert set(actions) == {"root_a", "root_s", "root_old", "root_b", "root_covered"}


def test_what_the_model_switched_off_stays_off_and_old_actions_vanish() -> None:
    world = World(CLASSES)
    root = define("Main", "root")
    root["?"]["_actions"] = {
        "root_b": {"name": "b", "enabled": False, "title": "renamed"},
        "root_gone": {"name": "gone", "enabled": False},
        "root_a": {"name": "a", "enabled": True},
    }
    world.load(root)
    actions = world.session.serialize()["Objects"]["?"]["_actions"]
    assert actions["root_b"] == {"name": "b", "enabled": False, "title": "b"}
    assert actions["root_a"]["enabled"] is True and "root_gone" not in actions


def test_rows_of_two_objects_are_independent() -> None:
    world = World({**CLASSES, "Top": "Properties: {kids: {Contract: [$.class(Main)]}}"})
    world.root("Top", kids=[define("Main", "x"), define("Main", "y")])
    x, y = (kid["?"]["_actions"] for kid in world.session.serialize()["Objects"]["kids"])
    x["x_b"]["enabled"] = False
    assert y["y_b"]["enabled"] is True
    assert world.session.serialize()["Objects"]["kids"][0]["?"]["_actions"]["x_b"]["enabled"] is True
