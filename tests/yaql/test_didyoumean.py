from __future__ import annotations

import itertools

import pytest

from vetro.yaql.didyoumean import edit_distance, suggest

NAMES = ["select", "selectMany", "where", "first", "firstOrDefault", "len", "toList", "toDict", "max", "min"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("selct", "select"),
        ("sleect", "select"),
        ("Where", "where"),
        ("tolist", "toList"),
        ("length", None),
        ("ln", "len"),
        ("frist", "first"),
        ("xyz", None),
        ("mix", "max"),
        ("", None),
        ("q", None),
        ("a" * 1000, None),
    ],
)
def test_suggest(name: str, expected: str | None) -> None:
    assert suggest(name, NAMES) == expected


def test_the_order_of_the_known_names_does_not_matter() -> None:
    for names in itertools.permutations(["mix", "max", "men"]):
        assert suggest("mex", names) == "max"


def test_a_name_is_not_its_own_suggestion() -> None:
    assert suggest("where", ["where"]) is None
    assert suggest("where", ["where", "there"]) == "there"


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [("", "", 0), ("", "ab", 2), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "abcd", 1), ("kitten", "sitting", 3)],
)
def test_edit_distance(left: str, right: str, distance: int) -> None:
    assert edit_distance(left, right, 5) == edit_distance(right, left, 5) == distance


def test_edit_distance_stops_at_the_limit() -> None:
    assert edit_distance("abcdef", "uvwxyz", 2) > 2
