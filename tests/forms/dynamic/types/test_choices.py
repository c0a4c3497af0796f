from __future__ import annotations

from typing import Any

import pytest

from tests.forms.dynamic.making import Session, cleaned, definition
from vetro.forms.dynamic import BadAttribute, load
from vetro.forms.model import Choice

NOT_OFFERED = "is not one of the available choices."


def choices(written: str) -> list[Choice]:
    return list(Session(definition(f"name: a, type: choice, choices: {written}")).field("a").choices)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("[[a, A], [b, B]]", [Choice("a", "A"), Choice("b", "B")]),
        (
            "{MySQL: My SQL, 5: Five, yes: Yes}",
            [Choice("MySQL", "My SQL"), Choice("5", "Five"), Choice("True", "True")],
        ),
        ("[[1, One], [null, '']]", [Choice("1", "One"), Choice("", "")]),
        (
            "[[Linux, [[u, Ubuntu], [d, Debian]]], [w, Windows]]",
            [Choice("u", "Ubuntu", group="Linux"), Choice("d", "Debian", group="Linux"), Choice("w", "Windows")],
        ),
        ("[[us-east, US - East]]", [Choice("us-east", "US - East")]),
        ("{us-east: East}", [Choice("us-east", "East")]),
        ("range(2).select([str($), $])", []),
        ("[]", []),
        ("null", []),
    ],
)
def test_ways_to_write_choices(written: str, found: list[Choice]) -> None:
    if written.startswith("range"):
        written, found = "!yaql 'range(0, 2).select([str($), $])'", [Choice("0", "0"), Choice("1", "1")]
    assert choices(written) == found


@pytest.mark.parametrize("written", ["[a]", "[[a, b, c]]", "5", "[[[x], A]]", "text"])
def test_no_choices(written: str) -> None:
    with pytest.raises(BadAttribute, match="choices must"):
        load(definition(f"name: a, type: choice, choices: {written}"))


@pytest.mark.parametrize("written", ["[[a, $.x]]", "[[a, 1 + 1]]", "{$.x: A}"])
def test_expressions_inside_are_refused_with_place(written: str) -> None:
    with pytest.raises(BadAttribute, match="inside a list of choices") as caught:
        load(definition(f"name: a, type: choice, choices: {written}"))
    assert caught.value.position.line == 7


@pytest.mark.parametrize(
    ("field", "raw", "value"),
    [
        ("type: choice, choices: [[1, One]]", "1", "1"),
        ("type: choice, choices: [[1, One]]", 1, "1"),
        ("type: choice, choices: [[a, A]]", "", ["This field is required."]),
        ("type: choice, choices: [[a, A]], required: false", "", ""),
        ("type: choice, choices: [[g, [[a, A]]]]", "a", "a"),
        (
            "type: choice, choices: [[g, [[a, A]]]]",
            "g",
            ["Select a valid choice. g is not one of the available choices."],
        ),
        ("type: choice, choices: [[a, A]], errorMessages: {invalidChoice: 'no %(value)s'}", "x", ["no x"]),
        ("type: choice, choices: [[a, A]]", ["a"], ["Enter a valid value."]),
    ],
)
def test_cleaned(field: str, raw: Any, value: Any) -> None:
    assert cleaned(field, raw) == value


def test_long_nonsense_is_cut() -> None:
    (message,) = cleaned("type: choice, choices: [[a, A]]", "x" * 5000)
    assert len(message) < 200


def test_choices_see_the_step_just_sent_and_fields_above() -> None:
    text = definition(
        "name: n, type: integer",
        'name: c, type: choice, required: false, choices: "!yaql"',
    ).replace('"!yaql"', "!yaql 'range(0, coalesce($.main.n, 0)).select([str($), str($)])'")
    session = Session(text)
    assert list(session.field("c").choices) == []
    assert session.send(n="3", c="2").kind == "next"
    assert [c.value for c in session.field("c", 0).choices] == ["0", "1", "2"]
    assert session.send(0, n="1", c="2").errors.keys() == {"c"}


def test_numeric_initial_is_the_text_of_a_choice() -> None:
    field = Session(definition("name: a, type: choice, initial: 2, choices: [[1, One], [2, Two]]")).field("a")
    assert field.initial == "2"
