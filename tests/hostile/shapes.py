# ruff: noqa: E501 - tables of attacks read best with one attack a line
"""Attacks with values of bad shape: a million levels deep, lists that hold each other, keys of which all hashes are equal."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Any

from tests.hostile.arena import Attacks
from tests.hostile.run import LIMITS, PATIENT, healthy, method
from vetro.yaql.api import compile
from vetro.yaql.errors import CollectionTooLarge, VetroError, kind_of
from vetro.yaql.values import FDict, FSet, check_depth, freeze, thaw

attacks = Attacks(healthy)
LIMIT = "limit-exceeded"


#: Instructions that make ``$v`` and, in the same way, ``$w``.
def _loop(start: str, step: str, rounds: int = 100_000) -> str:
    lines = [f'- ${name}: !yaql "{start}"' for name in "vw"]
    lines += ["- For: i", f"  In: range({rounds})", "  Do:"]
    lines += [f'    - ${name}: !yaql "{step.replace("$v", "$" + name)}"' for name in "vw"]
    return "\n".join(lines)


SHAPES = {
    "deep": _loop("null", "[$v]"),
    "deep-map": _loop("null", "{a => $v}"),
    "deep-pairs": _loop("null", "[[{a => $v}], $i]"),
    "deep-set": _loop("1", "[set(1, 2), $v]"),
    "dag": _loop("[1, x]", "[$v, $v]", 60),
    "thin-dag": _loop("[]", "[$v, $v]", 60),
    "map-dag": _loop("{}", "{a => $v, b => $v}", 60),
    "wide": _loop("[[1] * 100000] * 100000", "$v", 1),
    "wide-nested": _loop("[[[]] * 100000] * 100000", "$v", 1),
    "long-texts": _loop("['x' * 4000000] * 100000", "$v", 1),
    "long-text": _loop("'x' * 4000000", "$v", 1),
    "many-bits": _loop("pow(7, 5000)", "$v", 1),
}
#: Like others, which are always tried (dag, wide, deep): these are with VETRO_TEST_ALL=1.
ALIKE = frozenset({"map-dag", "thin-dag", "wide-nested", "long-texts", "deep-map", "deep-pairs", "deep-set"})
#: What is done with them. Nothing here may do more than fail.
USES = {
    "equal": "$v = $w", "different": "$v != $w", "in": "$v in [$w]", "in-many": "$v in [$w] * 100000", "set": "set($v)",
    "to-set": "[$v, $w].toSet().len()", "key": "{$v => 1}", "dict": "dict([[$v, 1]])", "to-dict": "[$v].toDict($)",
    "fused-to-dict": "[$v].where(true).toDict($, 1)", "get": "{a => 1}.get($v)", "index": "{a => 1}[$v]",
    "index-default": "{a => 1}[$v, 2]", "contains-key": "{a => 1}.containsKey($v)", "contains-value": "{a => $w}.containsValue($v)",
    "distinct": "[$v, $w].distinct().len()", "group": "[$v, $w].groupBy($).len()", "index-of": "[$w].indexOf($v)",
    "last-index-of": "[$w].lastIndexOf($v)", "contains": "[$w].contains($v)", "str": "str($v).len()", "format": "format('{0}', $v).len()",
    "format-fast": "format('{0}-{1}', $v, $w).len()", "join": "[$v].join(',').len()", "flatten": "$v.flatten().len()",
    "delete-key": "{a => 1}.delete($v)", "set-key": "{a => 1}.set($v, 1)", "merge": "{a => $v}.mergeWith({a => $w}).len()",
    "order": "[$v, $w].orderBy($).toList().len()", "max": "max($v, $w)", "sum": "[$v, $w].sum().len()", "len": "$v.len()",
    "less": "$v < $w", "union": "set(1).union(set($v))", "remove": "set(1).remove($v)", "in-set": "$v in set(1)",
    "assert": "$v.assert(false)", "bad-call": "noSuch($v)", "bad-method": "$v.noSuch($w)", "bad-operator": "$v - 1",
    "int": "int($v)", "coalesce": "coalesce($v, 1) = 1", "switch": "switch($v => 1)", "and": "$v and true", "bind": "bind('$x{a}', {a => $v}).len()",
    "bind-deep": "bind($v, {a => 1}) = 1", "patch": "patch($v, [{op => test, path => '', value => $w}])", "yaml": "yamlDump($v).len()",
    "json": "jsonPath($v, '$..a')", "zip": "$v.zip($w).toList().len()", "hash-of-set": "set(set(1), $v)", "decycle": "generate($v, true, $, decycle => true).len()",
    "replace": "'abc'.replace({$v => 1})", "keywords": "call(len, [$v], {a => $w})", "call-name": "call($v, [], {})", "repeat": "[$v] * 3 = [$w] * 3",
    "delete": "$v.delete($w)", "aggregate": "[$v, $w].aggregate($1 = $2)", "slice": "$v.sliceWhere($ = $w).len()", "is": "isList($v)",
    "regex": "'a' =~ $v", "let": "let(a => $v) -> $a = $w", "range": "range($v)", "int-key": "{1 => 2}[$v]", "split": "'a'.split($v)",
    "int-index": "[1][$v]", "cast": "cast($v, ':Main')", "new": "new(':Main', x => $v)", "dump": "dump($v)", "str-of-call": "str([$v]).len()",
}  # fmt: skip
KINDS = (
    "ok", LIMIT, "unresolved-call", "bad-argument", "value-error", "key-error", "index-error", "assertion-failed",
    "contract-violation", "not-found", "property-error", "error", "thrown", "invalid-operation", "invalid-assignment-target", "package-not-found", "object-not-found", "uninitialized-property",
)  # fmt: skip

REST = """\
  take: {Arguments: [{v: {Contract: $.int().notNull()}}], Body: [{Return: $v}]}
  texts: {Arguments: [{v: {Contract: [$.string()]}}], Body: [{Return: $v}]}
  maps: {Arguments: [{v: {Contract: {$.string(): $.string()}}}], Body: [{Return: $v}]}
  same: {Arguments: [{v: {Contract: $}}], Body: [{Return: 1}]}
  checked: {Arguments: [{v: {Contract: $.check($ = 1)}}], Body: [{Return: 1}]}
  template: {Arguments: [{v: {Contract: $.template(std:Object)}}], Body: [{Return: 1}]}
  object: {Arguments: [{v: {Contract: $.class(std:Object)}}], Body: [{Return: 1}]}
  synchronized:
    Meta: [{m:engine.Synchronize: {onThis: false, onArgs: v}}]
    Arguments: [{v: {Contract: $}}]
    Body: [{Return: 1}]
