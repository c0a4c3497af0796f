"""Schemas of forms: exact where JSON Schema can be. That contracts agree is tested in tests/forms/test_agreement.py."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from vetro.muranopl import Engine
from vetro.muranopl.schemas import class_schemas
from vetro.packages.memory import memory_package

HEAD = "Namespaces: {=: t, forms: io.murano.metadata.forms, m: io.murano.metadata}\n"
ITEM = HEAD + "Name: Item\nProperties: {port: {Contract: $.int()}, item: {Contract: $.class(Item)}}\n"


def schemas(main: str, methods: Any = None, configs: Any = None, **classes: str) -> dict[str, Any]:
    texts = {"t.Main": HEAD + "Name: Main\n" + main, "t.Item": ITEM}
    texts |= {f"t.{name}": HEAD + text for name, text in classes.items()}
    package = memory_package({"name": "t", "version": "2.1.0", "format": "1.4", "classes": texts})
    session = Engine([package], configs=configs).session()
    type_ = session.types.find("t.Main", ">=0")
    return session.run(lambda: class_schemas(session, type_, methods, form=True))


def field(contract: str, more: str = "") -> Any:
    text = f"Properties:\n  a:\n    Contract: {contract}\n{more}"
    return schemas(text)[""]["properties"]["a"]


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        ("$", {}),
        ("$.notNull()", {"type": ["string", "number", "boolean", "array", "object"]}),
        ("$.int()", {"type": ["integer", "null"]}),
        ("$.int().check($ > 1)", {"type": "integer", "exclusiveMinimum": 1}),
        ("$.int().check($ < 1)", {"type": ["integer", "null"], "exclusiveMaximum": 1}),
        ("$.int().check(1 < $)", {"type": "integer", "exclusiveMinimum": 1}),
        ("$.int().check($ = null or $ > 1)", {"type": ["integer", "null"], "exclusiveMinimum": 1}),
        ("$.int().check($ > 1 and $ > 3)", {"type": "integer", "exclusiveMinimum": 1,
                                            "allOf": [{"exclusiveMinimum": 3}]}),
        ("$.string().check(len($) > 1)", {"type": "string", "minLength": 2}),
        ("$.string().check($.matches(a), no)", {"type": "string", "allOf": [{"pattern": "a", "message": "no"}]}),
        ("$.string().check($ in [a, b])", {"type": "string", "enum": ["a", "b"]}),
        ("$.string().check($ in [a, null])", {"type": ["string", "null"], "enum": ["a", None]}),
        ("$.string().check($.startsWith(a))", {"type": "string", "serverChecks": True}),
        ("$.string().check(not $)", {"type": ["string", "null"], "serverChecks": True}),
        ("$.string().check($this.b)", {"type": ["string", "null"], "serverChecks": True}),
        ("$.string().check($ > 1)", {"type": "string", "exclusiveMinimum": 1, "serverChecks": True}),
        ("$.check(len($) > 1)", {"type": ["string", "number", "boolean", "array", "object"], "minLength": 2,
                                 "serverChecks": True}),
        ("$.string().toUpper()", {"type": ["string", "null"], "serverChecks": True}),
        ("$.int() or 5", {"type": ["integer", "null"], "serverChecks": True, "default": 5}),
        ("$.string().notNull() or null or a", {"type": "string", "serverChecks": True}),
        ("[$.int(), 1, 3]", {"type": "array", "items": {"type": ["integer", "null"]}, "minItems": 1, "maxItems": 3}),
        ("[$.int().check($ > 1), $.string()]", {"type": "array", "prefixItems": [
            {"type": "integer", "exclusiveMinimum": 1}, {"type": ["string", "null"]}],
            "items": {"type": ["string", "null"]}}),
        ("{}", {"type": "object", "properties": {}, "additionalProperties": True}),
        ("{a: $.int()}", {"type": "object", "properties": {"a": {"type": ["integer", "null"]}},
                          "additionalProperties": False}),
        ("{a: $.int().notNull()}", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
                                    "additionalProperties": False}),
        ("{a: [$, 1]}", {"type": "object", "properties": {"a": {"type": "array", "items": {}, "minItems": 1}},
                         "required": ["a"], "additionalProperties": False}),
        ("{$.string().check($.matches(a)): $}", {"type": "object", "properties": {}, "additionalProperties": {},
                                                 "propertyNames": {"pattern": "a"}}),
        ("{$.int(): $}", {"type": "object", "properties": {}, "additionalProperties": {}, "serverChecks": True}),
        ("$.class(Item).check($.port > 1)", {"type": "muranoObject", "muranoType": "t.Item", "version": "2",
                                             "context": {"properties": {"port": {"exclusiveMinimum": 1}}},
                                             "serverChecks": True}),
        ("$.class(Item).check($ = null or $.port > 1)", {"type": ["muranoObject", "null"], "muranoType": "t.Item",
            "version": "2", "context": {"properties": {"port": {"exclusiveMinimum": 1}}}, "serverChecks": True}),
        ("$.template(Item).notNull()", {"type": "muranoObject", "muranoType": "t.Item", "version": "2", "owned": True,
                                        "template": True}),
    ],
)  # fmt: skip
def test_contracts(contract: str, expected: dict[str, Any]) -> None:
    assert field(contract) == expected


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        ("5", {"default": 5}),
        ("null", {"default": None}),
        ("$.b", {"defaultExpression": "$.b"}),
        ("{x: $.b}", {"defaultExpression": ""}),
    ],
)
def test_defaults(default: str, expected: dict[str, Any]) -> None:
    found = field("$", f"    Default: {default}\n  b: {{Contract: $, Default: 1}}\n")
    assert found == expected


def test_class_configuration_is_the_default() -> None:
    configs = [{"class": "t.Main", "version": "2.1.0", "values": {"a": 7, "b": 8}}]
    text = "Properties:\n  a: {Contract: $.int(), Default: 1}\n  b: {Contract: $.int(), Default: $.a}\n"
    properties = schemas(text, configs=configs)[""]["properties"]
    assert properties["a"]["default"] == 7
    assert properties["b"] == {"type": ["integer", "null"], "default": 8}


def test_const_is_shown_and_out_is_not() -> None:
    text = "Properties:\n" + "".join(
        f"  {usage.lower()}: {{Contract: $, Usage: {usage}}}\n" for usage in ("In", "InOut", "Const", "Out", "Runtime")
    )
    assert schemas(text)[""]["properties"] == {"in": {}, "inout": {}, "const": {"usage": "Const"}}


def test_every_declaration_of_a_property_counts() -> None:
    base = "Name: Base\nProperties: {a: {Contract: $.int().notNull().check($ > 2), Default: 5}}\n"
    found = schemas("Extends: Base\nProperties: {a: {Contract: $.int()}}\n", Base=base)[""]["properties"]["a"]
    assert found == {"type": ["integer", "null"], "allOf": [{"type": "integer", "exclusiveMinimum": 2}]}


def test_a_redeclaration_hands_on_what_cannot_be_translated() -> None:
    base = "Name: Base\nProperties: {a: {Contract: $.string().check($.startsWith(a))}}\n"
    found = schemas("Extends: Base\nProperties: {a: {Contract: $.string().notNull()}}\n", Base=base)
    assert found[""]["properties"]["a"] == {"type": "string", "serverChecks": True}


def test_the_class_tells_of_itself() -> None:
    about = schemas("Extends: Item\n")[""]["muranoClass"]
    assert (about["name"], about["version"], about["package"]) == ("t.Main", "2.1.0", "t")
    assert [name for name, _ in about["ancestors"]] == ["t.Main", "t.Item", "io.murano.Object"]


def test_secrets_widgets_and_levels() -> None:
    text = """Properties:
  a: {Contract: $, Meta: {forms:Secret: {}}}
  b: {Contract: $, Meta: {forms:Secret: {secret: false}}}
  c: {Contract: $, Meta: {forms:Control: {widget: textarea, level: advanced}}}
  d: {Contract: $, Meta: {forms:Control: {}}}
