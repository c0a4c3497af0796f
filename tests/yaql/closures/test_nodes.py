from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vetro.yaql import compile
from vetro.yaql.api import grammar_of, named_dialect
from vetro.yaql.closures.nodes import build
from vetro.yaql.closures.scopes import camel
from vetro.yaql.context import CodeContext, Dialect, Execution, Limits
from vetro.yaql.environment import Env
from vetro.yaql.errors import (
    AmbiguousFunction,
    CollectionTooLarge,
    MappingTranslation,
    NoFunctionRegistered,
    NoMatchingFunction,
    NoMatchingMethod,
    NoMethodRegistered,
)
from vetro.yaql.parser import ParserDialect, parse
from vetro.yaql.resolve.signature import FunctionTable, Overload, Param, Type
from vetro.yaql.values import MISSING, FDict, HostObject, freeze

DATA = freeze({"l": [1, 2], "d": {"a": 1}, "s": "abc", "n": 3, "z": None})


def run(
    text: str, *, delegates: bool = True, legacy: bool = False, cx: CodeContext | None = None, **variables: Any
) -> Any:
    """The value of an expression as the language has it."""
    dialect = named_dialect("legacy" if legacy else "standard", delegates=delegates and not legacy)
    context = cx or CodeContext(Execution(), dialect)
    node = parse(text, grammar_of(context.dialect))
    return freeze(build(node, context.dialect)(Env({"1": DATA, **variables}, None, context)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$", DATA),
        ("$unknown", None),
        ("[1, a, null]", (1, "a", None)),
        ("[range(2), $.n]", ((0, 1), 3)),
        ("[1,, 2]", (1, MISSING, 2)),
        ("{a => $.n, 'b' + 'c' => [1]}", {"a": 3, "bc": (1,)}),
        ("{1 => a, true => b}", {1: "b"}),
        ("-3.len()", NoMatchingMethod),
        ("- $.n", -3),
        ("not $.z", True),
        ("1 and 0", 0),
        ("0 or null", None),
        ("null and $.foo.bar", None),
        ("$?.n", 3),
        ("null?.a", None),
        ("null?.foo(1)", None),
        ("null?.a.b", NoFunctionRegistered),
        ("$.l[1]", 2),
        ("$.l[index => 1]", 2),
        ("$.d[zz, 4]", 4),
        ("$.d[zz, default => 5]", 5),
        ("$.l[0, 1, 2]", NoMatchingFunction),
        ("$.'a'", NoMatchingFunction),
        ("1.true", NoMatchingFunction),
        ("{1}", NoMatchingFunction),
        ("[a => 1]", NoMatchingFunction),
        ("[1 => 2]", MappingTranslation),
        ("len(1 => 2)", MappingTranslation),
        ("foo(1 => 2)", NoFunctionRegistered),
        ("range(1, stop => 2, stop => 3)", (1, 2)),
        ("1.assert($ > 0)", 1),
        ("1.assert(condition => $ > 1)", AssertionError),
        ("concat()", AmbiguousFunction),
        ("$.l.select(selector => $ + 1)", (2, 3)),
    ],
)
def test_expressions(text: str, expected: Any) -> None:
    if isinstance(expected, type):
        with pytest.raises(expected):
            run(text)
    else:
        assert run(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("let(x => 2) -> $x * $.n", 6),
        ("let(1, a => 2) -> [$, $a]", (1, 2)),
        ("let(,1) -> [$.n, $2]", (3, 1)),
        ("let(1, 2) -> [$1, $2]", (1, 2)),
        ("[let(x => 2) -> $x, $x]", (2, None)),
        ("let(x => 1) -> let(y => 2) -> $x + $y", 3),
        ("let(c => let(x => 7)) -> ($c -> $x)", 7),
        ("let(c => let(x => 7)) -> $c.x", NoFunctionRegistered),
        ("let(range(2)) -> [$.len(), $.len()]", (2, 0)),
        ("with(1, 2) -> $2", 2),
        ("with(a => 1) -> $a", NoMatchingFunction),
        ("$.l.unpack() -> [$1, $2]", (1, 2)),
        ("$.l.unpack(a, b) -> [$b, $a]", (2, 1)),
        ("range(3).unpack() -> [$1, $2, $3]", (0, 1, 2)),
        ("$.l.unpack(a) -> 1", ValueError),
        ("range(5).unpack(a) -> 1", ValueError),
        ("$.l.unpack(a, 1)", NoMatchingMethod),
        ("5 -> 3", NoMatchingFunction),
        ("null -> 3", NoMatchingFunction),
        ("$.l.select(let(y => $) -> [3].select($ + $y))", ((4,), (5,))),
    ],
)
def test_scopes(text: str, expected: Any) -> None:
    if isinstance(expected, type):
        with pytest.raises(expected):
            run(text)
    else:
        assert run(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def(f, $ + 1) -> f(2)", 3),
        ("def(f, 7) -> [f(), f(1)]", (7, 7)),
        ("def(f, $ * $k) -> f(2, k => 5)", 10),
        ("def(f, [$1, $2]) -> f(1,, 2)", (1, None)),
        ("def(f, switch($ < 2 => 1, true => $ * f($ - 1))) -> f(4)", 24),
        ("def(my_f, 5) -> myF()", 5),
        ("def(my_f, 5) -> my_f()", NoFunctionRegistered),
        ("def('a' + 'b', 5) -> ab()", 5),
        ("def(name => f, func => $ + 1) -> f(1)", 2),
        ("def(1, 5)", NoMatchingFunction),
        ("def($.n, 5)", NoMatchingFunction),
        ("def(f, 5) -> 3.f()", NoMethodRegistered),
        ("def(len, 5) -> len(null)", 5),
        ("def(concat, 5) -> concat()", 5),
        ("def(coalesce, 5) -> coalesce(1)", AmbiguousFunction),
        ("def(dict, 5) -> dict()", AmbiguousFunction),
        ("def(switch, 1) -> switch(1 => 2)", MappingTranslation),
        ("def(f, 1) -> def(g, f() + 1) -> g()", 2),
        ("let(c => def(f, 7)) -> ($c -> f())", 7),
        ("let(c => def(f, 7)) -> f()", NoFunctionRegistered),
        ("def(f, $.n) -> $.l.select(f({n => $}))", (1, 2)),
    ],
)
def test_functions_of_the_expression(text: str, expected: Any) -> None:
    if isinstance(expected, type):
        with pytest.raises(expected):
            run(text)
    else:
        assert run(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call(max, [3, 9], {})", 9),
        ("call('#operator_+', [3, 4], {})", 7),
        ("call('*equal', [1, 1], {})", True),
        ("call(len, [], {}, $.l)", 2),
        ("call(select, [5], {}, $.l)", (5, 5)),
        ("call(range, [], {stop => 3})", (0, 1, 2)),
        ("call(range, [1], {stop => 3})", (1, 2)),
        ("call(let, [1], {a => 2}) -> [$, $a]", (1, 2)),
        ("call(unpack, [a, b], {}, $.l) -> $b", 2),
        ("call(def, [f, 5], {}) -> f()", 5),
        ("def(f, $ + 1) -> call(f, [1], {})", 2),
        ("call(switch, [], {a => 3})", 3),
        ("call(coalesce, [null, 5], {})", 5),
        ("call(foo, [], {})", NoFunctionRegistered),
        ("call(foo, [], {}, 1)", NoMethodRegistered),
        ("call(max, [3], {})", NoMatchingFunction),
        ("call(max, [3, 9])", NoMatchingFunction),
        ("call(max, [3, 9], null)", NoMatchingFunction),
        ("call(max, [], {1 => 2})", TypeError),
        ("call('#get_context_data', ['$'], {})", DATA),
    ],
)
def test_dynamic_calls(text: str, expected: Any) -> None:
    if isinstance(expected, type):
        with pytest.raises(expected):
            run(text)
    else:
        assert run(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lambda($ + 1)(3)", 4),
        ("let(f => lambda($ + $x)) -> $f(2, x => 3)", 5),
        ("let(f => lambda($.n)) -> $f()", 3),
        ("let(x => 1, f => lambda($x + $)) -> $f(1)", NoMatchingFunction),
        ("let(x => 1) -> let(f => lambda($x)) -> let(x => 2) -> $f()", 1),
        ("5(1)", NoMatchingFunction),
        ("$.s(1)", NoMethodRegistered),
        ("($.s)(1)", NoMatchingFunction),
    ],
)
def test_values_that_can_be_called(text: str, expected: Any) -> None:
    if isinstance(expected, type):
        with pytest.raises(expected):
            run(text)
    else:
        assert run(text) == expected