Properties:
  x: {Contract: $, Usage: InOut, Default: null}
  t: {Contract: $.string(), Usage: InOut, Default: null}
"""
#: Instructions that use the values.
STATEMENTS = {
    "throw": "- Throw: Oops\n  Message: $v\n  Extra: {v: $w}",
    "throw-name": "- Throw: $v",
    "throw-catch": "- Try:\n  - Throw: Oops\n    Message: $v\n    Extra: {a: $w}\n  Catch:\n  - As: e\n    Do: [{Return: $e.message = $w}]",
    "match": "- Match: {1: [], a: []}\n  Value: $v",
    "assign-index": "- $x: {}\n- $x[$v]: 1",
    "assign-index-property": "- $.x: {}\n- $.x[$v]: 1",
    "assign-list": "- $x: [1]\n- $x[$v]: 1",
    "map-template": "- $x: {$v: 1}",
    "for": "- For: j\n  In: $v\n  Do: []",
    "while": "- While: $v = $w\n  Do: [{Break: }]",
    "repeat": "- Repeat: $v\n  Do: []",
    "limit": "- Parallel: [{Do: []}]\n  Limit: $v",
    "sleep": "- sleep($v)",
    "property": "- $.x: $v\n- Return: $.x = $w",
    "text-property": "- $.t: $v",
    "take": "- $.take($v)", "texts": "- $.texts([$v])", "maps": "- $.maps({a => $v})", "same": "- $.same($v)",
    "checked": "- $.checked($v)", "template": "- $.template({'?' => {type => 'io.murano.Object'}, a => $v})",
    "object": "- $.object({'?' => {type => $v}})", "object-id": "- $.object($v)",
    "synchronized": "- Parallel:\n  - $.synchronized($v)\n  - $.synchronized($w)",
    "unknown-argument": "- $.same(q => $v)", "unknown-method": "- $v.m()", "unknown-property": "- Return: $v.prop",
    "parallel": "- Parallel:\n  - $x: $v = $w\n  - $y: $w = $v",
    "return": "- Return: $v",
    "attribute": "- $.setAttr(a, $v)\n- Return: $.getAttr(a) = $w",
    "rethrow": "- Try: [{$x: $v}]\n  Finally: [{$y: $v}]",
}  # fmt: skip


QUICK = replace(LIMITS, max_seconds=0.04)


def _instructions(group: str) -> dict[str, str]:
    if group == "statements":
        return STATEMENTS
    return {name: f'- Return: !yaql "{text}"' for name, text in USES.items()}


def _alone(shape: str, group: str) -> None:
    """Each use in a run of its own: the messages of errors are looked at as well."""
    wrong: list[str] = []
    for name, text in _instructions(group).items():
        try:
            method(f"- $v: null\n- $w: null\n{SHAPES[shape]}\n{text}", rest=REST, limits=QUICK)
        except BaseException as error:
            message = str(error)
            if kind_of(error) not in KINDS or len(message) > 6000:
                wrong.append(f"{name}: {kind_of(error)}, {len(message)} characters: {message[:100]}")
    assert not wrong, wrong


def _together(shape: str, group: str) -> None:
    """All uses in one run, because the value takes long to make; the package catches what it can."""
    lines = ["- $v: null", "- $w: null", SHAPES[shape]]
    for text in _instructions(group).values():
        if "Parallel" in text or "bind(" in text:
            continue
        lines += [
            "- Try:",
            *("  " + line for line in text.replace("- Return:", "- $r:").split("\n")),
            "  Catch:",
            "    Do: []",
        ]
    method("\n".join([*lines, "- Return: 1"]), rest=REST, limits=replace(LIMITS, max_steps=20_000_000, max_seconds=3.0))


for _shape in SHAPES:
    if _shape in ALIKE and os.environ.get("VETRO_TEST_ALL") != "1":
        continue
    for _group in ("expressions", "statements"):
        if (_shape, _group) == ("wide", "expressions") and os.environ.get("VETRO_TEST_ALL") != "1":
            continue  # four seconds, and the statements find the same
        if _group == "expressions" and _shape in ("deep-map", "deep-pairs", "thin-dag", "wide-nested"):
            continue  # their like is tried already
        if _shape.startswith("deep"):
            attacks("ok", LIMIT, seconds=8.0, mebibytes=300, name=f"{_shape}-{_group}")(
                partial(_together, _shape, _group)
            )
        else:
            attacks("ok", seconds=15.0, mebibytes=500, name=f"{_shape}-{_group}")(partial(_alone, _shape, _group))


@attacks(LIMIT, name="a-million-levels-in-a-set", seconds=6.0, mebibytes=300)
def _million() -> None:
    value: Any = ()
    for _ in range(1_000_000):
        value = (value,)
    assert thaw(freeze(value)) is not None
    for use in (lambda: hash(FDict({1: value})), lambda: check_depth(value), lambda: compile("$ in set(1)")(value)):
        try:
            use()
        except VetroError as error:
            assert kind_of(error) == LIMIT
        else:
            raise AssertionError("the depth was not seen")
    compile("set($)")(value)


@attacks("ok", name="results-of-dags")
def _results() -> None:
    value: Any = (1,)
    for _ in range(60):
        value = (value, value)
    for use in (lambda: thaw(value, 100_000), lambda: compile("$", limits=PATIENT)(value)):
        try:
            use()
        except CollectionTooLarge:
            continue
        raise AssertionError("2**60 items were written out")
    assert len(repr(FSet([1, 2]))) < 20
    assert freeze(value) is value