"""
    properties = schemas(text)[""]["properties"]
    assert properties == {"a": {"secret": True}, "b": {}, "c": {"widget": "textarea", "level": "advanced"}, "d": {}}


def test_schemas_of_the_v1_api_know_nothing_of_these() -> None:
    main = HEAD + "Name: Main\nProperties: {a: {Contract: $.int().check($ > 1), Meta: {forms:Secret: {}}}}\n"
    package = memory_package({"name": "t", "version": "1.0.0", "format": "1.4", "classes": {"t.Main": main}})
    session = Engine([package]).session()
    assert session.schema("t.Main", "1")[""] == {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {"a": {"type": ["integer", "null"], "minimum": 1, "exclusiveMinimum": True}},
        "additionalProperties": False,
        "formSections": {},
    }


def test_methods() -> None:
    text = """Methods:
  go:
    Scope: Public
    Arguments:
      - a: {Contract: $.string().check($.matches(x))}
  make:
    Usage: Static
    Scope: Public
    Meta: {m:ModelBuilder: {}}
    Arguments:
      - model: {Contract: {}}
      - b: {Contract: $.int(), Default: 1}
"""
    found = schemas(text, ["go", "make"])
    assert found["go"]["properties"] == {"a": {"type": "string", "pattern": "x"}}
    about = {"name": "make", "class": "t.Main", "version": "2.1.0", "package": "t", "static": True, "builder": True}
    assert found["make"]["muranoMethod"] == {**about, "model": "model"}
    assert found["make"]["properties"] == {"b": {"type": ["integer", "null"], "default": 1}}
    assert not found["go"]["muranoMethod"]["static"]


def test_plain_fields_are_valid_2020_12() -> None:
    contract = "{a: [$.int().check($ > 1), $.string().check($.matches(a)), 1], $.string(): $.notNull()}"
    jsonschema.Draft202012Validator.check_schema(field(contract))
