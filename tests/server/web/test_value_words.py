"""Contracts in words, as the page of an application tells them."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils.translation import override

from vetro.server.web.value_words import of_field, of_schema, of_value


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string", "minLength": 3}, "text, at least 3 characters"),
        ({"type": ["string", "null"], "maxLength": 1}, "text, at most 1 character, may be left empty"),
        ({"type": "integer", "minimum": 1, "maximum": 10}, "a whole number, from 1 to 10"),
        ({"type": ["integer", "string"]}, "a whole number or text"),
        ({"type": "string", "enum": ["small", "large"]}, "one of: small, large"),
        ({"type": "string", "allOf": [{"pattern": "^a$", "message": "small letters"}]}, "text, small letters"),
        ({"type": "string", "pattern": "^a$"}, "text, in a certain form"),
        (
            {"type": "array", "items": {"type": "integer"}, "minItems": 2},
            "a list of: a whole number, at least 2 of them",
        ),
        ({"type": "object", "properties": {"hour": {}, "days": {}}}, "a group of values: hour, days"),
        ({"muranoType": "com.example.WebServer", "owned": False}, "another application: WebServer"),
        ({"muranoType": "io.murano.Application"}, "another application"),
        ({"serverChecks": True}, ""),
        ({"type": {"no": "list"}, "enum": "no list", "minimum": "1"}, ""),
        ("no schema", ""),
    ],
)
def test_a_schema_in_words(schema: Any, words: str) -> None:
    assert of_schema(schema) == words


def test_fields_and_values_in_words() -> None:
    assert of_field("password", []) == "a password"
    assert of_field("string", ["a", "b"]) == "one of: a, b"
    assert of_field("io.murano.apps.Database", []) == "another application: Database"
    assert of_field("$.some(expression)", []) == ""
    assert [of_value(value) for value in (True, 3, "x", None, [1], {})] == ["yes", "3", "x", "", "", ""]
    nested: Any = {"type": "integer"}
    for _ in range(100):
        nested = {"type": "array", "items": nested}
    assert len(of_schema(nested)) < 200
    with override("de"):
        assert of_schema({"type": "string", "minLength": 3}) == "Text, mindestens 3 Zeichen"
