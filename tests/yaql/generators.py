"""Hypothesis strategies for expressions that mean something: mostly well typed, now and then not."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

#: Input of the generated expressions.
DATA: dict[str, Any] = {
    "l": [3, 1, 2],
    "e": [],
    "d": {"a": 1, "b": 2},
    "s": "text",
    "n": 5,
    "z": None,
    "p": [{"n": "x", "v": 1}, {"n": "y", "v": 2}],
    "m": [[1, 2], [3]],
}

_LEAVES: dict[str, tuple[str, ...]] = {
    "int": ("0", "1", "2", "7", "-3", "$.n", "$.d.a", "$.l[0]", "$.p[1].v"),
    "num": ("1.5", "2.0", "$.n", "-0.5"),
    "str": ("''", "a", "'b c'", "$.s", "x", "$.p[0].n"),
    "bool": ("true", "false", "$.n > 3", "$.s = text"),
    "list": ("[]", "[1, 2]", "$.l", "$.e", "[1, a, null]", "range(3)", "$.m", "$.p", "list(4, 5)"),
    "nums": ("$.l", "[1, 2]", "range(1, 4)", "$.p.v", "[]"),
    "dict": ("{}", "{a => 1}", "$.d", "$.p[0]", "{1 => 2, x => []}"),
    "set": ("set()", "set(1, 2)", "$.l.toSet()", "$.d.keys()"),
    "any": ("null", "$.z", "$unknown", "1", "a", "$", "true"),
}
_FORMS: dict[str, tuple[str, ...]] = {
    "int": (
        "{int} + {int}", "{int} - {int}", "{int} * {int}", "{int} / {int}", "{int} mod {int}", "-{int}", "+{int}",
        "{list}.len()", "len({str})", "{list}.count()", "max({int}, {int})", "min({int}, {int})", "abs({int})",
        "{str}.indexOf({str})", "{nums}.sum(0)", "{nums}.first(7)", "{nums}.last(7)", "{nums}.toList()[{int}]",
        "coalesce(null, {int})", "switch({bool} => {int}, true => {int})", "let(x => {int}) -> $x + {int}",
        "let({int}, {int}) -> $1 * $2", "def(f, $ + {int}) -> f({int})", "call(max, [{int}, {int}], {{}})",
        "{nums}.aggregate($1 + $2, {int})", "{dict}.get(a, {int})", "{dict}[a, {int}]", "bitwiseAnd({int}, {int})",
        "sign({int})", "with({int}, {int}) -> $2", "{int}.assert($ > {int})", "def(g, $1 - $2) -> g({int}, {int})",
        "[{int}, {int}].unpack(u, v) -> $u - $v", "call('#operator_+', [{int}, {int}], {{}})", "{dict}.len()",
        "def(h, switch($ < 2 => {int}, true => $ + h($ - 1))) -> h(3)", "{set}.len()",
    ),
    "num": ("{int} + {num}", "{num} / {num}", "round({num})", "{num} * {num}", "float({int})", "{num} mod {num}"),
    "str": (
        "{str} + {str}", "{str} * {int}", "{str}.toUpper()", "str({any})", "{str}.substring({int})",
        "{str}.substring({int}, {int})", "{str}.replace({str}, {str})", "concat({str}, {str})", "{str}.trim()",
        "{list}.join({str})", "{str}.join({list})", "switch({bool} => {str})", "{dict}.get(n, {str})",
        "coalesce({any}, {str})", "let(y => {str}) -> $y",
    ),
    "bool": (
        "{int} < {int}", "{str} <= {str}", "{any} = {any}", "{any} != {any}", "{list} = {list}", "not {any}",
        "{any} and {any}", "{any} or {any}", "{any} in {list}", "{str} in {str}", "{any} > {any}", "{set} < {set}",
        "{num} >= {num}", "null < {any}", "{list}.any()", "{nums}.any($ > {int})", "{nums}.all($ > {int})",
        "{dict}.containsKey({str})", "{list}.contains({any})", "isString({any})", "isList({any})", "isDict({any})",
        "{str}.startsWith({str})", "{str}.isEmpty()", "{any} in {set}", "isInteger({any})", "bool({any})",
    ),
    "list": (
        "[{any}, {any}]", "{list} + {list}", "{list}.where($ = {any})", "{nums}.select($ + {int})",
        "{list}.select([$, {int}])", "{list}.take({int})", "{list}.skip({int})", "{list}.distinct()",
        "{nums}.orderBy($)", "{nums}.orderByDescending(-$)", "{list}.reverse()", "{list}.toList() * {int}",
        "{list}.append({any})", "{list}.selectMany([$, $])", "{list}.enumerate()", "{list}.zip({list})",
        "{dict}.keys().toList()", "{dict}.values()", "{str}.split({str})", "{list}.flatten()", "$.p.n",
        "{nums}.groupBy($ mod 2)", "{list}.slice({int})", "{list}.delete({int})", "{list}.insert({int}, {any})",
        "let(x => {list}) -> $x.select([$, $x.len()])", "{nums}.where($ > {int}).select($ * {int})",
        "{nums}.takeWhile($ < {int})", "{nums}.accumulate($1 + $2)", "{list}.indexWhere($ = {any})",
        "{nums}.select(let(q => $) -> $q + {int})", "list({any}, {list})", "{list}.replace({int}, {any})",
        "{nums}.skipWhile($ < {int})", "{list}.memorize()", "{set}.toList().orderBy($)", "concat({list}, {list})",
    ),
    "nums": ("{nums} + {nums}", "{nums}.select($ + {int})", "{nums}.where($ > {int})", "[{int}, {int}]"),
    "dict": (
        "{{{str} => {any}}}", "{dict} + {dict}", "{dict}.set({str}, {any})", "dict(k => {any})", "{dict}.delete({str})",
        "{nums}.toDict(str($))", "{nums}.toDict($, $ + {int})", "{dict}.mergeWith({dict})",
        "{{a => {int}, b => {any}}}",
        "{dict}.set(k => {any})",
    ),
    "set": (
        "set({int}, {int})", "{set} + {set}", "{set} - {set}", "{nums}.toSet()", "{set}.union({set})",
        "{set}.add({int})",
    ),
    "any": (
        "{int}", "{str}", "{list}", "{dict}", "{bool}", "{num}", "{dict}.a", "{dict}[{str}]", "{any}?.a", "{any}.a",
        "{list}.first({any})", "{list}[{int}]", "{any}.len()", "len({any})", "{any} + {any}", "{any} * {any}",
        "{list}.single()", "{any} -> {any}", "{any}?.len()", "{any}.foo()", "foo({any})", "{list}.max()", "-{any}",
        "{int}.switchCase({any}, {any})", "let(x => {any}, y => {any}) -> [$x, $y]", "{list}.select({any})",
        "range({int}, stop => {int})", "{nums}.sum()", "max({any}, {any})", "{any} / {any}", "{list}.where({any})",
        "call({str}, {list}, {dict})", "def(f, {any}) -> f({any})", "{any} - {any}", "switch({any} => {any})",
    ),
}  # fmt: skip
_HOLE = re.compile(r"\{\{|\}\}|\{(\w+)\}")


@st.composite
def expressions(draw: st.DrawFn, kind: str = "any", depth: int = 3, wrong: bool = True) -> str:
    """The text of an expression over `DATA` whose value should be of ``kind``; ``wrong`` parts may not fit."""
    if wrong and draw(st.integers(0, 19)) == 0:
        kind = draw(st.sampled_from(sorted(_FORMS)))
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(_LEAVES[kind]))
    form = draw(st.sampled_from(_FORMS[kind]))

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return match.group()[0]
        part = draw(expressions(name, depth - 1, wrong))
        return part if re.fullmatch(r"[\w.$]+|\d+", part) else f"({part})"

    return _HOLE.sub(fill, form)
