"""JSON Schema of classes and methods; the recorded cases run through the whole engine in the conformance suite."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from tests.muranopl.fakes import FakeWorld, main_class
from vetro.muranopl.errors import ClassNotFound, ContractSyntax
from vetro.muranopl.schema import DRAFT_04, class_schemas
from vetro.muranopl.schema_hints import Hint, form_sections


def world(main: str, **classes: str) -> FakeWorld:
    texts = {"t.Main": main_class(main)} | {f"t.{name}": text for name, text in classes.items()}
    return FakeWorld([{"name": "t", "version": "2.1.0", "require": {"lib": ">=1.2,<2"}, "classes": texts}])


def schemas(main: str, methods: Any = None, **classes: str) -> dict[str, Any]:
    made = world(main, **classes)
    found = class_schemas(made.find("t.Main"), methods, hints=made.hints, evaluate=made.evaluate)
    for schema in found.values():
        assert schema["$schema"] == DRAFT_04 and schema["type"] == "object"
    return found


def fields(main: str, **classes: str) -> dict[str, Any]:
    properties: dict[str, Any] = schemas(main, [""], **classes)[""]["properties"]
    return properties


def field(contract: str, default: str = "", **classes: str) -> Any:
    text = f"Properties:\n  a:\n    Contract: {contract}\n"
    return fields(text + (f"    Default: {default}\n" if default else ""), **classes)["a"]


ITEM = "Name: t.Item\nProperties: {port: {Contract: $.int()}}\n"


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        ("$", {}),
        ("$.notNull()", {}),
        ("$.int()", {"type": ["integer", "null"]}),
        ("$.string().notNull()", {"type": "string"}),
        ("$.notNull().bool()", {"type": "boolean"}),
        ("$.check($ > 1).int()", {"type": ["integer", "null"], "minimum": 1, "exclusiveMinimum": True}),
        ("$.string().toUpper().check($ = A)", {"type": ["string", "null"]}),
        ("$.int() or 5", {"type": ["integer", "null"]}),
        ("$.string().notNull() or x", {"type": "string"}),
        ("$this.x", {}),
        ("5", {"enum": [5]}),
        ("text", {"enum": ["text"]}),
        ("~", {"enum": [None]}),
        ("[]", {"type": "array"}),
        ("[$, 1, 3]", {"type": "array", "items": {}, "minItems": 1, "maxItems": 3}),
        ("{}", {"type": "object", "properties": {}, "additionalProperties": False}),
        ("{5: $}", {"type": "object", "properties": {"5": {}}, "additionalProperties": False}),
        ("{$.string(): $}", {"type": "object", "properties": {}, "additionalProperties": {}}),
    ],
)
def test_contracts(contract: str, expected: dict[str, Any]) -> None:
    assert field(contract) == expected


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        ("$.class(Item)", {"version": "2"}),
        ("$.class(:Item)", {"version": "2"}),
        ("$.class('t.Item')", {"version": "2"}),
        ("$.class(Item, Item, '>=3')", {"version": ">=3"}),
        ("$.class(name => Item, versionSpec => '1')", {"version": "1"}),
        ("$.class(Item).owned()", {"version": "2", "owned": True}),
        ("$.class(Item).notOwned()", {"version": "2", "owned": False}),
        ("$.template(Item)", {"version": "2", "owned": True}),
        ("$.class(Item).check($.port = 1)", {"version": "2", "context": {"properties": {"port": {"enum": [1]}}}}),
        ("$.check($.port = 1).class(Item)", {"version": "2", "context": {"properties": {"port": {"enum": [1]}}}}),
    ],
)
def test_object_contracts(contract: str, expected: dict[str, Any]) -> None:
    found = field(f'!yaql "{contract}"', Item=ITEM)
    assert found == {"type": ["muranoObject", "null"], "muranoType": "t.Item", **expected}


def test_excluded_properties_and_other_packages() -> None:
    text = "{Contract: !yaql \"$.template(Item, excludeProperties => ['a.b', port])\"}"
    assert fields(f"Properties: {{a: {text}}}", Item=ITEM)["a"]["excludedProperties"] == ["a.b", "port"]
    assert field("$.class(std:Application).notNull()") == {
        "type": "muranoObject",
        "muranoType": "io.murano.Application",
        "version": "0",
    }


def test_context_needs_an_object() -> None:
    assert field("$.check($.port = 1)") == {}


def test_errors_of_contracts() -> None:
    with pytest.raises(ClassNotFound):
        field("$.class(Nobody)")
    with pytest.raises(ContractSyntax):
        field("$.class($x)")
    with pytest.raises(ContractSyntax):
        field("{$.string(): $, $.int(): $}")


@pytest.mark.parametrize(
    ("default", "expected"),
    [("5", 5), ("~", None), ("[1, {a: b}]", [1, {"a": "b"}]), ("2 * 3", 6), ("$.other", ...), ("[$x]", ...)],
)
def test_defaults(default: str, expected: Any) -> None:
    assert field("$", default) == ({} if expected is ... else {"default": expected})


def test_only_properties_that_people_fill_in_are_shown() -> None:
    usages = ["In", "Out", "InOut", "Const", "Runtime", "Static", "Config"]
    lines = "".join(f"  {usage}: {{Contract: $, Usage: {usage}}}\n" for usage in usages)
    assert list(fields("Properties:\n" + lines)) == ["In", "InOut"]


METHODS = """
Methods:
  act: {Usage: Action, Arguments: [{n: {Contract: $.int()}}]}
  open: {Scope: Public, Arguments: [{a: {Contract: $}}, {r: {Contract: $, Usage: VarArgs}},
    {k: {Contract: $.int(), Usage: KwArgs}}]}
  closed:
  initialize: {Scope: Public}
  make:
    Usage: Static
    Scope: Public
    Meta: io.murano.metadata.ModelBuilder
    Arguments: [{model: {Contract: {}}}, {n: {Contract: $}}]
  extend: {Usage: Extension, Scope: Public, Meta: io.murano.metadata.ModelBuilder}
