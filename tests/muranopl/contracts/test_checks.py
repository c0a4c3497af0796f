"""Predicates of ``check()`` as schema keywords; a schema may accept more than the contract, never less."""

from __future__ import annotations

import operator
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.muranopl.contracts.checks import CheckTranslator, fold, is_plain, is_value, subject_of
from vetro.yaql import ast
from vetro.yaql.errors import NoMatchingFunction
from vetro.yaql.parser import MURANO, parse
from vetro.yaql.values import FDict, FSet


def no_values(node: ast.Node) -> Any:
    raise NoMatchingFunction("nothing is evaluated here")


def translate(*predicates: str, evaluate: Any = no_values) -> CheckTranslator:
    translator = CheckTranslator(evaluate)
    for predicate in predicates:
        translator.add(parse(predicate, MURANO))
    return translator


def keywords(*predicates: str, evaluate: Any = no_values) -> dict[str, Any]:
    return translate(*predicates, evaluate=evaluate).keywords


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("$ > 1", {"minimum": 1, "exclusiveMinimum": True}),
        ("$ >= -1.5", {"minimum": -1.5, "exclusiveMinimum": False}),
        ("1 < $", {"minimum": 1, "exclusiveMinimum": True}),
        ("9 >= $", {"maximum": 9, "exclusiveMaximum": False}),
        ("$ = 5", {"enum": [5]}),
        ("x = $", {"enum": ["x"]}),
        ("$ = null", {"enum": [None]}),
        ("$ in [a, 'b', 3]", {"enum": ["a", "b", 3]}),
        ("$ in list(a, b)", {"enum": ["a", "b"]}),
        ("len($) > 3", {"minLength": 4}),
        ("len($) >= 3", {"minLength": 3}),
        ("len($) < 3", {"maxLength": 2}),
        ("3 >= $.len()", {"maxLength": 3}),
        ("len($) = 3", {"minLength": 3, "maxLength": 3}),
        ("len($) > 2.5", {"minLength": 3}),
        ("len($) >= -1", {"minLength": 0}),
        ("$.matches('^a')", {"pattern": "^a"}),
        ("matches($, '^a')", {"pattern": "^a"}),
        ("$ =~ '^a'", {"pattern": "^a"}),
        ("regex('^a').matches($)", {"pattern": "^a"}),
        ("$ = null or $ > 1", {"minimum": 1, "exclusiveMinimum": True}),
        (
            "$ = null or ($ >= 1 and $ < 4)",
            {"minimum": 1, "exclusiveMinimum": False, "maximum": 4, "exclusiveMaximum": True},
        ),
        ("$ = null or $ in [a, b]", {"enum": ["a", "b", None]}),
        ("$ = null or $ =~ '^a'", {"pattern": "^a"}),
        ("$ = null or (len($) > 1 and len($) < 5)", {"minLength": 2, "maxLength": 4}),
        ("$ > 1 or $ = null", {}),
        ("$ = 5 or $ > 7", {}),
        ("$.a = null or $ > 7", {}),
        ("$ = null or $.a > 7", {}),
    ],
)
def test_translations(predicate: str, expected: dict[str, Any]) -> None:
    assert keywords(predicate) == expected


@pytest.mark.parametrize(
    "predicate",
    [
        "$ > 1 or $ < 0",
        "not $ > 1",
        "$ != 1",
        "$ + 1 > 2",
        "$ > $",
        "1 > 2",
        "$ > x",
        "$ > null",
        "$ > true",
        "$ in 'abc'",
        "$ in {a => 1}",
        "$ in $.list",
        "$x > 1",
        "len($) > x",
        "len($) < 0",
        "len($) = 1.5",
        "len($) in [1]",
        "$ =~ 5",
        "$ !~ a",
        "$.startsWith(a)",
        "f($)",
        "$",
        "true",
    ],
)
def test_what_has_no_translation_is_left_out(predicate: str) -> None:
    found = translate(predicate)
    assert found.keywords == {} and found.context == {}


def test_every_part_of_a_conjunction_counts() -> None:
    assert keywords("$ > 0 and ($ < 100 and f($)) and $ in [1, 2]", "$ >= 5") == {
        "minimum": 5,
        "exclusiveMinimum": False,
        "maximum": 100,
        "exclusiveMaximum": True,
        "enum": [1, 2],
    }


