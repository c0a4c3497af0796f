from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.forms.dynamic.making import Session, cleaned, definition

WHOLE = ["Enter a whole number."]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (" 12 ", 12),
        ("+007", 7),
        ("10.0", 10),
        ("10.", 10),
        (10.0, 10),
        (5, 5),
        ("1.5", WHOLE),
        (1.5, WHOLE),
        (True, WHOLE),
        ([1], WHOLE),
        ("x", WHOLE),
        ("  ", WHOLE),
        ("9" * 5000, WHOLE),
        ("", None),
        (None, None),
    ],
)
def test_integer(raw: Any, value: Any) -> None:
    assert cleaned("type: integer, required: false", raw) == value


@given(st.integers(-(10**40), 10**40))
def test_every_integer_comes_back(number: int) -> None:
    assert cleaned("type: integer", str(number)) == number


@given(st.integers(-5, 15))
def test_range(number: int) -> None:
    found = cleaned("type: integer, minValue: 1, maxValue: 10, errorMessages: {minValue: low, maxValue: high}", number)
    assert found == (["low"] if number < 1 else ["high"] if number > 10 else number)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("true", True),
        ("on", True),
        ("0", True),
        ("false", False),
        ("FALSE", False),
        ("", False),
        (None, False),
        (True, True),
        (False, False),
    ],
)
def test_boolean(raw: Any, value: bool) -> None:
    assert cleaned("type: boolean, required: true", raw) is value
    assert cleaned("type: floatingip", raw) is value


def test_hidden_boolean_zero_is_false() -> None:
    assert cleaned("type: boolean, hidden: true", "0") is False


def test_answered_number_is_shown_as_number_and_nonsense_as_it_was() -> None:
    session = Session(definition("name: a, type: integer, initial: 2"))
    session.send(a="7")
    assert session.field("a", 0).value == 7
    session.send(0, a="x")
    field = session.field("a", 0)
    assert field.value == "x" and [p.message for p in field.problems] == WHOLE