def test_lambda_is_unknown_unless_allowed() -> None:
    with pytest.raises(NoFunctionRegistered):
        run("lambda($)", delegates=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a => 1", ("a", 1)),
        ("1 => 2 => 3", (1, 2, 3)),
        ("(1 => 2) => 3", ((1, 2), 3)),
        ("1 => (2 => 3)", (1, (2, 3))),
        ("let(a => 1) -> $", ("a", 1)),
        ("$.d.zz", None),
        ("[1, 2].as(len($) => n) -> $n", 2),
        ("[1, 2].as($ => x).len()", 2),
        ("[1, 2].as(len($) => x).select($ + $x)", (3, 4)),
        ("[1, 2].as(len($) => x) -> [$.n, $0, $x]", (3, (1, 2), 2)),
        ("[1, 2].as(1)", ValueError),
        ("$.l[0]", 1),
    ],
)
def test_the_legacy_dialect(text: str, expected: Any) -> None:
    if isinstance(expected, type):
        with pytest.raises(expected):
            run(text, legacy=True)
    else:
        assert run(text, legacy=True) == expected


def test_camel_case_of_defined_names() -> None:
    assert [camel(n) for n in ("f", "my_f", "a_b_c", "_f", "f_", "a__b", "aB")] == [
        "f", "myF", "aBC", "_f", "f", "a__b", "aB",
    ]  # fmt: skip


