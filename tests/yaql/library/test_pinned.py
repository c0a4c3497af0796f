"""The pinned examples of the reference (YAQL.md section 7), each with its recorded result."""

from __future__ import annotations

from typing import Any

import pytest

from tests.yaql.library.agreement import ours

STANDARD: list[tuple[str, Any]] = [
    ("007 + 1", 8),
    (r"Foo + `\n`", "Foo\\n"),
    (r"'tab:\t' = `tab:\t`", False),
    ("not false = false", False),
    ("-7 / 2", -4),
    ("-7 mod 3", 2),
    ("7 / 2.0", 3.5),
    ("1 = true", True),
    ("1 = 1.0", True),
    ("null < false", True),
    ("[] > null", True),
    ("true * 'ab'", "ab"),
    ("0 or ''", ""),
    ("2 and 3", 3),
    ("'b' in 'abc'", True),
    ("1 in [1.0]", True),
    ("{a => 1}.get(zz)", None),
    ("{a => 1}[zz, 4]", 4),
    ("[5, 6][-1]", 6),
    ("[{n => 1}, {n => 2}].n", [1, 2]),
    ("null?.a", None),
    ("$unknown", None),
    ("let(x => 2) -> [3, 4].select($ * $x)", [6, 8]),
    ("[let(x => 2) -> $x, $x]", [2, None]),
    ("[[1, 2]].select([$1, $2])", [[[1, 2], None]]),
    ("[[1, 2]].select($[0] + $[1])", [3]),
    ("let(range(2)) -> [$.len(), $.len()]", [2, 0]),
    ("let(range(2).memorize()) -> [$.len(), $.len()]", [2, 2]),
    ("[0].any()", True),
    ("[].all()", True),
    ("[].first(null)", None),
    ("list([1], range(2))", [[1], 0, 1]),
    ("[1, [2, [3]]].flatten()", [1, 2, 3]),
    ("[1, 2, 3].delete(1, -1)", [1]),
    ("[1, 2, 3].delete(-1, 2)", [2, 3]),
    ("[1, 2, 3].insert(-1, x)", [1, 2, "x", 3]),
    ("range(3).insert(-1, x)", [0, 1, 2]),
    ("[0, 1, 0].splitWhere($ = 0)", [[], [1]]),
    ("[1, 2, 3, 4].groupBy($ mod 2, $, $.sum())", [[1, 4], [0, 6]]),
    ("[1, 2, 3, 4].groupBy($ mod 2, $, [$[0], $[1].len()])", [[1, 2], [0, 2]]),
    ("[1, 2, 3].reduce($1 * $2, 10)", 60),
    ("{a => [1]}.mergeWith({a => [1, 2], b => 0})", {"a": [1, 2], "b": 0}),
    ("{a => {b => {c => 1}}}.mergeWith({a => {b => {d => 2}}}, maxLevels => 2)", {"a": {"b": {"d": 2}}}),
    ("','.join([1, null, true])", "1,null,true"),
    ("'a,,b'.split(',')", ["a", "", "b"]),
    ("'hello'.substring(-3, 2)", "ll"),
    (r"regex(`(\w)(\d)?`).search('a', [$.value, $2.start, $3])", ["a", 0, {"value": None, "start": -1, "end": -1}]),
    ("round(2.5)", 2.0),
    ("pow(2, 3, 5)", 3),
    ("switch(false => 1)", None),
    ("coalesce(null, false, 1)", False),
    ("7.switchCase(a, b)", "b"),
    ("def(f, switch($ < 2 => 1, true => $ * f($ - 1))) -> f(4)", 24),
    ("call(max, [3, 9], {})", 9),
    ("{a => 1}.items().toList()", [["a", 1]]),
    ("timespan(hours => 36).days", 1.5),
    ("datetime(2020, 1, 2, offset => timespan(hours => 2)).timestamp", 1577908800.0),
]
LEGACY: list[tuple[str, Any]] = [
    ("1 => 2 => 3", (1, 2, 3)),
    ("1 = 1 => 2 or 3", (True, 2)),
    ("{a => 1}.zz", None),
    ("let(a => 1) -> $1", ("a", 1)),
    ("range(3).take(2)", [3, 4]),
    ("5.switch($ > 3 => big, true => small)", "big"),
    ("[1, 2].as(len($) => n) -> $n", 2),
    ("[{n => a}, {n => b}][$.n = b]", [{"n": "b"}]),
    ("{x => 1, y => 2}[true]", ["x", "y"]),
]
ERRORS: list[tuple[str, str]] = [
    ("0x1f", "YaqlLexicalException"),
    ("not(false)", "NoFunctionRegisteredException"),
    ("-3.repeat(1)", "NoMatchingFunctionException"),
    ("1 < 2 < 3", "NoMatchingFunctionException"),
    ("'a' + 1", "NoMatchingFunctionException"),
    ("true * 3", "NoMatchingFunctionException"),
    ("'a' in {a => 1}", "NoMatchingFunctionException"),
    ("{a => 1}.zz", "KeyError"),
    ("range(4)[0]", "NoMatchingFunctionException"),
    ("'abc'[0]", "NoMatchingFunctionException"),
    ("null.a", "NoFunctionRegisteredException"),
    ("[2, 1].orderBy($).len()", "NoMatchingMethodException"),
    ("[].sum()", "TypeError"),
    ("[].single()", "StopIteration"),
    ("concat()", "AmbiguousFunctionException"),
    ("{a => 1}.items()", "TypeError"),
    ("[1,]", "YaqlGrammarException"),
    ("[1 => 2]", "MappingTranslationException"),
]


@pytest.mark.parametrize(("text", "expected"), STANDARD)
def test_standard(text: str, expected: Any) -> None:
    assert repr(ours(text)) == repr(("ok", expected))


@pytest.mark.parametrize(("text", "expected"), LEGACY)
def test_legacy(text: str, expected: Any) -> None:
    kind, found = ours(text, "legacy")
    # The legacy dialect of the published package tells lists from tuples; we have one kind.
    assert (kind, list(found) if isinstance(found, tuple) else found) == (
        "ok",
        list(expected) if isinstance(expected, tuple) else expected,
    )


@pytest.mark.parametrize(("text", "name"), ERRORS)
def test_errors(text: str, name: str) -> None:
    kind, names = ours(text)
    assert kind == "error"
    assert name in names
