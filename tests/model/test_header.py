"""What an object says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.model import header


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.B", ("a.B", None, None)),
        ("a.B/1.0", ("a.B", "1.0", None)),
        ("a.B@p.q", ("a.B", None, "p.q")),
        (" a.B / >=1 @ p ", ("a.B", ">=1", "p")),
        ("a.B/@", ("a.B", None, None)),
    ],
)
def test_type_texts(text: str, parts: tuple[str | None, ...]) -> None:
    assert tuple(header.parse_type_text(text)) == parts


@pytest.mark.parametrize(
    ("found", "type_text", "class_name"),
    [
        ({"type": "a.B/1.2.3@p"}, "a.B/1.2.3@p", "a.B"),
        ({"type": "a.B", "classVersion": "1.2", "package": "p"}, "a.B/1.2@p", "a.B"),
        ({"type": "a.B/1.0@p", "classVersion": "2", "package": "q"}, "a.B/1.0@p", "a.B"),
        ({"type": "a.B@p", "classVersion": 2}, "a.B/2@p", "a.B"),
        ({"type": ""}, "", ""),
        ({"type": 5}, "", ""),
        ({}, "", ""),
    ],
)
def test_version_and_package_may_stand_beside_the_class(found: Any, type_text: str, class_name: str) -> None:
    assert header.type_of({"?": found}) == type_text
    assert header.class_of({"?": found}) == class_name


@pytest.mark.parametrize(
    ("value", "own"),
    [
        ({"?": {"id": "a"}}, "a"),
        ({"?": {"id": 5}}, "5"),
        ({"?": {"id": ""}}, None),
        ({"?": {"id": True}}, None),
        ({"?": {"id": ["a"]}}, None),
        ({"?": "a"}, None),
        ({}, None),
        ("a", None),
        (None, None),
    ],
)
def test_an_id_is_text_or_a_number(value: Any, own: str | None) -> None:
    assert header.id_of(value) == own


def test_people_call_an_object_by_its_name_else_by_the_last_word_of_its_class() -> None:
    assert header.label_of({"?": {"type": "a.B", "name": "one"}, "name": "two"}) == "one"
    assert header.label_of({"?": {"type": "a.B"}, "name": "two"}) == "two"
    assert header.label_of({"?": {"type": "a.B/1@p", "name": " "}, "name": 5}) == "B"
    assert header.label_of({"?": {}}) == "?"
    assert header.name_of({"name": "no object"}) == ""


@pytest.mark.parametrize("text", [":Item", "p:Item", "p:a.Item/1.0@p.q", ":Item/=1"])
def test_keys_that_name_a_class(text: str) -> None:
    assert header.is_class_key(text)


@pytest.mark.parametrize("text", ["Item", "?", "p:", "http://x", "p:Item ", ":1"])
def test_keys_that_do_not(text: str) -> None:
    assert not header.is_class_key(text)
