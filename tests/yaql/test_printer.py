from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings

from tests.support.fuzzing import examples
from tests.yaql.strategies import expressions
from vetro.yaql import ast
from vetro.yaql.parser import LEGACY, MURANO, MURANO_LEGACY, STANDARD, ParserDialect, parse
from vetro.yaql.printer import to_call_form, to_text

DELEGATES = ParserDialect(delegates=True)
NOWHERE = ast.Span(0, 0)


def bare_of_spans(node: ast.Node) -> ast.Node:
    """The same tree with all spans alike, so that trees of different texts compare."""
    changes: dict[str, object] = {"span": NOWHERE}
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, ast.Node):
            changes[field.name] = bare_of_spans(value)
        elif isinstance(value, tuple):
            changes[field.name] = tuple(bare_of_spans(item) for item in value)
    return dataclasses.replace(node, **changes)  # type: ignore[arg-type]


def assert_round_trip(text: str, dialect: ParserDialect = STANDARD) -> str:
    tree = parse(text, dialect)
    printed = to_text(tree)
    again = parse(printed, dialect)
    assert bare_of_spans(again) == bare_of_spans(tree), printed
    assert to_text(again) == printed
    return printed


@pytest.mark.parametrize(
    "text",
    [
        # As few parentheses as possible: each of these prints as it stands.
        *("$.a.b(1, , x => 2)[0]?.c", "-a.b", "(-a).b", "a.-b.c", "(a.-b).c", "a.(b)", "a.(f())", "a.b", "a.f()"),
        *("1 - 2 - 3", "1 - (2 - 3)", "a -> b -> c", "(a -> b) -> c", "1 + 2 * 3", "(1 + 2) * 3", "1 * -2"),
        *("not a = b", "(not a) = b", "1 * not 2", "(1 * not 2) + 3", "1 + not 2 * 3", "-not a", "--a", "-+1"),
        *("not (a and b)", "not a and b", "a and not b", "(1 + -a)[0]", "(a.-b)[0]", "1 .5", "1.5 .5", "1.(a)", "1.a"),
        *("f()", "f(, 1)", "f(a, b => c)", "[]", "[1, [2]]", "{}", "{a => 1, 'b' => {c => 2}}", "(a + b)[1, 2]"),
        *("(a -> b).c", "a.(b[0])", "x.true", "x.'a'", "a.(b.c)", "a = b = c"),
        *("'it\\'s'", "'a\\\\b\\n\\r\\t'", "'\\x00\\x85\\u2028\\ud800é😀'", "true", "null", "0.1", "7"),
    ],
)
def test_texts_that_print_as_they_are(text: str) -> None:
    assert assert_round_trip(text) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("((a))", "a"),
        ("(a.b).c", "a.b.c"),
        ("(a * b) + (c)", "a * b + c"),
        ("a + (-b)", "a + -b"),
        ("1*(not 2)+3", "(1 * not 2) + 3"),
        ("a->(b->c)", "a -> b -> c"),
        ('"a\'b"', "'a\\'b'"),
        ("`\\d`", "'\\\\d'"),
        ("$1", "$"),
        ("1.50", "1.5"),
        ("0.00000001", "0.00000001"),
        ("100000000000000000000000.0", "100000000000000000000000.0"),
        ("9" * 400 + ".5", "1" + "0" * 309 + ".0"),
    ],
)
def test_texts_that_print_shorter(text: str, printed: str) -> None:
    assert assert_round_trip(text) == printed


@pytest.mark.parametrize("text", ["p:C.m()", ":C.f(x => p:D)", ":(C.f())", ":C[0]", ":(C[0])", "a.b:c", "(a.b):c"])
def test_murano_texts(text: str) -> None:
    assert assert_round_trip(text, MURANO) == text


@pytest.mark.parametrize("text", ["a => b => c", "a => (b => c)", "f(a => 1, , 2)", "a or b => c", "(a => b) or c"])
def test_legacy_texts(text: str) -> None:
    assert assert_round_trip(text, LEGACY) == text


@pytest.mark.parametrize(
    "text", ["$f(1)", "$f(1)(2)", "(foo)(1)", "(true)(1)", "f(1)(2)", "(-$f)(1)", "-$f(1)", "$.a(1)(2)"]
)
def test_delegate_texts(text: str) -> None:
    assert assert_round_trip(text, DELEGATES) == text


def test_call_form() -> None:
    assert to_call_form(parse("$.a + 1")) == "#operator_+(#operator_.($, 'a'), 1)"
    assert to_call_form(parse("[1, x][0]?.f(null, true, k => 'v')")) == (
        "#operator_?.(#indexer(#list(1, 'x'), 0), f(None, True, 'k' => 'v'))"
    )


def test_depth_costs_no_python_frames() -> None:
    for text in ("1" + " + 1" * 1990, "$" + ".a" * 1990, "-" * 399 + "1", "[" * 400 + "]" * 400):
        assert to_text(parse(text)) == text
        assert to_call_form(parse(text)).count("(") >= 399


@pytest.mark.parametrize("value", [-1, -0.5, float("nan"), float("-inf")])
def test_constants_without_a_text(value: float) -> None:
    with pytest.raises(ValueError, match="no expression is the number"):
        to_text(ast.Constant(span=NOWHERE, value=value))


@settings(max_examples=examples(150), deadline=None)
@given(expressions())
def test_round_trip(text: str) -> None:
    assert_round_trip(text)


@settings(max_examples=examples(150), deadline=None)
@given(expressions(legacy=True, murano=True))
def test_round_trip_of_both_additions(text: str) -> None:
    assert_round_trip(text, MURANO_LEGACY)


@settings(max_examples=examples(100), deadline=None)
@given(expressions(murano=True, delegates=True))
def test_round_trip_with_delegates(text: str) -> None:
    assert_round_trip(text, ParserDialect(murano=True, delegates=True))
