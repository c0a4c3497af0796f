"""Draft-04 schemas and their draft 2020-12 form accept the same values."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.muranopl.schema import DRAFT_04
from vetro.muranopl.schema_draft import DRAFT_2020_12, to_2020_12

SCHEMA: dict[str, Any] = {
    "$schema": DRAFT_04,
    "type": "object",
    "properties": {
        "minimum": {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "maximum": 4, "exclusiveMaximum": False},
        "items": {
            "type": "array",
            "items": [{"type": "integer"}, {"type": "string"}],
            "additionalItems": {"type": "string"},
        },
        "list": {"type": "array", "items": {"minimum": 0, "exclusiveMinimum": True}, "minItems": 1},
        "text": {"pattern": "a", "allOf": [{"pattern": "b"}], "default": {"minimum": 1}},
        "map": {"type": "object", "properties": {}, "additionalProperties": {"maximum": 3, "exclusiveMaximum": True}},
    },
    "additionalProperties": False,
    "formSections": {"minimum": {"title": "x"}},
}


def test_keywords() -> None:
    before = copy.deepcopy(SCHEMA)
    found = to_2020_12(SCHEMA)
    assert before == SCHEMA
    jsonschema.Draft202012Validator.check_schema(found)
    properties = found["properties"]
    assert found["$schema"] == DRAFT_2020_12
    assert properties["minimum"] == {"type": "integer", "exclusiveMinimum": 1, "maximum": 4}
    assert properties["items"]["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert properties["items"]["items"] == {"type": "string"}
    assert properties["text"]["default"] == {"minimum": 1}
    assert found["formSections"] == {"minimum": {"title": "x"}}


def test_context_is_a_schema() -> None:
    schema = {"type": "muranoObject", "context": {"properties": {"a": {"minimum": 1, "exclusiveMinimum": True}}}}
    assert to_2020_12(schema)["context"] == {"properties": {"a": {"exclusiveMinimum": 1}}}


_VALUES = st.one_of(
    st.integers(-1, 5), st.text("ab", max_size=2), st.lists(st.integers(-1, 1) | st.text("a"), max_size=3)
)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["minimum", "items", "list", "text", "map", "other"]),
        _VALUES | st.dictionaries(st.text("ab", max_size=1), st.integers(1, 4)),
    )
)
def test_both_accept_the_same(value: dict[str, Any]) -> None:
    old, new = jsonschema.Draft4Validator(SCHEMA), jsonschema.Draft202012Validator(to_2020_12(SCHEMA))
    assert old.is_valid(value) == new.is_valid(value)


@pytest.mark.parametrize(
    "value", [{"minimum": 2}, {"items": [1, "a", "b"]}, {"list": [1]}, {"text": "ab"}, {"map": {"x": 2}}]
)
def test_examples_that_fit(value: dict[str, Any]) -> None:
    assert jsonschema.Draft4Validator(SCHEMA).is_valid(value)
