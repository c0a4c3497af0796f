"""The rule set as data: complete, plain JSON, with the author's texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.forms.world import describer
from vetro.forms.model import Choice, Constraints, Field, Pattern, Picker, Section
from vetro.forms.rules import evaluate, evaluate_form, form_rules, rules_of
from vetro.forms.values import ABSENT


def codes(field: Field, value: Any) -> list[tuple[str, str]]:
    return [(p.path, p.code) for p in evaluate(rules_of(field), value)]


def test_rules_are_plain_json() -> None:
    shop = describer().of("t.Shop")
    assert shop is not None
    rules = form_rules(shop.form)
    assert json.loads(json.dumps(rules)) == rules
    assert {rule["name"] for rule in rules} == set(shop.fields)


def test_a_rule_set() -> None:
    field = Field(
        "size",
        "integer",
        "Size",
        required=True,
        constraints=Constraints(minimum=1, exclusive_maximum=9),
        messages={"maximum": "too much"},
    )
    assert rules_of(field) == {
        "name": "size",
        "types": ["integer"],
        "required": True,
        "rules": [
            {"code": "minimum", "limit": 1},
            {"code": "exclusive_maximum", "limit": 9, "message": "too much"},
        ],
    }
    assert [(p.code, p.message) for p in evaluate(rules_of(field), 9)] == [("maximum", "too much")]
    assert [p.message for p in evaluate(rules_of(field), 0)] == ["This must be 1 or more."]


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
        (Field("a", "string", "A", constraints=Constraints(max_length=1)), "😀", []),
        (Field("a", "list", "A", constraints=Constraints(unique=True)), [1, 2, 1.0], [("", "unique")]),
        (Field("a", "list", "A", constraints=Constraints(unique=True)), [1, True, "1"], []),
        (Field("a", "list", "A", items=Field("", "integer", "")), [1, "2"], [("/1", "type")]),
        (Field("a", "tuple", "A", leading=(Field("", "integer", ""),)), [1, 2], [("/1", "extra")]),
        (Field("a", "object", "A", sections=(Section(fields=(Field("b", "integer", "B", required=True),)),)), {"c": 1},
         [("/b", "required"), ("/c", "extra")]),
        (Field("a", "map", "A", items=Field("", "integer", ""),
               keys=Field("", "string", "", constraints=Constraints(patterns=(Pattern("^x"),)))), {"y": 1, "x": "1"},
         [("/y", "pattern"), ("/x", "type")]),
        (Field("a", "choice", "A", choices=(Choice(1, "1"), Choice(2, "2", disabled=True))), 2,
         [("", "invalid_choice")]),
        (Field("a", "choice", "A", choices=(Choice(1, "1"),)), True, [("", "invalid_choice")]),
        (Field("a", "choice", "A", choices_source="images"), "any", []),
        (Field("a", "reference", "A", picker=Picker("t.A", owned=True)), "id", [("", "type")]),
        (Field("a", "reference", "A", picker=Picker("t.A", owned=False)), {}, [("", "type")]),
        (Field("a", "json", "A", constraints=Constraints(min_length=2)), [], []),
        (Field("a", "json", "A", constraints=Constraints(min_length=2)), "x", [("", "min_length")]),
    ],
)  # fmt: skip
def test_values(field: Field, value: Any, expected: list[tuple[str, str]]) -> None:
    assert codes(field, value) == expected


def test_the_text_of_a_pattern_and_one_that_only_the_server_knows() -> None:
    field = Field("a", "string", "A", constraints=Constraints(patterns=(Pattern(r"^(a)\1$", "twice a"),)))
    (rule,) = rules_of(field)["rules"]
    assert "regex" not in rule and rule["python"] == r"^(a)\1$"
    assert [p.message for p in evaluate(rules_of(field), "ab")] == ["twice a"]
    assert not list(evaluate(rules_of(field), "aa"))


def test_the_header_of_an_object_is_no_answer() -> None:
    assert evaluate_form([], {"?": {"type": "t.A"}}) == []
    assert [p.code for p in evaluate_form([], {"b": 1})] == ["extra"]


@pytest.mark.parametrize(
    ("kind", "limits", "value", "text"),
    [
        ("string", Constraints(min_length=2), "", "Use at least 2 characters."),
        ("string", Constraints(min_length=1), "", "Enter a value."),
        ("list", Constraints(max_length=1), [1, 2], "Use at most 1 item."),
        ("map", Constraints(min_length=3), {}, "Use at least 3 entries."),
        ("integer", Constraints(exclusive_minimum=3), 3, "This must be more than 3."),
    ],
)
def test_texts(kind: Any, limits: Constraints, value: Any, text: str) -> None:
    field = Field("a", kind, "A", constraints=limits, items=Field("", "json", ""))
    assert [p.message for p in evaluate(rules_of(field), value)] == [text]


def test_texts_of_types_and_choices() -> None:
    def text(field: Field, value: Any) -> str:
        (problem,) = evaluate(rules_of(field), value)
        return problem.message

    assert text(Field("a", "integer", "A"), "x") == "This must be a whole number."
    choices = tuple(Choice(value, str(value)) for value in (1, True))
    assert text(Field("a", "choice", "A", choices=choices), 3) == "Choose one of: 1, yes."
    assert "offered" in text(Field("a", "choice", "A", choices=tuple(Choice(i, "") for i in range(11))), 99)
