from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import vetro.yaql
from vetro.yaql import Env, Execution, Limits, Options, compile, evaluate, named_dialect
from vetro.yaql.context import CodeContext, Dialect
from vetro.yaql.errors import (
    CollectionTooLarge,
    GrammarError,
    LexicalError,
    LimitExceeded,
    MemoryQuotaExceeded,
    NestingTooDeep,
    NoFunctionRegistered,
    StepsExceeded,
)
from vetro.yaql.resolve.signature import FunctionTable, Overload, Param
from vetro.yaql.values import FDict


def test_an_expression_is_called_with_data_and_variables() -> None:
    expression = compile("$.where($.age > $limit).name")
    people = [{"name": "Ann", "age": 40}, {"name": "Bob", "age": 20}]
    assert expression(people, limit=30) == ["Ann"]
    assert expression(people, limit=10) == ["Ann", "Bob"]
    assert repr(expression) == "<Expression '$.where($.age > $limit).name'>"


def test_without_data_the_dollar_is_null() -> None:
    assert evaluate("$") is None
    assert evaluate("$x", x=[1]) == [1]
    assert evaluate("[$, $1, $data, $text]", 5, data=6, text=7) == [5, 5, 6, 7]


@pytest.mark.parametrize(
    ("text", "data", "expected"),
    [
        ("$", (1, (2,)), [1, [2]]),
        ("$", {"a": ({"b": 1},)}, {"a": [{"b": 1}]}),
        ("$.toSet()", [1, 1, 2], {1, 2}),
        ("range(3)", None, [0, 1, 2]),
        ("[range(2), {a => range(1)}]", None, [[0, 1], {"a": [0]}]),
        ("$.keys()", {"a": 1}, {"a"}),
        ("$.values()", {"a": 1}, [1]),
        ("$.orderBy(-$)", [1, 2], [2, 1]),
        ("$", "text", "text"),
        ("$", b"raw", b"raw"),
    ],
)
def test_results_are_plain_data(text: str, data: Any, expected: Any) -> None:
    result = compile(text)(data)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize("text", ["{a => 1}.items()", "{[1] => 2}", "{{} => 2}", "set([1])"])
def test_results_that_have_no_plain_form(text: str) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        compile(text)()


def test_options_of_the_output() -> None:
    assert compile("{a => 1}.items()", options=Options(convert_sets_to_lists=True))() == [["a", 1]]
    tuples = compile("[1, [2]]", options=Options(convert_tuples_to_lists=False))()
    assert tuples == (1, (2,))
    raw = compile("[1, {a => 2}]", options=Options(convert_output_data=False))()
    assert raw == (1, FDict(a=2)) and type(raw[1]) is FDict
    assert compile("{a => 1}.where($ = a)", options=Options(iterable_dicts=True))() == ["a"]


def test_options_of_the_input() -> None:
    data = [1]
    assert compile("$").evaluate(data) == (1,)
    assert compile("$", options=Options(convert_input_data=False)).evaluate(data) is data


def test_limits_as_options() -> None:
    limited = Options(limit_iterators=3)
    assert compile("range(3)", options=limited)() == [0, 1, 2]
    for text, data in (
        ("range(4)", None),
        ("sequence()", None),
        ("$", {"a": [1, 2, 3, 4]}),
        ("$", dict.fromkeys("abcd")),
    ):
        with pytest.raises(CollectionTooLarge):
            compile(text, options=limited)(data)
    with pytest.raises(MemoryQuotaExceeded):
        compile("'x' * 10000", options=Options(memory_quota=1000))()
    assert compile("range(4)", options=Options(limit_iterators=-1))() == [0, 1, 2, 3]


def test_budgets() -> None:
    with pytest.raises(StepsExceeded):
        compile("sequence().where(false).first()", limits=Limits(max_steps=10_000))()
    with pytest.raises(LimitExceeded):
        compile("range(10000).aggregate($1 * 10, 1)")()
    execution = Execution(Limits(max_steps=2_000))
    expression = compile("range(1000).len()")
    assert expression.evaluate(execution=execution) == 1000
    with pytest.raises(StepsExceeded):
        for _ in range(3):
            expression.evaluate(execution=execution)
    assert expression() == 1000


@pytest.mark.parametrize(
    "text",
    ["def(f, f($)) -> f(1)", "def(f, [1].select(f($)).toList()) -> f(1)", "def(f, f($) + 1) -> def(g, f(1)) -> g()"],
)
def test_endless_recursion_is_a_named_error(text: str) -> None:
    with pytest.raises(NestingTooDeep):
        compile(text)()


def test_deep_results_and_data_cost_no_stack() -> None:
    data: Any = []
    for _ in range(50_000):
        data = [data]
    result = compile("$")(data)
    depth = 0
    while result:
        result = result[0]
        depth += 1
    assert depth == 50_000


