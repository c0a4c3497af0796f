"""Walks and copies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.models import models
from vetro.model.header import header_of, id_of
from vetro.model.paths import at
from vetro.model.tree import by_id, copied, find, has_class_keys, objects, references, walk


def recursive(value: Any) -> list[Any]:
    """The objects of a tree, told in the plainest way."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return ([value] if header_of(value) is not None else []) + [obj for part in parts for obj in recursive(part)]


@given(models())
def test_a_walk_finds_every_object_once_in_the_order_of_the_tree(root: dict[str, Any]) -> None:
    assert [id(obj) for obj in objects(root)] == [id(obj) for obj in recursive(root)]


@given(models())
def test_a_place_leads_to_its_object_and_names_its_owner(root: dict[str, Any]) -> None:
    for place in walk(root):
        assert at(root, place.path) is place.object
        if place.around is None:
            assert place.object is root and place.owner is None and place.property is None
            continue
        assert place.owner == id_of(place.around.object)
        own = id_of(place.object)
        assert own is not None
        assert find(place.around.object[place.property], own) is place.object


@given(models())
def test_every_object_is_found_by_its_id(root: dict[str, Any]) -> None:
    for own, obj in by_id(root).items():
        assert find(root, own) is obj
    assert find(root, "nobody") is None


@given(models())
def test_a_copy_is_equal_and_shares_nothing(root: dict[str, Any]) -> None:
    made = copied(root)
    assert made == root
    assert not {id(obj) for obj in objects(made)} & {id(obj) for obj in objects(root)}


@given(models(), st.data())
def test_an_edit_of_one_object_changes_that_object_only(root: dict[str, Any], data: st.DataObject) -> None:
    own = data.draw(st.sampled_from(sorted(by_id(root))))
    before = copied(root)
    edited = find(root, own)
    assert edited is not None
    edited["edited"] = True
    assert by_id(root).keys() == by_id(before).keys()
    del find(root, own)["edited"]  # type: ignore[index]
    assert root == before


def test_references_are_told_without_the_objects_in_a_value() -> None:
    value = ["a", {"k": "b"}, {"?": {"id": "c"}, "x": "a"}, "other", ("a",)]
    assert list(references(value, {"a", "b", "c"})) == ["a", "b", "a"]


def test_a_mapping_without_a_header_is_no_object_and_headers_are_not_looked_into() -> None:
    value = {"?": 5, "in": {"?": {"id": "a", "metadata": {"?": {"id": "b"}}}}}
    assert list(by_id(value)) == ["a"]


def test_frozen_values_are_walked_and_copied_to_plain_ones() -> None:
    value = ({"?": {"id": "a"}, "x": ({"?": {"id": "b"}},)},)
    assert list(by_id(value)) == ["a", "b"]
    assert copied(value) == [{"?": {"id": "a"}, "x": [{"?": {"id": "b"}}]}]


@pytest.mark.parametrize(
    ("value", "may"),
    [
        ([{"?": {"type": "a.B"}, "deep": ({"x": [{":Item": {}, "id": "i"}]},)}], True),
        ({"p:Item": None}, True),
        ({"?": {}, ":Item": {}}, False),
        ({":Item": 5, "http://x": {}, 7: {}}, False),
        ("text", False),
        (None, False),
    ],
)
def test_trees_that_may_hold_definitions_without_headers(value: Any, may: bool) -> None:
    assert has_class_keys(value) is may
