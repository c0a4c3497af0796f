"""The steps of a contract's expression, and what can be told of it without running it."""

from __future__ import annotations

import pytest

from vetro.muranopl.contracts.model import (
    STEP_NAMES,
    Chain,
    Check,
    ContractExpression,
    Convert,
    NotNull,
    OfClass,
    OtherMethod,
    Owner,
    StepName,
    object_calls,
)
from vetro.muranopl.contracts.resolver import chain_of, class_name_of, qualified_name
from vetro.muranopl.contracts.words import text_of
from vetro.muranopl.declarations.storage import decode, encode
from vetro.muranopl.declarations.tree import SourceFile
from vetro.muranopl.reader.files import read_file
from vetro.yaql import ast
from vetro.yaql.parser import MURANO, parse


def chain(text: str) -> Chain | None:
    return chain_of(parse(text, MURANO))


def steps(text: str) -> list[tuple[type, bool]]:
    found = chain(text)
    assert found is not None
    return [(type(step), step.sound) for step in found.steps]


def test_steps_in_order() -> None:
    assert steps("$.int().notNull().check($ > 0)") == [(Convert, True), (NotNull, True), (Check, True)]
    assert steps("$.class(C).owned()") == [(OfClass, True), (Owner, True)]
    assert steps("$") == []


def test_every_name_has_a_step() -> None:
    for name in STEP_NAMES:
        assert steps(f"$.{name}()")[0][0] is not OtherMethod
    assert steps("$.toUpper()") == [(OtherMethod, False)]


@pytest.mark.parametrize("text", ["5 + $", "len($)", "$.a.int()", "$this.int()", "int($)", "not $"])
def test_other_expressions_are_no_chain(text: str) -> None:
    assert chain(text) is None


def test_alternatives_and_safe_calls_are_not_straight() -> None:
    known = chain("$.int().notNull() or 5 or 6")
    assert known is not None
    assert known.alternative and not known.straight and not known.plain
    assert not known.nullable and known.kind is StepName.INT
    known = chain("$?.int()")
    assert known is not None
    assert known.safe and not known.plain


@pytest.mark.parametrize(
    "text",
    ["$.int(5)", "$.notNull(1)", "$.check()", "$.check($ > 1, a, b)", "$.check(predicate => $ > 1)", "$.owned(1)",
     "$.class()", "$.class($.x)", "$.class(C, D, '1', [a])", "$.class(C,, '1')", "$.class(C, color => 1)",
     "$.template(C, excludeProperties => $.names)", "$.class(C, versionSpec => $.v)", "$.int().size()"],
)  # fmt: skip
def test_unsound_arguments_are_left_to_the_run(text: str) -> None:
    found = chain(text)
    assert found is not None
    assert not found.plain


def test_arguments_of_object_steps() -> None:
    found = chain("$.template(p:C, :D, '>1.0', excludeProperties => [a, b])")
    assert found is not None and found.plain
    (step,) = found.steps
    assert isinstance(step, OfClass)
    assert (step.template, step.name, step.default, step.version_spec) == (True, "p:C", ":D", ">1.0")
    assert isinstance(step.excluded, ast.ListDisplay)
    assert found.kind is StepName.CLASS


def test_predicate_and_message_by_position_or_name() -> None:
    for text in ("$.check($ > 1, no)", "$.check(msg => no, predicate => $ > 1)"):
        found = chain(text)
        assert found is not None
        (step,) = found.steps
        assert isinstance(step, Check)
        assert isinstance(step.predicate, ast.Binary)
        assert isinstance(step.message, ast.Constant)


def test_names_of_classes() -> None:
    names = ["C", "'a.b.C'", ":C", "p:C", "$.x", "5"]
    assert [class_name_of(parse(text, MURANO)) for text in names] == ["C", "a.b.C", ":C", "p:C", None, None]
    assert [qualified_name(parse(text, MURANO)) for text in names] == [None, None, ":C", "p:C", None, None]


CLASS = """
Name: t.A
Properties:
  a: {Contract: $.int().notNull()}
  b: {Contract: {$.string(): [$.class(B), 1, 2], x: $.int() or 5}}
  c: {Contract: !yaql '[1, 2].any($.class(C) = 5)'}
"""


def read() -> SourceFile:
    return read_file(CLASS, "A.yaml", format_version=(1, 4), default_name="t.A")


def test_stored_contracts_have_the_same_steps() -> None:
    source = read()
    again = decode(encode(source), "A.yaml", "digest", read)
    for name, prop in source.classes["t.A"].properties.items():
        stored = again.classes["t.A"].properties[name].contract
        assert text_of(stored) == text_of(prop.contract)
        if isinstance(prop.contract, ContractExpression):
            assert isinstance(stored, ContractExpression)
            assert stored.chain == prop.contract.chain


def test_contracts_in_words_and_the_classes_they_mention() -> None:
    properties = read().classes["t.A"].properties
    words = {name: text_of(prop.contract) for name, prop in properties.items()}
    assert words == {
        "a": "$.int().notNull()",
        "b": "{x: $.int() or 5, $.string(): [$.class(B), 1, 2]}",
        "c": "[1, 2].any($.class(C) = 5)",
    }
    found = {name: [class_name_of(c.args[0]) for _, c in object_calls(p.contract)] for name, p in properties.items()}
    assert found == {"a": [], "b": ["B"], "c": ["C"]}