class Thing(HostObject):
    """An object of a host language with one attribute and one method."""

    def __repr__(self) -> str:
        return "<Thing>"

    def yaql_attribute(self, name: str, context: Any) -> Any:
        if name != "size":
            raise AttributeError(name)
        return 42

    def yaql_method(self, name: str, context: Any) -> Callable[..., Any] | None:
        return (lambda *args, **named: (args, named)) if name == "where" else None


class HostContext(CodeContext):
    __slots__ = ()

    def find_extension(self, name: str, receiver: Any) -> Callable[..., Any] | None:
        return (lambda *args: ("extended", receiver, args)) if name in ("twice", "len") else None


def test_methods_of_host_objects_get_evaluated_arguments() -> None:
    thing = Thing()
    assert run("$t.where($.n + 1, k => $.s)", t=thing) == ((4,), {"k": "abc"})
    assert run("$t.size", t=thing) == 42
    assert run("[$t, $t].size", t=thing) == (42, 42)
    assert run("call(where, [1], {k => 2}, $t)", t=thing) == ((1,), {"k": 2})
    with pytest.raises(NoMatchingMethod, match="for receiver <Thing>"):
        run("$t.len()", t=thing)
    with pytest.raises(NoMethodRegistered, match="for receiver <Thing>"):
        run("$t.foo()", t=thing)


def test_extensions_of_the_host_go_before_the_library() -> None:
    cx = HostContext(Execution(), named_dialect("standard"))
    assert run("$.n.twice($.s)", cx=cx) == ("extended", 3, ("abc",))
    assert run("$.l.len()", cx=cx) == ("extended", (1, 2), ())
    assert run("$.l.count()", cx=cx) == 2
    assert run("call(twice, [1], {}, 5)", cx=cx) == ("extended", 5, (1,))


def test_operators_of_the_host_are_functions_of_its_table() -> None:
    table = FunctionTable(parent=named_dialect("standard").table)
    params = (Param("left"), Param("right"))
    table.add(Overload("#operator_is", lambda left, right: ("is", left, right), params, "F", False))
    table.add(Overload("#operator_:", lambda left, right: (":", left, right), params, "F", False))
    table.add(Overload("#unary_operator_:", lambda name: (":", name), (Param("name", Type.STR),), "F", False))
    dialect = Dialect(name="host", table=table, operators=(("is", 7, "binary"), (":", 0, "binary"), (":", 0, "unary")))
    cx = CodeContext(Execution(), dialect)
    assert grammar_of(dialect) == ParserDialect(murano=True)
    assert run("$.n is :Foo", cx=cx) == ("is", 3, (":", "Foo"))
    assert run("std:Foo", cx=cx) == (":", "std", "Foo")


def test_left_chains_of_any_length_are_evaluated() -> None:
    value: Any = 1
    for _ in range(1500):
        value = FDict(a=value)
    assert run(" + ".join(["1"] * 1900)) == 1900
    assert run("$x" + ".a" * 1500, x=value) == 1
    assert run(" or ".join(["null"] * 1500 + ["5"])) == 5
    assert run("$.l" + ".toList()" * 800 + "[0]") == 1
    assert run("let(x => 1) -> " + " + ".join(["$x", "$.n"] * 300)) == 1200


def test_displays_respect_the_item_limit() -> None:
    cx = CodeContext(Execution(Limits(max_sequence=5)), named_dialect("standard"))
    with pytest.raises(CollectionTooLarge):
        run("[range(6)]", cx=cx)
    with pytest.raises(CollectionTooLarge):
        run("{a => range(6)}", cx=cx)
    assert run("[range(5)]", cx=cx) == ((0, 1, 2, 3, 4),)


def test_nothing_is_evaluated_when_the_shape_is_wrong() -> None:
    with pytest.raises(NoMatchingFunction) as caught:
        run("len(1, 1 / 0)")
    assert caught.value.message == 'No function "len" matches supplied arguments (int, expression)'
    with pytest.raises(NoMethodRegistered):
        run("1.foo(1 / 0)")


def test_arguments_are_evaluated_once_from_left_to_right() -> None:
    seen: list[str] = []

    def note(tag: str) -> str:
        seen.append(tag)
        return tag

    table = FunctionTable(parent=named_dialect("standard").table)
    table.add(Overload("note", note, (Param("tag", Type.STR),), "F", False))
    cx = CodeContext(Execution(), Dialect(name="noting", table=table))
    run("concat(note(a), note(b), note(c)) + note(d)", cx=cx)
    assert seen == ["a", "b", "c", "d"]


def test_closures_may_be_used_again() -> None:
    expression = compile("$.l.where($ > $x).select($ * $x)")
    assert expression({"l": [1, 2, 3]}, x=1) == [2, 3]
    assert expression({"l": [1, 2, 3]}, x=2) == [6]
