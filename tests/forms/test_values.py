"""Equality of JSON."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.forms.values import deeper_than, equivalent, json_type, same


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, 0, False),
        ({"a": 1, "b": [1]}, {"b": [1], "a": 1}, True),
        ([1, 2], [2, 1], False),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([], {}, False),
        ("a", ["a"], False),
        ([True], [1], False),
    ],
)
def test_same(a: Any, b: Any, expected: bool) -> None:
    assert same(a, b) is expected
    assert same(b, a) is expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"a": 1}, {"a": 1, "b": None, "c": [], "d": {"e": None}}, True),
        (None, [], True),
        ({"a": [{"b": None}]}, {"a": [{}]}, True),
        ({"a": 1}, {"a": 1, "b": False}, False),
        ([None], [], False),
        ("", None, False),
    ],
)
def test_equivalent(a: Any, b: Any, expected: bool) -> None:
    assert equivalent(a, b) is expected
    assert equivalent(b, a) is expected


def test_types() -> None:
    assert [json_type(v) for v in (None, True, 1, 1.0, 1.5, "", [], {})] == [
        "null", "boolean", "integer", "integer", "number", "string", "array", "object",
    ]  # fmt: skip


def test_depth() -> None:
    assert not deeper_than({"a": [1]}, 2)
    assert deeper_than({"a": [[1]]}, 2)
    assert not deeper_than([[]], 1)
