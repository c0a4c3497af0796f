"""What people type becomes a value, and native constraints say what the rules say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.forms.entry import html_attributes, read, shown
from vetro.forms.model import Choice, Field, Kind
from vetro.forms.validation import evaluate
from vetro.forms.values import same
from vetro.forms.vocabulary import field_schema
from vetro.model.paths import ABSENT


def field(kind: Kind, **more: Any) -> Field:
    return Field("a", kind, "A", **more)


@pytest.mark.parametrize(
    ("kind", "more", "text", "value"),
    [
        ("string", {"required": True}, "", ABSENT),
        ("string", {"nullable": True}, "", None),
        ("string", {"initial": "x"}, "", ""),
        ("string", {}, " x ", " x "),
        ("integer", {}, " 12 ", 12),
        ("integer", {}, "+1", 1),
        ("integer", {}, "1.5", "1.5"),
        ("integer", {}, "", ABSENT),
        ("integer", {}, "\u0661", "\u0661"),
        ("integer", {}, "9" * 5000, "9" * 5000),
        ("number", {}, "1.5", 1.5),
        ("number", {}, "1e3", 1000.0),
        ("number", {}, "1e999", "1e999"),
        ("number", {}, "nan", "nan"),
        ("boolean", {}, "Yes", True),
        ("boolean", {}, "off", False),
        ("boolean", {}, "maybe", "maybe"),
        ("choice", {"choices": (Choice(1, "One"), Choice("b", "B"))}, "1", 1),
        ("choice", {"choices": (Choice(1, "One"), Choice("b", "B"))}, "One", 1),
        ("choice", {"choices": (Choice(1, "One"),)}, "2", "2"),
        ("json", {}, '{"a": [1]}', {"a": [1]}),
        ("json", {}, "text", "text"),
        ("json", {}, "NaN", "NaN"),
        ("list", {}, "[1]", [1]),
        ("reference", {}, "some-id", "some-id"),
        ("reference", {}, '{"?": {"type": "t.A"}}', {"?": {"type": "t.A"}}),
        ("reference", {}, "{broken", "{broken"),
    ],
)
def test_read(kind: Kind, more: dict[str, Any], text: str, value: Any) -> None:
    found = read(field(kind, **more), text)
    assert found is value if value is ABSENT else same(found, value) and type(found) is type(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=examples(200), deadline=None)
@given(JSON)
def test_what_is_shown_is_read_again(value: Any) -> None:
    assert same(read(field("json", nullable=True), shown(field("json"), value)), value)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers())
def test_integers_too(value: int) -> None:
    assert read(field("integer"), shown(field("integer"), value)) == value


def test_secrets_are_not_shown() -> None:
    assert shown(field("string", secret=True), "pw") == ""


LIMITS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([0.5, -1.5]))


@settings(max_examples=examples(300), deadline=None)
@given(LIMITS, LIMITS, LIMITS, LIMITS, st.integers(-6, 6))
def test_native_limits_of_integers_are_those_of_the_rules(a: Any, b: Any, c: Any, d: Any, value: int) -> None:
    limits = {"minimum": a, "maximum": b, "exclusiveMinimum": c, "exclusiveMaximum": d}
    limits = {keyword: limit for keyword, limit in limits.items() if limit is not None}
    made = field("integer", constraints=limits)
    attributes = html_attributes(made)
    native = int(attributes.get("min", -99)) <= value <= int(attributes.get("max", 99))
    assert native == (not list(evaluate(field_schema(made), value)))
    assert attributes["step"] == "1"


def test_native_limits_of_numbers_and_required() -> None:
    made = field("number", required=True, constraints={"minimum": 0.5, "exclusiveMaximum": 2})
    assert html_attributes(made) == {"required": "", "step": "any", "min": "0.5", "max": "2"}
    assert html_attributes(field("boolean", required=True)) == {}
    assert html_attributes(field("string", placeholder="$.name")) == {"placeholder": "$.name"}
