"""Differences between models."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.model.models import models
from vetro.model.differences import Difference, diff, same
from vetro.model.header import id_of
from vetro.model.tree import by_id, copied, walk
from vetro.yaql.redact import MASK


def obj(id: str, type: str = "T", **properties: Any) -> dict[str, Any]:
    return {"?": {"id": id, "type": type}, **properties}


def root(*apps: Any, **more: Any) -> dict[str, Any]:
    return obj("env", "E", applications=list(apps), **more)


def told(before: Any, after: Any) -> list[Any]:
    return [(d.what, d.id, {p.name: (p.old, p.new) for p in d.properties}) for d in diff(before, after)]


def test_equal_models_do_not_differ() -> None:
    assert told(root(obj("a", x=[1, {"y": 2}])), root(obj("a", x=[1, {"y": 2}]))) == []


def test_created_changed_and_destroyed_objects() -> None:
    before = root(obj("a", x=1, y=2), obj("gone", z=1))
    after = root(obj("a", x=5, y=2), obj("new", z=3))
    assert told(before, after) == [
        ("changed", "env", {"applications": before_after(before, after)}),
        ("changed", "a", {"x": (1, 5)}),
        ("created", "new", {"z": (None, 3)}),
        ("destroyed", "gone", {}),
    ]


def before_after(before: Any, after: Any) -> Any:
    def refs(model: Any) -> Any:
        return [{"?": {"id": a["?"]["id"], "type": "T"}} for a in model["applications"]]

    return refs(before), refs(after)


def test_a_moved_object_tells_where_it_was() -> None:
    pot = obj("pot")
    (moved,) = [
        d for d in diff(root(obj("a", pot=pot), obj("b", pot=None)), root(obj("a", pot="pot"), obj("b", pot=pot)))
        if d.id == "pot"
    ]  # fmt: skip
    assert (moved.what, moved.came_from, moved.place) == ("moved", ("a", "pot"), ("b", "pot"))


def test_an_object_in_full_and_a_reference_to_it_are_the_same_value() -> None:
    assert told(root(obj("a", r=obj("p"))), root(obj("a", r=obj("p", x=1)))) == [("changed", "p", {"x": (None, 1)})]


def test_an_upgrade_shows_as_a_changed_type() -> None:
    assert told(root(obj("a", "T/1.0.0@p")), root(obj("a", "T/2.0.0@p"))) == [
        ("changed", "a", {"?/type": ("T/1.0.0@p", "T/2.0.0@p")})
    ]


def test_secrets_are_masked_at_any_depth_and_in_lists() -> None:
    before = root(obj("a", adminPassword="s3cret", users=[{"name": "x", "password": "first-pw"}], apiKey="k"))
    after = root(obj("a", adminPassword="other", users=[{"name": "y", "password": "second-pw"}], apiKey="k2"))
    text = repr(diff(before, after))
    assert MASK in text
    for secret in ("s3cret", "other", "first-pw", "second-pw", "'k'", "k2"):
        assert secret not in text


def test_what_a_schema_calls_secret_is_masked_too() -> None:
    found = diff(root(obj("a", "my.T", pin=1)), root(obj("a", "my.T", pin=2)), lambda c, p: (c, p) == ("my.T", "pin"))
    assert [(p.old, p.new) for d in found for p in d.properties] == [(MASK, MASK)]


def test_nothing_before_or_after() -> None:
    assert [d.what for d in diff(None, root(obj("a")))] == ["created", "created"]
    assert [d.what for d in diff(root(obj("a")), None)] == ["destroyed", "destroyed"]


def test_true_and_one_differ() -> None:
    assert told(root(obj("a", x=1)), root(obj("a", x=True))) == [("changed", "a", {"x": (1, True)})]


def test_as_json_is_plain() -> None:
    (found,) = diff(obj("e", "E", x=1), obj("e", "E", y=2))
    assert found.as_json()["properties"] == [
        {"name": "y", "old": None, "new": 2, "added": True, "removed": False},
        {"name": "x", "old": 1, "new": None, "added": False, "removed": True},
    ]


@pytest.mark.attack("secrets", "M1")
def test_what_was_made_of_a_secret_is_masked_in_other_properties() -> None:
    def secret(class_name: str, name: str) -> bool:
        return (class_name, name) == ("Db", "word")

    database = obj("db", "Db/1.0.0", word="canary-word")
    before, after = root(database, obj("a", url="-")), root(database, obj("a", url="sql://u:canary-word@h", port=1))
    (changed,) = diff(before, after, secret)
    assert [(p.name, p.new) for p in changed.properties] == [("url", f"sql://u:{MASK}@h"), ("port", 1)]
    assert "canary" not in repr([item.as_json() for item in diff(None, after, secret)])


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1, True),
        (1, True, False),
        (1, 1.0, False),
        ({"?": {"id": "a"}, "x": 1}, {"?": {"id": "a"}}, True),
        ({"?": {"id": "a"}}, "a", True),
        ("a", {"?": {"id": "b"}}, False),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1], [1, 2], False),
        (None, {}, False),
    ],
)
def test_values_are_compared_with_objects_as_references(one: Any, other: Any, expected: bool) -> None:
    assert same(one, other) is expected


def flat(root: Any) -> dict[str, dict[str, Any]]:
    """Id -> the object, with the objects in it as ``{"?": {id, type}}``."""

    def shown(value: Any) -> Any:
        if isinstance(value, dict):
            if "?" in value:
                return {"?": {"id": value["?"]["id"], "type": value["?"]["type"]}}
            return {key: shown(item) for key, item in value.items()}
        return [shown(item) for item in value] if isinstance(value, list) else value

    return {
        own: {key: item if key == "?" else shown(item) for key, item in found.items()}
        for own, found in by_id(root).items()
    }


def applied(before: dict[str, Any], differences: list[Difference]) -> dict[str, Any]:
    """What the differences make of a model in `flat` form."""
    state = copied(before)
    for item in differences:
        if item.what == "destroyed":
            del state[item.id]
            continue
        found = state.setdefault(item.id, {"?": {"id": item.id, "type": item.type}})
        for change in item.properties:
            if change.name.startswith("?/"):
                found["?"][change.name[2:]] = change.new
            elif change.removed:
                del found[change.name]
            else:
                found[change.name] = change.new
    return dict(state)


@given(models(), models())
def test_the_differences_applied_to_one_model_give_the_other(before: Any, after: Any) -> None:
    made, wanted = applied(flat(before), diff(before, after)), flat(after)
    assert made.keys() == wanted.keys()
    for own in wanted:
        assert made[own]["?"] == wanted[own]["?"]
        assert made[own].keys() == wanted[own].keys()
        # An object in full and a reference to it are the same value, whatever class it has by now.
        assert all(same(made[own][name], wanted[own][name]) for name in wanted[own] if name != "?")


@given(models())
def test_a_model_does_not_differ_from_its_copy(root: Any) -> None:
    assert diff(root, copied(root)) == []


@given(models(), models())
def test_a_moved_object_has_another_place_and_all_others_have_the_same(before: Any, after: Any) -> None:
    def places(root: Any) -> dict[str | None, tuple[str | None, str | None]]:
        return {id_of(place.object): (place.owner, place.property) for place in walk(root)}

    told = {item.id: item.came_from for item in diff(before, after) if item.came_from is not None}
    was, now = places(before), places(after)
    assert told == {own: was[own] for own in now if own in was and was[own] != now[own] and was[own][0] is not None}
