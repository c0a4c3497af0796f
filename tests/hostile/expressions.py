# ruff: noqa: E501 - tables of attacks read best with one attack a line
"""Attacks that are one expression: sizes, widths, endless sequences, regular expressions, escapes.

Each is tried by the closures of the expression layer and inside a compiled method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from tests.hostile.arena import Attacks
from tests.hostile.run import LIMITS, PATIENT, evaluated, expression, healthy
from tests.support.fuzzing import EVERYTHING

attacks = Attacks(healthy)
#: For what only the clock ends.
QUICK = replace(LIMITS, max_seconds=0.1)
LIMIT = "limit-exceeded"


def _both(name: str, text: str, *kinds: str, seconds: float = 3.0, mebibytes: int = 160) -> None:
    limits = LIMITS if LIMIT in kinds else PATIENT
    ways: dict[str, Callable[..., Any]] = {"yaql": expression, "method": evaluated}
    # By default each is tried in one of the ways, in turns.
    for way, run in ways.items() if EVERYTHING else [list(ways.items())[len(name) % 2]]:
        attacks(*kinds, seconds=seconds, mebibytes=mebibytes, name=f"{name}-{way}")(partial(run, text, limits=limits))


# -- numbers and texts that grow ---------------------------------------------------------------------------------------
_both("power", "pow(2, 1000000000)", LIMIT)
_both("tower", "pow(pow(2, 10000), 10000)", LIMIT)
_both("float-power", "pow(10.0, 1000000)", LIMIT, "value-error")
_both("negative-power", "pow(0, -1)", "zero-division", "value-error")
_both("shift", "shiftBitsLeft(1, 100000000000)", LIMIT)
_both("shift-back", "shiftBitsRight(1, -100000000000)", LIMIT, "value-error")
_both("squaring", "range(100).aggregate($1 * $1, 3)", LIMIT)
_both("squaring-generated", "generate(3, true, $ * $).take(200).last()", LIMIT)
# Compiled sums of integers are not measured: they grow by one bit a step.
_both("doubling", "range(100000).aggregate($1 + $1, 1)", LIMIT, "ok")
_both("times", "'x' * 10000000000", LIMIT)
_both("times-big", "'x' * pow(2, 10000)", LIMIT)
_both("list-times", "[1] * 10000000000", LIMIT)
_both("list-times-left", "10000000000 * [1]", LIMIT)
_both("text-doubling", "range(100).aggregate($1 + $1, 'x')", LIMIT)
_both("list-doubling", "range(100).aggregate($1 + $1, [1])", LIMIT)
_both("nested-list-doubling", "range(60).aggregate([$1, $1], [1]).flatten().len()", LIMIT)
_both("str-of-dag", "str(range(60).aggregate([$1, $1], [1]))", LIMIT)
_both("str-of-thin-dag", "str(range(60).aggregate([$1, $1], []))", LIMIT)
_both("str-of-long-integer", "str(pow(7, 5000)).len()", "ok", LIMIT)
_both("int-of-many-digits", "int('9' * 10000000)", LIMIT)
_both("int-of-digits", "int('9' * 100000)", LIMIT)
_both("float-of-digits", "float('9' * 1000000)", "ok", "value-error")
_both("hex-format", "format('{0:x}', pow(2, 16000)).len()", "ok", LIMIT)
_both("replace-amplifies", "('x' * 100000).replace('x', 'y' * 100000)", LIMIT)
_both("replace-empty", "('x' * 1000000).replace('', 'y' * 1000)", LIMIT)
_both("replace-mapping", "('x' * 100000).replace({'x' => 'y' * 100000})", LIMIT)
_both("join-amplifies", "range(100000).join('y' * 10000)", LIMIT, "unresolved-call")
_both("join-texts", "(['a'] * 100000).join('y' * 10000)", LIMIT)
_both("regex-replace-amplifies", "regex('x').replace('x' * 100000, 'y' * 100000)", LIMIT)
_both("regex-replace-by", "regex('x').replaceBy('x' * 100000, 'y' * 100000)", LIMIT)
_both("regex-group-amplifies", "regex('(x+)').replace('x' * 100000, '\\\\1' * 100000)", LIMIT)
_both("concat", "concat('x' * 10000000, 'x' * 10000000)", LIMIT)
_both("split-everything", "('x' * 2000000).split('').len()", LIMIT, "value-error")
_both("split-chars", "('x,' * 2000000).split(',').len()", LIMIT)
_both("characters", "range(1000000).select(range(1000)).flatten().len()", LIMIT)
_both("list-of-lists", "list(range(1000).select(range(1000000))).len()", LIMIT)
_both("unicode-grow", "('\u0390' * 5000000).toUpper().len()", LIMIT, "ok")
_both("quadratic-search", "('a' * 1000000).lastIndexOf('a' + 'b' + 'a' * 400000)", LIMIT, "ok")
_both("quadratic-search-forward", "('a' * 1000000).indexOf('a' * 400000 + 'b')", "ok")
_both("quadratic-find", "('ab' * 500000).contains('ab' * 200000 + 'c')", "ok", "unresolved-call")

# -- format ------------------------------------------------------------------------------------------------------------
_both("format-width", "format('{0:>999999999}', 1)", LIMIT)
_both("format-nested-width", "format('{0:>{1}}', 1, 999999999)", LIMIT)
_both("format-precision", "format('{0:.999999999f}', 1.0)", LIMIT)
_both("format-many", "format('{0:>9999999}{0:>9999999}', 1)", LIMIT)
_both("format-wide-digits", "format('{0:>99999999999999999999999999}', 1)", LIMIT)
_both("format-attribute", "format('{0.__class__}', 1)", "value-error")
_both("format-chain", "format('{0.__class__.__mro__[1].__subclasses__}', 1)", "value-error")
_both("format-item", "format('{0[0]}', [1])", "value-error")
_both("format-name-attribute", "format('{a.__globals__}', a => 1)", "value-error")
_both("format-nested-fields", "format('{0:{0:{0}}}', 1)", "value-error")
_both("format-open", "format('{' * 200000, 1)", "ok")
_both("format-open-odd", "format('{' * 200001, 1)", "value-error")
_both("format-depth", "format('{0:' + '{' * 100000 + '}' * 100000 + '}', 1)", "value-error")
_both("format-index", "format('{99999999999999999999}', 1)", "index-error")
_both("format-dag", "format('{0}', range(60).aggregate([$1, $1], [1]))", LIMIT)
_both("format-spec-on-list", "format('{0:>10}', [1])", "bad-argument")
_both("format-conversion", "format('{0!a}', 1)", "value-error")
_both("format-quadratic", "format('{0:' * 20000, 1)", "value-error")

# -- endless -----------------------------------------------------------------------------------------------------------
for _name, _source in {
    "sequence": "sequence()", "repeat": "repeat(1)", "cycle": "[1].cycle()", "generate": "generate(1, true, $)",
    "generate-many": "generateMany(1, [$])", "range": "range(1000000000000000)", "step": "range(0, 1, 0)",
    "repeat-list": "[1, 2].repeat(-1).select($.len())", "huge-range": "range(pow(2, 5000))",
}.items():  # fmt: skip
    _source = _source.replace("repeat(1)", "1.repeat()")
    _kinds = (LIMIT, "value-error") if _name in ("step", "huge-range") else (LIMIT,)
    for _end in (
        "sum()", "toList()", "len()", "last()", "any($ = a)", "all($ != a)", "orderBy($)", "toSet()", "toDict($)",
        "groupBy($)", "distinct()", "max()", "reverse()", "skip(1000000000).first()", "where($ = a).first()",
        "aggregate(1)", "contains(a)", "indexWhere($ = a)", "memorize().len()", "join([1], true, 1).len()",
        "zip(sequence()).len()", "takeWhile(true).len()", "accumulate(1).last()", "sliceWhere($ = a).len()",
        "slice(7).len()", "splitAt(100000000)", "insert(1000000000, a).len()", "enumerate().len()",
    ):  # fmt: skip
        _method = _end.split("(")[0]
        if _name not in ("sequence", "generate") and _method not in ("sum", "last", "any", "orderBy", "toSet", "skip"):
            continue
        attacks(
            *_kinds,
            "unresolved-call",
            "ok",
            "bad-argument",
            "index-error",
            seconds=3.0,
            name=f"endless-{_name}-{_method}",
        )(partial(evaluated if _name in ("sequence", "generate") else expression, f"{_source}.{_end}"))

_both("in-endless", "a in sequence()", LIMIT)
_both("list-of-endless", "[sequence()]", LIMIT)
_both("product", "range(1000000).join(range(1000000), true, 1).len()", LIMIT)
_both("many-generations", "generateMany(1, [$ + 1, $ + 2], decycle => true).len()", LIMIT)
_both("wide-generations", "generateMany(1, [$ + 1] * 1000000).len()", LIMIT)
_both("recursive-def", "def(f, f($ + 1)) -> f(1)", LIMIT)
_both("mutual-sorted", "def(f, [1, 2].orderBy(f($)).toList()) -> f(1)", LIMIT)
_both("mutual-sum", "def(f, [1, 2].select(f($)).sum()) -> f(1)", LIMIT)
_both("mutual-any", "def(f, [1, 2].any(f($))) -> f(1)", LIMIT)
_both("mutual-regex", "def(f, regex('x').replaceBy('x', f($))) -> f(1)", LIMIT)
_both("mutual-set", "def(f, set([1, 2].select(f($)))) -> f(1)", LIMIT)
_both("mutual-dict", "def(f, [1].toDict(f($))) -> f(1)", LIMIT)
_both("mutual-group", "def(f, [1, 2].groupBy(f($)).toList()) -> f(1)", LIMIT)
_both("mutual-generate", "def(f, generate(1, f($), 2).toList()) -> f(1)", LIMIT)
_both("exponential-def", "def(f, switch($ < 60 => f($ + 1) + f($ + 1), true => 1)) -> f(1)", LIMIT)

# -- lazy sequences inside each other ----------------------------------------------------------------------------------
for _name, _step, _start in (
    ("chain", "$1 + range(1)", "range(1)"), ("select", "$1.select($)", "range(1)"), ("attribute", "$1.a", "range(0)"),
    ("where", "$1.where(true)", "range(1)"), ("skip", "$1.skip(0)", "range(1)"), ("take", "$1.take(9)", "range(1)"),
    ("append", "$1.append(1)", "range(1)"), ("memorize", "$1.memorize()", "range(1)"),
    ("order", "$1.orderBy($)", "range(1)"), ("enumerate", "$1.enumerate()", "range(1)"), ("zip", "$1.zip([1])", "range(1)"),
    ("reverse", "$1.reverse()", "range(1)"), ("flat", "$1.selectMany([$])", "range(1)"), ("ends", "$1.distinct()", "range(1)"),
    ("items", "[$1]", "range(1)"), ("concat", "$1.concat(range(1))", "range(1)"), ("insert", "$1.insert(0, 1)", "range(1)"),
    ("cycle", "$1.cycle().take(1)", "range(1)"), ("group", "$1.groupBy($)", "range(1)"), ("slice", "$1.slice(1)", "range(1)"),
    ("default", "$1.defaultIfEmpty([])", "range(1)"), ("accumulate", "$1.accumulate($1)", "range(1)"),
):  # fmt: skip
    _ends = (LIMIT, "ok", "unresolved-call", "bad-argument", "value-error", "index-error")
    attacks(*_ends, seconds=3.0, name=f"nested-lazy-{_name}")(
        partial(expression, f"range(50000).aggregate({_step}, {_start}).len()", limits=QUICK)
    )
    attacks(*_ends, seconds=3.0, name=f"nested-lazy-dropped-{_name}")(
        partial(evaluated, f"[range(50000).aggregate({_step}, {_start}), 1].len()", limits=QUICK)
    )
    _again = _step.replace("$1", "$")
    attacks(*_ends, seconds=3.0, name=f"nested-lazy-generated-{_name}")(
        partial(evaluated, f"generate({_start}, true, {_again}).take(100000).last().len()", limits=QUICK)
    )

# -- regular expressions -----------------------------------------------------------------------------------------------
for _name, _pattern in (
    ("plus", "(a+)+$"), ("star", "(a*)*b"), ("alternatives", "(a|aa)+$"), ("optional", "(a?){40}a{40}"),
    ("look-ahead", "(?=(a+)+b)a"), ("look-behind", "(?<!b)(a+)+$"), ("back-reference", "(a+)+\\\\1b"),
    ("nested-look", "(?=(?=(?=(a+)+b)))"), ("named", "(?P<x>(a|aa)+)(?P=x)b"),
):  # fmt: skip
    _both(f"regex-{_name}", f"('a' * 5000 + '!') =~ '{_pattern}'", LIMIT, "ok", "value-error")
    attacks(LIMIT, "ok", "value-error", name=f"regex-all-{_name}")(
        partial(expression, f"regex('{_pattern}').searchAll('a' * 3000 + '!').len()")
    )
_both("regex-counts", "'a' =~ '((a{1000}){1000}){1000}'", LIMIT, "value-error", "ok")
_both("regex-deep", "'a' =~ ('(' * 100000 + 'a' + ')' * 100000)", LIMIT, "value-error")
_both("regex-deep-look", "'a' =~ ('(?=' * 100000 + 'a' + ')' * 100000)", LIMIT, "value-error")
_both("regex-long", "'a' =~ ('a?' * 1000000)", LIMIT, "value-error")
_both("regex-long-look", "'a' =~ ('(?=a)' + 'a?' * 300000)", LIMIT, "value-error")
_both("regex-classes", "'a' =~ ('[a-z]' * 300000)", LIMIT, "value-error")
_both("regex-many", "range(30000).select(regex('(?=a)' + str($) + 'a+b?' * 40)).len()", LIMIT, "ok", seconds=4.0)
_both("regex-bad", "'a' =~ '('", "value-error")
_both("regex-unicode", "('\u00e9' * 100000) =~ '(?i)(\u00c9+)+x'", "ok", LIMIT)
_both("regex-null", "'a\\u0000b' =~ 'a\\u0000b'", "ok")

# -- names and texts that are none -------------------------------------------------------------------------------------
for _name, _text in (
    ("class", "1.__class__"), ("text-class", "'a'.__class__"), ("method", "'a'.__class__()"), ("dict", "{}.__class__"),
    ("list", "[1].__class__"), ("globals", "$.__globals__"), ("import", "__import__('os')"), ("eval", "eval('1')"),
    ("getattr", "getattr(1, 'real')"), ("call", "call('__import__', ['os'], {})"), ("call-op", "call('#property#__class__', [1], {})"),
    ("call-attr", "call('_attribute', [1, 1], {})"), ("format-map", "'{0}'.format_map({})"), ("dunder", "__builtins__"),
    ("self", "call(len, [[1]], {self => 1})"), ("cx", "len(cx => 1)"), ("rt", "str(rt => 1)"), ("t1", "t1()"),
    ("hidden", "#hole"), ("context", "call('#get_context_data', ['$'], {})"), ("let", "let(__class__ => 1) -> $__class__"),
    ("regex", "regex('a').__class__"), ("span", "timespan().__class__"), ("lambda", "lambda(1)"),
    ("duck", "dict(__class__ => 1).__class__"), ("iterator", "range(3).__next__"), ("ordered", "[1].orderBy($)._cx"),
    ("memorized", "[1].memorize()._cx.rt"), ("type", "type(1).__class__"), ("real", "1.real"), ("keys", "{}.keys().mapping"),
):  # fmt: skip
    _both(
        f"escape-{_name}",
        _text,
        "unresolved-call",
        "key-error",
        "ok",
        "syntax",
        "bad-argument",
        "property-error",
        "value-error",
    )
_both("open-brackets", "(" * 5000, "syntax")
_both("brackets", "[" * 5000 + "]" * 5000, "syntax")
_both("brackets-allowed", "[" * 350 + "]" * 350, "ok", LIMIT)
_both("nots", "not " * 5000 + "1", "syntax")
_both("minuses", "-" * 5000 + "1", "syntax")
_both("additions", " + ".join("1" * 1900), "ok", LIMIT)
_both("too-many-additions", " + ".join("1" * 3000), "syntax")
_both(
    "attributes",
    "$" + ".a" * 1900,
    "key-error",
    "unresolved-call",
    "ok",
    "property-error",
    "uninitialized-property",
    LIMIT,
)
_both("calls", "[1]" + ".select($)" * 300, "ok")
_both("more-calls", "[1]" + ".select($)" * 1500, "ok", LIMIT)
_both("methods", "[1]" + ".toList()" * 1500, "ok", LIMIT)
_both("nested-lambdas", "[1].select(" * 150 + "$" + ")" * 150, "ok", LIMIT)
_both("nested-calls", "str(" * 350 + "1" + ")" * 350, "ok", LIMIT)
_both("ands", " and ".join(["true"] * 1900), "ok", LIMIT)
_both("chains", "1" + " -> $" * 350, "ok", "syntax", LIMIT, "unresolved-call")
_both("arguments", "list(" + ", ".join("1" * 2000) + ").len()", "ok")
_both("pairs", "{" + ", ".join(f"a{i} => {i}" for i in range(5000)) + "}.len()", "ok")
_both("switch", "switch(" + ", ".join(f"$ = {i} => {i}" for i in range(1500)) + ")", "ok", LIMIT)
_both("long-text", "'" + "x" * 500_000 + "'.len()", "ok")
_both("too-long", "'" + "x" * 2_000_000 + "'", "syntax")
_both("long-number", "9" * 100_000, LIMIT, "syntax")
_both("float-number", "1" * 100_000 + ".5", LIMIT, "syntax", "ok")
_both("long-name", "$" + "x" * 100_000, "ok")
_both("escapes", "'\\\\" * 1, "syntax")
_both("lookalike", "let(\ufb01 => 1) -> [$fi, $\ufb01]", "ok", "syntax")
attacks("syntax", "ok", name="null-byte")(partial(expression, "1 \x00 + 1"))
attacks("syntax", "ok", name="null-in-text")(partial(expression, "'a\x00b'"))
attacks("syntax", "ok", name="surrogate")(partial(expression, "'\ud800'"))
attacks("syntax", "ok", name="surrogate-name")(partial(expression, "$\ud800"))
attacks("syntax", "ok", name="surrogate-regex")(partial(expression, "'\ud800' =~ '\ud800'"))
attacks("ok", name="surrogate-data")(partial(expression, "str($) + $.toUpper()", "\ud800"))
attacks("ok", "value-error", name="surrogate-regex-data")(partial(expression, "$ =~ '.'", "\ud800"))
attacks("ok", name="lookalikes-differ")(lambda: _differ())


def _differ() -> None:
    assert expression("let(\ufb01 => 1) -> [$fi, $\ufb01]") == [None, 1]
    assert evaluated("let(\ufb01 => 1) -> [$fi, $\ufb01]") == [None, 1]
    assert evaluated("[$fi, $\ufb01]", "- $\ufb01: 1") == [None, 1]