def test_parse_errors_carry_the_position() -> None:
    with pytest.raises(LexicalError) as lexical:
        compile("1 + #")
    assert lexical.value.position == 4
    with pytest.raises(GrammarError):
        compile("")


def test_dialects_by_name_and_as_objects() -> None:
    assert compile("{a => 1}.zz", dialect="legacy")() is None
    with pytest.raises(KeyError):
        compile("{a => 1}.zz")()
    assert compile("1 => 2", dialect="legacy")() == (1, 2)
    assert compile("[$.where($ > 1), $]", dialect="legacy")([1, 2]) == ((2,), (1, 2))
    assert compile("$.where($ > 1)", dialect="legacy")([1, 2]) == [2]
    with pytest.raises(ValueError, match="unknown dialect 'klingon'"):
        compile("1", dialect="klingon")
    table = FunctionTable(parent=named_dialect("standard").table)
    table.add(Overload("twice", lambda x: x * 2, (Param("x"),), "FM", False))
    own = Dialect(name="own", table=table)
    assert compile("twice(2) + 3.twice()", dialect=own)() == 10
    with pytest.raises(NoFunctionRegistered):
        compile("twice(2)")()


@pytest.mark.parametrize("tier", ["auto", "closure"])
def test_a_function_of_the_host_stands_for_the_built_in_one(tier: str) -> None:
    """Also at the end of queries, which are fused where the library's own functions are meant."""
    table = FunctionTable(parent=named_dialect("standard").table)
    for name in ("sum", "len"):
        table.add(Overload(name, lambda xs, name=name: f"{name} of {sorted(xs)}", (Param("xs"),), "FM", False))
    own = Dialect(name="own", table=table)
    for text, value in {
        "sum([1])": "sum of [1]",
        "[2, 1].sum()": "sum of [1, 2]",
        "[1, 2, 3].where($ > 1).select($ * 2).sum()": "sum of [4, 6]",
        "$.select($ + 1).len()": "len of [2]",
    }.items():
        assert compile(text, dialect=own, tier=tier)([1]) == value


@pytest.mark.parametrize("tier", ["auto", "closure"])
def test_delegates_are_off_by_default(tier: str) -> None:
    assert compile("let(f => lambda($ + 1)) -> $f(2)", allow_delegates=True, tier=tier)() == 3
    assert compile("[1, 2].select(lambda($ + 1)($))", allow_delegates=True, tier=tier)() == [2, 3]
    with pytest.raises(GrammarError):
        compile("$f(2)")


def test_tiers() -> None:
    assert compile("1 + 1", tier="closure")() == 2
    assert compile("1 + 1", tier="auto")() == 2
    with pytest.raises(ValueError, match="unknown tier"):
        compile("1", tier="quantum")


def test_evaluate_without_conversion_and_in_a_scope() -> None:
    expression = compile("[$, $x]")
    assert expression.evaluate([1], context={"x": {"a": 1}}) == ((1,), FDict(a=1))
    assert expression.evaluate([1], context={"x": 2}, convert=True) == [[1], 2]
    scope = Env({"1": 5, "x": 6}, None, CodeContext(Execution(), named_dialect("standard")))
    assert expression.evaluate(context=scope) == (5, 6)
    assert expression.evaluate(7, context=scope) == (7, 6)
    lazy = compile("range(2)").evaluate()
    assert isinstance(lazy, Iterator)
    assert list(lazy) == [0, 1]


def test_host_errors_pass_through() -> None:
    for text, error in (
        ("{}[a]", KeyError),
        ("[][0]", IndexError),
        ("1 / 0", ZeroDivisionError),
        ("int(x)", ValueError),
    ):
        with pytest.raises(error):
            compile(text)()


def test_threads_may_share_an_expression() -> None:
    expression = compile("range($).select($ * 2).sum(0)")
    results: dict[int, Any] = {}

    def work(n: int) -> None:
        results[n] = [expression(n) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: [n * (n - 1)] * 50 for n in range(1, 9)}


def test_importing_the_language_loads_neither_library_nor_compiler() -> None:
    code = (
        "import sys, vetro.yaql; "
        "print(sorted(m for m in sys.modules if m.startswith(('vetro.yaql.library.', 'vetro.yaql.codegen', 're2'))))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_public_names_exist() -> None:
    for name in vetro.yaql.__all__:
        assert getattr(vetro.yaql, name).__doc__


def test_options_that_are_given_hold_in_the_legacy_grammar_too() -> None:
    text = "list(1, 2 => 3)"
    assert compile(text, dialect="legacy")() == (1, (2, 3))
    assert compile(text, dialect="legacy", options=Options())() == [1, [2, 3]]
