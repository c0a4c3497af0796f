"""Published schemas: valid draft 2020-12 for validators that know nothing of us, and a described vocabulary."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

from tests.forms.world import describer
from vetro.forms.check import compiled
from vetro.forms.model import Choice, Field, Form, Page, Section
from vetro.forms.vocabulary import META_SCHEMA, VOCABULARY, meta_schema, to_json_schema, vocabulary_schema

SHOP = describer().of("t.Shop")
assert SHOP is not None
SCHEMA: Any = SHOP.form.schema


def test_the_schema_of_a_class_is_valid_2020_12() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_our_words_are_as_the_vocabulary_says() -> None:
    jsonschema.Draft202012Validator.check_schema(vocabulary_schema())
    own = Resource.from_contents(vocabulary_schema())
    registry: Any = Registry().with_resource(VOCABULARY, own)
    vocabulary = jsonschema.Draft202012Validator(vocabulary_schema(), registry=registry)
    for part in [SCHEMA, *SCHEMA["properties"].values()]:
        vocabulary.validate(part)
    with pytest.raises(jsonschema.ValidationError):
        vocabulary.validate({"secret": "yes"})


def test_every_word_is_described() -> None:
    known = set(vocabulary_schema()["properties"])
    standard = set(jsonschema.Draft202012Validator.VALIDATORS) | {
        "$schema", "title", "description", "default", "readOnly",
    }  # fmt: skip

    def words(schema: Any) -> set[str]:
        found = set(schema) if isinstance(schema, dict) else set()
        for key in ("items", "additionalProperties", "propertyNames"):
            found |= words(schema.get(key)) if isinstance(schema, dict) else set()
        if isinstance(schema, dict):
            for part in [*schema.get("anyOf", ()), *schema.get("allOf", ()), *schema.get("properties", {}).values()]:
                found |= words(part)
        return found

    assert words(SCHEMA) - standard <= known


def test_the_meta_schema_names_the_vocabulary_as_optional() -> None:
    meta = meta_schema()
    assert meta["$id"] == META_SCHEMA
    assert meta["$vocabulary"][VOCABULARY] is False
    jsonschema.Draft202012Validator.check_schema(meta)


def test_a_secret_is_a_value_or_the_marker() -> None:
    password = compiled(SCHEMA["properties"]["token"])
    assert password.is_valid({"user": "x"})
    assert password.is_valid({"secret": "kept", "at": "/token"})
    assert not password.is_valid({"secret": "other"})


def test_forms_of_definitions_have_a_schema_too() -> None:
    fields = (
        Field("size", "integer", "Size", required=True, constraints={"minimum": 1}, help="how many"),
        Field("zone", "choice", "Zone", choices=(Choice("a", "Zone A"), Choice("b", "Zone B", disabled=True))),
        Field("net", "choice", "Network", choices_source="networks"),
        Field("off", "string", "Off", required=True, enabled=False, visible=False),
    )
    schema = to_json_schema(Form("F", "definition", (Page("p", "P", (Section("s", "S", fields=fields),)),), help="h"))
    assert schema["required"] == ["size"]
    properties = schema["properties"]
    assert properties["size"] == {"type": "integer", "minimum": 1, "title": "Size", "helpText": "how many",
                                  "formIndex": 0, "formSection": "s"}  # fmt: skip
    assert properties["zone"]["enum"] == ["a"] and properties["zone"]["choiceLabels"] == ["Zone A"]
    assert "enum" not in properties["net"] and properties["net"]["choicesSource"] == "networks"
    assert properties["off"]["visible"] is False
    assert schema["formSections"] == {"s": {"title": "S", "index": 0}}
    assert "?" not in properties
