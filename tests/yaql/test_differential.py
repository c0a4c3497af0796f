"""Generated expressions evaluated by us and by the published package: equal values, or the same class of error."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

from tests.support.fuzzing import examples
from tests.yaql.generators import DATA, expressions
from tests.yaql.oracle import oracle
from vetro.yaql import compile

#: The published package looks at constants and receivers before it evaluates the other operands; we evaluate from left
#: to right. Where several parts of an expression are wrong, it may therefore report one of these instead.
EARLY = {"NoMatchingFunctionException", "NoMatchingMethodException"}
#: Knowing deviations (docs/yaql-deviations.md) that generated expressions meet.
DEVIATIONS = (
    r"\.keys\(\)",  # keys() views are sets to every function here
    r"call\(",  # expressions as values, odd keyword names
)


def normal(value: Any) -> Any:
    """A form of plain values that tells 1, 1.0 and true apart and ignores the order of sets.

    Lists and tuples count as the same: our lists are tuples, so that the legacy dialect cannot tell them apart.
    """
    if isinstance(value, dict):
        return "dict", tuple((normal(k), normal(v)) for k, v in value.items())
    if isinstance(value, (set, frozenset)):
        return "set", tuple(sorted(map(repr, map(normal, value))))
    if isinstance(value, (list, tuple)):
        return "list", tuple(map(normal, value))
    return type(value).__name__, repr(value) if isinstance(value, (int, float, str, type(None))) else ""


def ours(text: str, data: Any, dialect: str) -> tuple[str, Any]:
    try:
        return "ok", compile(text, dialect=dialect)(data)
    except Exception as error:
        aliases = (alias.rpartition(".")[2] for alias in getattr(error, "aliases", ()))
        return "error", {type(error).__name__, *aliases}


def compare(text: str, dialect: str = "standard") -> None:
    """Fails where the two engines differ and no deviation explains it."""
    outcome, value = ours(text, DATA, dialect)
    expected, theirs = oracle(text, DATA, dialect)
    if expected == "ok":
        same = outcome == "ok" and normal(value) == normal(theirs)
    else:
        same = outcome == "error" and (theirs in value or theirs in EARLY)
    if same or any(re.search(pattern, text) for pattern in DEVIATIONS):
        return
    pytest.fail(f"{text}\n  ours: {outcome} {value!r}\n  yaql: {expected} {theirs!r}")


@settings(max_examples=examples(200), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(expressions(wrong=False))
@example("$.p.where($.v > 1).n")
def test_well_typed_expressions(text: str) -> None:
    compare(text)


@settings(max_examples=examples(200), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(expressions())
@example("def(f, switch($ < 2 => 1, true => $ * f($ - 1))) -> f(4)")
def test_expressions_with_mistakes(text: str) -> None:
    compare(text)


@settings(max_examples=examples(100), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(expressions())
@example("1 => 2 => 3")
@example("$.l[$ > 1]")
@example("$.p[$.v = 1].n")
@example("[1, 2].as(len($) => n) -> $n")
def test_the_legacy_dialect(text: str) -> None:
    compare(text.replace("range(3)", "range(0, 3)"), "legacy")  # with one argument it never ends there


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2 * 3 - -4",
        "-7 / 2",
        "-$.l[0]",
        "not $.n = 5",
        "1 = 1 = true",
        "1 < 2 < 3",
        "null < false",
        "null >= null",
        "[] > null",
        "true * 'ab'",
        "true * 3",
        "0 or ''",
        "2 and 3",
        "'b' in 'abc'",
        "1 in [1.0]",
        "'a' in {a => 1}",
        "'a' =~ '('",
        "'abc' =~ 'b'",
        "1 =~ b",
        "{a => 1}.zz",
        "{a => 1}[zz, 4]",
        "[5, 6][-1]",
        "[5, 6][true]",
        "range(4)[0]",
        "'abc'[0]",
        "null.a",
        "null?.a",
        "null?.a.b",
        "1.year",
        "$unknown",
        "$.l.x",
        "$.p.n",
        "[let(x => 2) -> $x, $x]",
        "let(,1) -> $",
        "let(range(2)) -> [$.len(), $.len()]",
        "let(range(2).memorize()) -> [$.len(), $.len()]",
        "5 -> 3",
        "with(a => 1) -> $a",
        "def(1, 5) -> 3",
        "def(my_f, 5) -> myF()",
        "def(f, 5) -> 3.f()",
        "def(len, 5) -> len(null)",
        "def(concat, 5) -> concat()",
        "def(dict, 5) -> dict()",
        "def(coalesce, 5) -> coalesce(1)",
        "let(c => def(f, 7)) -> ($c -> f())",
        "concat()",
        "concat(a,, b)",
        "max(, 2)",
        "datetime(2020, 1, 2,,, 5).second",
        "[1 => 2]",
        "[a => 1]",
        "{1}",
        "len(1 => 2)",
        "foo(1 => 2)",
        "switch(1)",
        "range(1, stop => 2, stop => 3)",
        "'abc'.substring(1, start => 1)",
        "len(sequence => [1])",
        "[1].any(null)",
        "{a => 1}.set(dict => 2)",
        "call(max, [3, 9], {})",
        "call(foo, [], {})",
        "call(max, [3, 9])",
        "call(range, [], {stop => 3})",
        "call(len, [], {}, [1, 2])",
        "call(let, [1], {a => 2}) -> $a",
        "call(unpack, [a, b], {}, [1, 2]) -> $a",
        "1.assert($ < 0)",
        "{a => 1}.items()",
        "{a => 1} + {b => 2}",
        "[1] + range(2)",
        "set(1) + set(2)",
        "set(1, 2) - set(2)",
        "set(1) < set(1, 2)",
        "timespan(hours => 36) > timespan(days => 1)",
        "datetime(2020, 1, 1) + timespan(days => 1) = datetime(2020, 1, 2)",
    ],
)
def test_pinned_expressions(text: str) -> None:
    outcome, value = ours(text, DATA, "standard")
    expected, theirs = oracle(text, DATA)
    assert outcome == expected
    if expected == "ok":
        assert normal(value) == normal(theirs)
    else:
        assert theirs in value or (theirs == "error" and "ValueError" in value)  # `error` is that of bad patterns
