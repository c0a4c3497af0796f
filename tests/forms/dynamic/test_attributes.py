from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.forms.dynamic import attributes
from vetro.forms.dynamic.errors import BadAttribute
from vetro.muranopl.declarations.tree import Position
from vetro.yaql.values import FDict, freeze

PLACE = Position("ui.yaml", 3, 5)


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("minLength", "min_length"),
        ("MinLength", "min_length"),
        ("min_length", "min_length"),
        ("includeSnapshots", "include_snapshots"),
        ("minMemoryMb", "min_memory_mb"),
        ("MySQL", "my_sql"),
        ("ParametersSource", "parameters_source"),
        ("a", "a"),
        ("", ""),
    ],
)
def test_fold(written: str, folded: str) -> None:
    assert attributes.fold(written) == folded


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1, max_size=4))
def test_all_ways_of_writing_a_name_are_one(words: list[str]) -> None:
    snake = "_".join(words)
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    pascal = "".join(word.capitalize() for word in words)
    assert attributes.fold(snake) == attributes.fold(camel) == attributes.fold(pascal) == snake


def test_default_label() -> None:
    assert attributes.default_label("dnsHost_name") == "Dnshost name"


@pytest.mark.parametrize(("value", "flag"), [(True, True), ("yes", True), ("False", False), (None, False), (0, False)])
def test_flag(value: Any, flag: bool) -> None:
    assert attributes.flag(value) is flag


@pytest.mark.parametrize("value", ["maybe", "2"])
def test_no_flag(value: Any) -> None:
    with pytest.raises(ValueError):
        attributes.flag(value)


@pytest.mark.parametrize(("value", "number"), [(3, 3), ("4", 4), (5.0, 5), (None, None), (" 6 ", 6)])
def test_whole(value: Any, number: int | None) -> None:
    assert attributes.whole(value) == number


@pytest.mark.parametrize("value", [True, 1.5, "x", (), FDict(), float("inf")])
def test_no_whole_number(value: Any) -> None:
    with pytest.raises(ValueError, match="whole number"):
        attributes.whole(value)


def test_negative_length() -> None:
    with pytest.raises(BadAttribute, match="min_length must not be negative, not -1") as caught:
        attributes.convert("min_length", -1, attributes.count, PLACE)
    assert caught.value.position == PLACE


def test_messages_fold_their_codes() -> None:
    assert attributes.messages(freeze({"minLength": "short", "bogus": 1})) == {"min_length": "short", "bogus": "1"}


def test_media() -> None:
    found = attributes.media(freeze({"js": "a.js", "css": {"all": ["b.css"], "print": "c.css"}, "other": 1}))
    assert found == {"js": ["a.js"], "css": {"all": ["b.css"], "print": ["c.css"]}}
    assert attributes.media(freeze({"css": ["b.css"]})) == {"css": {"all": ["b.css"]}}
    for wrong in (freeze({"js": [1]}), freeze({"js": {"a": 1}}), ("a",)):
        with pytest.raises(ValueError):
            attributes.media(wrong)


def test_harmful_html_is_left_out() -> None:
    given_ = freeze({"size": 5, "onclick": "x()", "style": "a", "data-x": "y", "formaction": "/", 3: "z"})
    assert attributes.html(given_) == {"size": "5", "data-x": "y"}