"""


def test_named_methods() -> None:
    found = schemas(METHODS, ["act", "open", "make", "closed", "nobody", ".init", "initialize"])
    assert list(found) == ["act", "open", "make"]
    assert list(found["act"]["properties"]) == ["n"]
    assert list(found["make"]["properties"]) == ["n"]
    assert list(found["open"]["properties"]) == ["a"]
    assert found["open"]["additionalProperties"] == {"type": ["integer", "null"]}
    assert list(schemas(METHODS)) == ["", "make"]
    assert schemas(METHODS, []) == {}


def test_made_schemas_are_valid_draft_04() -> None:
    found = schemas("Properties: {a: {Contract: [$.int().check($ > 1 and $ < 5), 1, 2], Default: [2]}}\n" + METHODS)
    for schema in found.values():
        jsonschema.Draft4Validator.check_schema(schema)
    assert jsonschema.Draft4Validator(found[""]).is_valid({"a": [2, 3]})
    assert not jsonschema.Draft4Validator(found[""]).is_valid({"a": [5]})


def test_meta_of_an_overridden_property_is_handed_down() -> None:
    base = "Name: t.Base\nProperties: {a: {Contract: $, Meta: {io.murano.metadata.Title: {text: T}}}}\n"
    assert fields("Extends: Base\nProperties: {a: {Contract: $}}\n", Base=base)["a"] == {"title": "T"}


def test_sections_without_index_carry_a_title_only() -> None:
    section = "io.murano.metadata.forms.Section"
    hints = [
        Hint(section, {"name": "b", "title": None, "index": 7}),
        Hint(section, {"name": "a", "title": "A", "index": None}),
        Hint(section, {"name": "c", "title": "C", "index": 2}),
        Hint("x.Other", {"name": "d"}),
    ]
    assert form_sections(hints, lambda index, declaring: index) == {
        "a": {"title": "A"},
        "b": {"title": "b", "index": 1},
        "c": {"title": "C", "index": 0},
    }
