"""Fast paths of compiled expressions (known classes, likely receivers, batched selectors) change no result."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.yaql import compile
from vetro.yaql.context import Execution, Limits
from vetro.yaql.errors import VetroError

ROWS = [{"k": f"k{i % 3}", "v": (i * 7) % 11, "n": i} for i in range(20)]
DATA: dict[str, Any] = {
    "rows": ROWS,
    "mixed": [3, 1.5, 2, True],
    "texts": ["b", "a", "c"],
    "nulls": [{"v": 2}, {"v": None}, {"v": 1}],
    "holes": [{"v": 1, "k": "a"}, {"k": "b"}, {"v": 2}],
    "pairs": [["b", 1], ["a", 2], ["b", 3]],
    "deep": {"text": "a-b-c", "list": ["x", "y"], "map": {"a": 1}},
}
EXPRESSIONS = """
$.deep.text.split('-').join(':').toUpper()
$.deep.list.join('-')
'-'.join($.deep.list)
$.deep.map.get(a)
$.deep.map.get(b, 7)
$.deep.text.replace('a', 'b')
regex('[a-c]').replace($.deep.text, 'x')
regex('([a-c])').replace($.deep.text, 'x', 1)
regex('[a-c]').split($.deep.text)
regex('(').search($.deep.text)
$.deep.text =~ '^a'
$.deep.text !~ '^a'
$.deep.list =~ 'a'
$.deep.list !~ 'a'
$.deep.text =~ '('
$.deep.list.toUpper()
$.deep.text.get(a)
$.rows.orderBy($.v).select($.n)
$.rows.orderByDescending($.v).thenBy($.n).select($.n)
$.rows.orderBy($.k).thenByDescending($.v).select($.n)
$.rows.orderBy($.k).thenBy($.missing).select($.n)
$.rows.orderBy($.v).thenByDescending($.k).select($.n)
$.rows.orderByDescending($.k).thenByDescending($.v).select($.n)
$.rows.orderByDescending($.k).thenBy($.v).thenByDescending($.n).select($.n)
$.holes.orderBy($.k).thenBy($.v).select($.k)
$.nulls.orderBy($.v).thenBy($.missing).select($.v)
[{v => 1}, {v => 2, w => 1}].orderBy($.v).thenBy($.w)
[{v => 1, w => a}, {v => 2, w => 1}].orderBy($.v).thenBy($.w).select($.w)
[{v => 1, w => a}, {v => 1, w => 1}].orderBy($.v).thenBy($.w).select($.w)
$.rows.orderBy($.v).select($.n).take(3)
$.rows.orderBy($.v).where($.n > 3).select($.n).sum()
$.rows.orderBy($.v).any($.n = 3)
$.rows.orderBy($.k).toDict($.k, $.n)
$.rows.orderBy($.v).select($.n).len()
$.holes.orderBy($.v).select($.k)
$.holes.orderBy($.v).select($.k).take(0)
$.rows.orderBy([1 / 0, $.v]).select($.k).take(0)
$.mixed.orderBy($)
$.texts.orderByDescending($)
$.nulls.orderBy($.v).select($.v)
$.holes.orderBy($.v)
$.rows.groupBy($.k)
$.rows.groupBy($.k, $.v)
$.rows.groupBy($.k, $.v, $.sum())
$.rows.groupBy($.k, $.v, [$[0], $[1].sum()])
$.rows.groupBy($.v mod 2, $.n, [$, 1])
$.holes.groupBy($.k, $.v)
$.holes.groupBy($.v, $.k)
$.rows.groupBy([$.k, 1])
$.rows.groupBy($.k, $.n).select($[1].orderByDescending($).first())
$.pairs.toDict($[0], $[1])
$.pairs.toDict($, $[1])
$.pairs.toDict($.select($))
$.rows.select({a => $.v, b => [$.k]}).where($.a > 5).select($.b)
$.rows.select($.v + 1).where($ > 3).toList()
[$.rows.select($.v), $.deep.text]
{a => $.rows.where($.v > 100)}
""".strip().splitlines()


def outcome(text: str, tier: str) -> tuple[str, Any]:
    try:
        return "ok", compile(text, tier=tier)(DATA)
    except (VetroError, KeyError, IndexError, ValueError, TypeError, ZeroDivisionError) as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_result_is_that_of_the_closure_tier(text: str) -> None:
    assert outcome(text, "compiled") == outcome(text, "closure")


@pytest.mark.parametrize(
    "text",
    [
        "$.orderByDescending($.v).thenBy($.n).select($.n)",
        "$.groupBy($.k, $.v, $.sum())",
        "$.where($.v > 3).orderBy($.k).select($.n)",
    ],
)
def test_queries_of_rows_make_no_call_for_each_row(text: str) -> None:
    expression = compile(text, tier="compiled")
    rows = [{"k": f"k{i % 3}", "v": i % 5, "n": i} for i in range(3000)]
    assert expression(rows[:10])  # what is made when it is first needed
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call" and not frame.f_code.co_flags & inspect.CO_GENERATOR  # those go on for each item

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        expression(rows)
    finally:
        sys.setprofile(before)
    assert calls < 300


@settings(max_examples=examples(100))
@given(
    st.lists(st.fixed_dictionaries({"a": st.integers(0, 3), "b": st.sampled_from(["x", "y", ""]), "n": st.integers()})),
    st.sampled_from(["orderBy", "orderByDescending"]),
    st.sampled_from(["thenBy", "thenByDescending"]),
)
def test_two_keys_at_once_give_the_order_of_one_after_the_other_and_cost_as_much(
    rows: list[dict[str, Any]], first: str, second: str
) -> None:
    def sorted_by(key: str) -> tuple[Any, int]:
        execution = Execution(Limits())
        expression = compile(f"$.{first}($.b).{second}({key}).toList()", tier="compiled")
        return expression.evaluate(rows, execution=execution), execution.steps

    assert sorted_by("$.a") == sorted_by("$.a + 0")