def test_of_several_limits_the_stricter_stays() -> None:
    assert keywords("$ >= 5 and $ > 5 and $ >= 5 and $ > 4") == {"minimum": 5, "exclusiveMinimum": True}
    assert keywords("$ < 5 and $ <= 6") == {"maximum": 5, "exclusiveMaximum": True}
    assert keywords("len($) > 1 and len($) > 5 and len($) < 9 and len($) < 20") == {"minLength": 6, "maxLength": 8}
    assert keywords("$ in [a, b, c] and $ in [c, b]") == {"enum": ["b", "c"]}
    assert keywords("$ =~ a and $ =~ b and $ =~ a") == {"pattern": "a", "allOf": [{"pattern": "b"}]}


def test_properties_of_an_object() -> None:
    found = translate("$.a > 1 and $.b.c = x", "len($.name) > 2 and $.name.matches('^a') and $.b.d in [1]")
    assert found.keywords == {}
    assert found.context == {
        "properties": {
            "a": {"minimum": 1, "exclusiveMinimum": True},
            "b": {"properties": {"c": {"enum": ["x"]}, "d": {"enum": [1]}}},
            "name": {"minLength": 3, "pattern": "^a"},
        }
    }


def test_other_constants_are_evaluated() -> None:
    asked: list[ast.Node] = []

    def evaluate(node: ast.Node) -> Any:
        asked.append(node)
        return (1, FDict({"a": (2,)}))

    assert keywords("$ in $this.allowed()", evaluate=evaluate) == {"enum": [1, {"a": [2]}]}
    assert len(asked) == 1
    assert keywords("$ in f($)", "$ in $x", evaluate=evaluate) == {}
    assert len(asked) == 1


@pytest.mark.parametrize("error", [NoMatchingFunction("x"), ZeroDivisionError(), KeyError(1), TypeError()])
def test_a_constant_that_fails_is_no_constant(error: Exception) -> None:
    def evaluate(node: ast.Node) -> Any:
        raise error

    assert keywords("$ > 1 / 0", evaluate=evaluate) == {}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), (object(),), FSet([object()]), FDict({1: 2})])
def test_what_json_cannot_hold_is_left_out(value: Any) -> None:
    assert keywords("$ = f()", evaluate=lambda node: value) == {}
    assert not is_plain(value) or value == FSet()


def test_parts() -> None:
    assert subject_of(parse("len($.a.b)", MURANO)) == (("a", "b"), True)
    assert subject_of(parse("$this.a", MURANO)) is None
    assert fold(parse("[1, -2, x]", MURANO)) == (1, -2, "x")
    assert not is_value(fold(parse("[1, $]", MURANO)))
    assert not is_value(fold(parse("-x", MURANO)))


_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}
_PARTS = st.tuples(st.sampled_from(sorted(_OPERATORS)), st.integers(-4, 4), st.booleans(), st.booleans())


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(_PARTS, min_size=1, max_size=4), st.integers(-6, 6))
def test_numbers_agree_with_a_validator(parts: list[tuple[str, int, bool, bool]], value: int) -> None:
    texts, holds = [], True
    for op, limit, left, untranslatable in parts:
        texts.append(f"{limit} {op} $" if left else f"$ {op} {limit}")
        holds = holds and (_OPERATORS[op](limit, value) if left else _OPERATORS[op](value, limit))
        if untranslatable:
            texts.append("f($)")
    schema = keywords(" and ".join(texts))
    accepted = jsonschema.Draft4Validator(schema).is_valid(value)
    assert accepted == holds or (accepted and schema.get("enum") == [])


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["<", "<=", ">", ">=", "="]), st.integers(-1, 4)), max_size=3),
    st.text("ab", max_size=5),
)
def test_lengths_never_accept_less(parts: list[tuple[str, int]], value: str) -> None:
    holds = all(_OPERATORS[op](len(value), limit) for op, limit in parts)
    schema = keywords(*(f"len($) {op} {limit}" for op, limit in parts))
    accepted = jsonschema.Draft4Validator(schema).is_valid(value)
    assert accepted or not holds


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(["^a", "b$", "^[ab]+$", "a.b"]), st.text("abc", max_size=4))
def test_patterns_search_as_the_language_does(pattern: str, value: str) -> None:
    schema = keywords(f"$ =~ '{pattern}'")
    assert jsonschema.Draft4Validator(schema).is_valid(value) == bool(re.search(pattern, value))


def test_limits_behind_null_narrow_the_others() -> None:
    both = keywords("$ = null or $ >= 1", "$ = null or $ >= 3", "$ = null or $ in [a, b]", "$ = null or $ in [b, c]")
    assert both == {"minimum": 3, "exclusiveMinimum": False, "enum": ["b", None]}
    assert keywords("$ = null or $ =~ a", "$ = null or ($ =~ b and $ =~ c)") == {
        "pattern": "a",
        "allOf": [{"pattern": "b"}, {"pattern": "c"}],
    }
