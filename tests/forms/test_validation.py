"""Values against the published schema: places, codes, and the author's texts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from vetro.diagnostics import Diagnostic
from vetro.forms.model import Choice, Field, Form, Page, Picker, Section
from vetro.forms.validation import evaluate_form, limits_in_words
from vetro.forms.vocabulary import field_schema, patterns_of, to_json_schema
from vetro.model.paths import ABSENT, pointer


def problems(field: Field, value: Any) -> list[Diagnostic]:
    schema = to_json_schema(Form("F", "class", (Page("p", "P", (Section(fields=(field,)),)),)))
    assert json.loads(json.dumps(schema)) == schema
    found = evaluate_form(schema, {} if value is ABSENT else {field.name: value})
    return [replace(problem, place=problem.place.removeprefix(pointer(field.name))) for problem in found]


def codes(field: Field, value: Any) -> list[tuple[str, str]]:
    return [(p.place, p.code) for p in problems(field, value)]


def test_limits_with_and_without_own_texts() -> None:
    limits = {"minimum": 1, "exclusiveMaximum": 9}
    field = Field("size", "integer", "Size", required=True, constraints=limits, messages={"maximum": "too much"})
    assert field_schema(field) == {"type": "integer", **limits, "title": "Size", "messages": {"maximum": "too much"}}
    assert [(p.code, p.message) for p in problems(field, 9)] == [("maximum", "too much")]
    assert [p.message for p in problems(field, 0)] == ["This must be 1 or more."]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (Field("a", "string", "A", required=True), ABSENT, [("", "required")]),
        (Field("a", "string", "A"), ABSENT, []),
        (Field("a", "string", "A"), None, [("", "required")]),
        (Field("a", "string", "A", nullable=True), None, []),
        (Field("a", "string", "A", secret=True), {"secret": "kept"}, []),
        (Field("a", "string", "A"), {"secret": "kept"}, [("", "type")]),
        (Field("a", "integer", "A"), True, [("", "type")]),
        (Field("a", "integer", "A"), 2.0, []),
        (Field("a", "number", "A"), 2, []),
        (Field("a", "string", "A", constraints={"maxLength": 1}), "😀", []),
        (Field("a", "list", "A", constraints={"uniqueItems": True}), [1, 2, 1.0], [("", "unique")]),
        (Field("a", "list", "A", constraints={"uniqueItems": True}), [1, True, "1"], []),
        (Field("a", "list", "A", items=Field("", "integer", "")), [1, "2"], [("/1", "type")]),
        (Field("a", "tuple", "A", leading=(Field("", "integer", ""),)), [1, 2], [("/1", "extra")]),
        (Field("a", "object", "A", sections=(Section(fields=(Field("b", "integer", "B", required=True),)),)), {"c": 1},
         [("/b", "required"), ("/c", "extra")]),
        (Field("a", "map", "A", items=Field("", "integer", ""),
               keys=Field("", "string", "", constraints=patterns_of([("^x", "")]))), {"y": 1, "x": "1"},
         [("/y", "pattern"), ("/x", "type")]),
        (Field("a", "choice", "A", choices=(Choice(1, "1"), Choice(2, "2", disabled=True))), 2,
         [("", "invalid_choice")]),
        (Field("a", "choice", "A", choices=(Choice(1, "1"),)), True, [("", "invalid_choice")]),
        (Field("a", "choice", "A", choices_source="images"), "any", []),
        (Field("a", "reference", "A", picker=Picker("t.A", owned=True)), "id", [("", "type")]),
        (Field("a", "reference", "A", picker=Picker("t.A", owned=False)), {}, [("", "type")]),
        (Field("a", "json", "A", constraints={"minLength": 2}), [], []),
        (Field("a", "json", "A", constraints={"minLength": 2}), "x", [("", "min_length")]),
    ],
)  # fmt: skip
def test_values(field: Field, value: Any, expected: list[tuple[str, str]]) -> None:
    assert codes(field, value) == expected


def test_the_text_of_a_pattern_and_one_that_only_the_server_knows() -> None:
    field = Field("a", "string", "A", constraints=patterns_of([(r"^(a)\1$", "twice a")]))
    assert "pattern" not in field_schema(field) and field_schema(field)["regex"] == r"^(a)\1$"
    assert [p.message for p in problems(field, "ab")] == ["twice a"]
    assert not problems(field, "aa")
    field = Field("a", "string", "A", constraints=patterns_of([("^a", "an a"), ("b$", "")]), messages={"invalid": "no"})
    assert [p.message for p in problems(field, "c")] == ["an a", "no"]


def test_the_header_of_an_object_is_no_answer() -> None:
    nothing = to_json_schema(Form("F", "class"))
    assert evaluate_form(nothing, {"?": {"type": "t.A"}}) == []
    assert [p.code for p in evaluate_form(nothing, {"b": 1})] == ["extra"]


@pytest.mark.parametrize(
    ("kind", "limits", "value", "text"),
    [
        ("string", {"minLength": 2}, "", "Use at least 2 characters."),
        ("string", {"minLength": 1}, "", "Enter a value."),
        ("list", {"maxItems": 1}, [1, 2], "Use at most 1 item."),
        ("list", {"minItems": 1}, [], "Add at least one."),
        ("map", {"minProperties": 3}, {}, "Use at least 3 entries."),
        ("integer", {"exclusiveMinimum": 3}, 3, "This must be more than 3."),
    ],
)
def test_texts(kind: Any, limits: dict[str, int], value: Any, text: str) -> None:
    field = Field("a", kind, "A", constraints=limits, items=Field("", "json", "", nullable=True))
    assert [p.message for p in problems(field, value)] == [text]
    assert limits_in_words(limits) == [text]


def test_what_is_missing_is_entered_added_or_chosen() -> None:
    """A list is nothing that one enters."""
    text = Field("", "string", "")
    missing = {
        "Enter a value.": Field("a", "string", "A", required=True),
        "Add at least one.": Field("a", "list", "A", required=True, items=text),
        "Add at least one entry.": Field("a", "map", "A", required=True, items=text),
        "Choose one.": Field("a", "choice", "A", required=True, choices=(Choice(1, "1"),)),
        "Choose one, or make a new one.": Field("a", "reference", "A", required=True, picker=Picker("t.A")),
    }
    for said, field in missing.items():
        assert [p.message for p in problems(field, ABSENT)] == [said]


def test_texts_of_types_and_choices() -> None:
    def text(field: Field, value: Any) -> str:
        (problem,) = problems(field, value)
        return problem.message

    assert text(Field("a", "integer", "A"), "x") == "This must be a whole number."
    choices = tuple(Choice(value, str(value)) for value in (1, True))
    assert text(Field("a", "choice", "A", choices=choices), 3) == "Choose one of: 1, yes."
    assert "offered" in text(Field("a", "choice", "A", choices=tuple(Choice(i, "") for i in range(11))), 99)
