"""The compiled tier against its oracle, the closure tier: same value or same class of error, over generated texts."""

from __future__ import annotations

import ast as py
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.support.fuzzing import examples
from tests.yaql.generators import DATA, expressions
from vetro.yaql import compile
from vetro.yaql.api import grammar_of, named_dialect
from vetro.yaql.codegen.binding import ALLOWED_NODES
from vetro.yaql.codegen.emitter import expression_function
from vetro.yaql.errors import VetroError
from vetro.yaql.parser import parse


def outcome(text: str, tier: Any, dialect: str) -> tuple[str, Any]:
    try:
        return "ok", compile(text, tier=tier, dialect=dialect)(DATA, x=5, items=[{"n": 1}, {"n": 2}])
    except (
        VetroError,
        KeyError,
        IndexError,
        ValueError,
        TypeError,
        ZeroDivisionError,
        AssertionError,
        OverflowError,
    ) as error:
        return "error", type(error).__name__


def exact(value: Any) -> str:
    """Tells 1, 1.0 and true apart; sets in a fixed order."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{exact(k)}: {exact(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (set, frozenset)):
        return "set(" + ", ".join(sorted(map(exact, value))) + ")"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(exact, value)) + "]"
    return f"{type(value).__name__}:{value!r}"


@settings(max_examples=examples(600), suppress_health_check=list(HealthCheck))
@given(expressions())
def test_standard_expressions(text: str) -> None:
    closure, compiled = outcome(text, "closure", "standard"), outcome(text, "compiled", "standard")
    assert (closure[0], exact(closure[1])) == (compiled[0], exact(compiled[1])), text


@settings(max_examples=examples(200), suppress_health_check=list(HealthCheck))
@given(expressions())
def test_legacy_expressions(text: str) -> None:
    closure, compiled = outcome(text, "closure", "legacy"), outcome(text, "compiled", "legacy")
    assert (closure[0], exact(closure[1])) == (compiled[0], exact(compiled[1])), text


@settings(max_examples=examples(200), suppress_health_check=list(HealthCheck))
@given(expressions())
def test_only_allowed_constructs(text: str) -> None:
    dialect = named_dialect("standard")
    try:
        node = parse(text, grammar_of(dialect))
    except VetroError:
        return
    function, _ = expression_function(node, dialect, text)
    assert {type(n) for n in py.walk(function)} <= ALLOWED_NODES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$items.where($.n > 1).select($.n).sum()", 2),
        ("$items.select($.n).where($ < 2).toList()", [1]),
        ("$items.n.any($ = 2)", True),
        ("$items.toDict($.n, $.n * 2)", {1: 2, 2: 4}),
        ("$items.select($x + $.n).first()", 6),
        ("[1, 2].select([3].select($ + $x).sum())", [8, 8]),
        ("format('{0}-{1}', $x, null)", "5-None"),
        ("$x in [1, 5] and not $x in [2]", True),
        ("switch($x > 9 => big, $x > 3 => middle)", "middle"),
        ("[[1, 2], [3]].select($.len()).sum()", 3),
        ("$nope", None),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert outcome(text, "compiled", "standard") == ("ok", expected)
    assert outcome(text, "closure", "standard") == ("ok", expected)


def test_code_is_generated_the_same_way_each_time() -> None:
    dialect = named_dialect("standard")
    text = "$items.where($.n > $x).select($.n * 2 + len($.name)).sum()"
    node = parse(text, grammar_of(dialect))
    dumps = {py.dump(expression_function(node, dialect, text)[0], include_attributes=True) for _ in range(3)}
    assert len(dumps) == 1
