from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

import pytest

from vetro.yaql.api import compile, named_dialect
from vetro.yaql.context import CodeContext, Execution, Limits
from vetro.yaql.errors import (
    LimitExceeded,
    MemoryQuotaExceeded,
    NestingTooDeep,
    NoFunctionRegistered,
    NoMatchingFunction,
)
from vetro.yaql.resolve import operators as op
from vetro.yaql.values import FDict, FSet, HostObject

DAY = datetime.timedelta(days=1)
UTC = datetime.UTC
NAIVE = datetime.datetime(2020, 1, 1)
AWARE = datetime.datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def cx() -> CodeContext:
    return CodeContext(Execution(), named_dialect("standard"))


@pytest.fixture
def old() -> CodeContext:
    return CodeContext(Execution(), named_dialect("legacy"))


@pytest.fixture
def small() -> CodeContext:
    return CodeContext(Execution(Limits(max_expression_memory=10_000, max_integer_bits=64)), named_dialect("standard"))


class Thing(HostObject):
    def yaql_attribute(self, name: str, context: Any) -> Any:
        return f"{name} of thing"


Operator = Callable[..., Any]


@pytest.mark.parametrize(
    ("function", "left", "right", "expected"),
    [
        (op.add, 1, 2, 3),
        (op.add, 1, 2.5, 3.5),
        (op.add, "a", "b", "ab"),
        (op.add, (1,), (2,), (1, 2)),
        (op.add, FDict(a=1, b=1), FDict(b=2, c=3), {"a": 1, "b": 2, "c": 3}),
        (op.add, FSet((1,)), FSet((2, 1)), {1, 2}),
        (op.add, DAY, DAY, 2 * DAY),
        (op.add, NAIVE, DAY, AWARE + DAY),
        (op.add, DAY, AWARE, AWARE + DAY),
        (op.sub, 5, 7, -2),
        (op.sub, FSet((1, 2)), FSet((2,)), {1}),
        (op.sub, FDict(a=1, b=2).keys(), FSet(("a",)), {"b"}),
        (op.sub, AWARE, NAIVE, datetime.timedelta()),
        (op.sub, AWARE, DAY, AWARE - DAY),
        (op.mul, 3, 4, 12),
        (op.mul, "ab", 2, "abab"),
        (op.mul, True, "ab", "ab"),
        (op.mul, (1,), 3, (1, 1, 1)),
        (op.mul, -1, "ab", ""),
        (op.mul, (1, 2), -1, ()),
        (op.mul, 2, DAY, 2 * DAY),
        (op.div, -7, 2, -4),
        (op.div, 7, 2.0, 3.5),
        (op.div, DAY, DAY / 2, 2.0),
        (op.div, DAY, 2, DAY / 2),
        (op.mod, -7, 3, 2),
        (op.mod, 5, -3, -1),
        (op.mod, 5.5, 2, 1.5),
        (op.less, 1, 1.5, True),
        (op.less, "a", "b", True),
        (op.less, FSet((1,)), FSet((1, 2)), True),
        (op.less, FSet((1,)), FSet((1,)), False),
        (op.less_equal, FSet((1,)), FSet((1,)), True),
        (op.greater, NAIVE + DAY, AWARE, True),
        (op.greater_equal, DAY, DAY, True),
        (op.equal, 1, True, True),
        (op.equal, 1, 1.0, True),
        (op.equal, "1", 1, False),
        (op.equal, (1, (2,)), (1, (2,)), True),
        (op.equal, (1,), FSet((1,)), False),
        (op.equal, FDict(a=(1,)), FDict(a=(1,)), True),
        (op.not_equal, (1,), (2,), True),
        (op.not_equal, None, None, False),
        (op.contains, "b", "abc", True),
        (op.contains, 1, (1.0,), True),
        (op.contains, (1,), ((1,), 2), True),
        (op.contains, "a", FDict(a=1).keys(), True),
        (op.contains, 3, FSet((1,)), False),
        (op.matches, "xaby", "a.", True),
        (op.not_matches, "xaby", "^a", True),
    ],
)
def test_what_each_operator_gives(cx: CodeContext, function: Operator, left: Any, right: Any, expected: Any) -> None:
    result = function(cx, left, right)
    assert result == expected
    assert isinstance(result, bool) == isinstance(expected, bool)


@pytest.mark.parametrize("other", [0, "", (), True, FDict(), FSet(), DAY])
def test_null_sorts_below_everything(cx: CodeContext, other: Any) -> None:
    assert op.less(cx, None, other) and op.less_equal(cx, None, other)
    assert not op.greater(cx, None, other) and not op.greater_equal(cx, None, other)
    assert op.greater(cx, other, None) and op.greater_equal(cx, other, None)
    assert not op.less(cx, other, None) and not op.less_equal(cx, other, None)


def test_null_equals_null_in_order(cx: CodeContext) -> None:
    assert op.less_equal(cx, None, None) and op.greater_equal(cx, None, None)
    assert not op.less(cx, None, None) and not op.greater(cx, None, None)


@pytest.mark.parametrize(
    ("function", "left", "right", "name", "kinds"),
    [
        (op.add, "a", 1, "+", "str, int"),
        (op.add, 1, None, "+", "int, null"),
        (op.add, True, 1, "+", "bool, int"),
        (op.add, (1,), 2, "+", "list, int"),
        (op.sub, (1,), (2,), "-", "list, list"),
        (op.sub, DAY, NAIVE, "-", "timespan, datetime"),
        (op.mul, True, 3, "*", "bool, int"),
        (op.mul, 1.5, "a", "*", "float, str"),
        (op.div, "a", 2, "/", "str, int"),
        (op.mod, DAY, DAY, "mod", "timespan, timespan"),
        (op.less, True, 2, "<", "bool, int"),
        (op.less_equal, (1,), (2,), "<=", "list, list"),
        (op.greater, 1, "a", ">", "int, str"),
        (op.greater_equal, FDict(), FDict(), ">=", "dict, dict"),
        (op.contains, "a", FDict(a=1), "in", "str, dict"),
        (op.contains, 1, None, "in", "int, null"),
        (op.contains, 1, "1", "in", "int, str"),
        (op.matches, 1, "a", "=~", "int, str"),
        (op.not_matches, "a", None, "!~", "str, null"),
    ],
)
def test_operands_without_overload(
    cx: CodeContext, function: Operator, left: Any, right: Any, name: str, kinds: str
) -> None:
    with pytest.raises(NoMatchingFunction) as caught:
        function(cx, left, right)
    assert caught.value.message == f'No function "#operator_{name}" matches supplied arguments ({kinds})'
    assert caught.value.hint is not None and caught.value.hint.startswith("accepted: ")


def test_unary_operators(cx: CodeContext) -> None:
    assert op.negate(cx, 3) == -3
    assert op.plus(cx, DAY) == DAY
    assert op.logical_not(cx, ()) is True
    for function in (op.negate, op.plus):
        for wrong in (True, "a", None):
            with pytest.raises(NoMatchingFunction, match="#unary_operator_"):
                function(cx, wrong)


def test_other_iterables_are_chained_lazily(cx: CodeContext) -> None:
    def broken() -> Any:
        yield 1
        raise ValueError("pulled too far")

    chained = op.add(cx, (0,), broken())
    assert next(chained) == 0
    assert next(chained) == 1
    with pytest.raises(ValueError, match="too far"):
        next(chained)


def test_membership_consumes_an_iterator_up_to_the_hit(cx: CodeContext) -> None:
    items = iter((1, 2, 3))
    assert op.contains(cx, 2, items)
    assert list(items) == [3]


@pytest.mark.parametrize("function", [op.div, op.mod])
@pytest.mark.parametrize("zero", [0, 0.0])
def test_division_by_zero(cx: CodeContext, function: Operator, zero: float) -> None:
    with pytest.raises(ZeroDivisionError):
        function(cx, 1, zero)


@pytest.mark.parametrize(
    ("target", "args", "expected"),
    [
        ((5, 6), (-1,), 6),
        ((5, 6), (True,), 6),
        (FDict(a=1), ("a",), 1),
        (FDict(a=1), ("z", 4), 4),
        (FDict({(1, 2): 3}), ((1, 2),), 3),
    ],
)
def test_index(cx: CodeContext, target: Any, args: tuple[Any, ...], expected: Any) -> None:
    assert op.index(cx, target, *args) == expected


@pytest.mark.parametrize(
    ("target", "args", "error"),
    [
        ((5,), (1,), IndexError),
        ((5,), (-2,), IndexError),
        (FDict(), ("a",), KeyError),
        ("abc", (0,), NoMatchingFunction),
        (FSet((1,)), (0,), NoMatchingFunction),
        ((5,), (None,), NoMatchingFunction),
        ((5,), (0, 1), NoMatchingFunction),
        (iter((1,)), (0,), NoMatchingFunction),
    ],
)
def test_index_errors(cx: CodeContext, target: Any, args: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        op.index(cx, target, *args)


def test_attributes(cx: CodeContext, old: CodeContext) -> None:
    assert op.attribute(cx, FDict(a=1), "a") == 1
    assert tuple(op.attribute(cx, (FDict(a=1), FDict(a=2)), "a")) == (1, 2)
    assert op.attribute(cx, Thing(), "colour") == "colour of thing"
    with pytest.raises(KeyError):
        op.attribute(cx, FDict(), "a")
    assert op.attribute(old, FDict(), "a") is None
    assert op.attribute(cx, DAY, "hours") == 24.0


@pytest.mark.parametrize(("value", "kind"), [(None, "null"), (1, "int"), ("s", "str")])
def test_values_without_attributes(cx: CodeContext, value: Any, kind: str) -> None:
    """The message is the headline of a page: it says nothing of how the language finds properties."""
    with pytest.raises(NoFunctionRegistered) as caught:
        op.attribute(cx, value, "a")
    assert caught.value.message == f'".a" is read of {kind}, which has nothing of that name'
    assert (caught.value.hint is not None) == (value is None)


@pytest.mark.parametrize(
    ("function", "left", "right"),
    [
        (op.add, 2**63 - 1 + 2**62, 2**63),
        (op.sub, -(2**64) + 1, 2**64),
        (op.mul, 2**40, 2**40),
        (op.mul, 2**63, 2**63),
    ],
)
def test_integers_stop_at_the_limit(small: CodeContext, function: Operator, left: int, right: int) -> None:
    with pytest.raises(LimitExceeded, match="bits"):
        function(small, left, right)


def test_zero_is_never_too_long(small: CodeContext) -> None:
    assert op.mul(small, 2**64 - 1, 0) == 0


@pytest.mark.parametrize(
    ("function", "left", "right"),
    [
        (op.add, "x" * 6000, "y" * 6000),
        (op.add, (0,) * 1000, (0,) * 4000),
        (op.mul, "x", 10**12),
        (op.mul, (0,), 10**12),
        (op.mul, 10**12, "xy"),
    ],
)
def test_amplifiers_are_measured_before_they_allocate(
    small: CodeContext, function: Operator, left: Any, right: Any
) -> None:
    with pytest.raises(MemoryQuotaExceeded):
        function(small, left, right)


def test_repeated_squaring_ends(cx: CodeContext) -> None:
    value = 3
    with pytest.raises(LimitExceeded):
        for _ in range(100):
            value = op.mul(cx, value, value)


def test_values_that_share_their_parts_are_compared_within_bounds(cx: CodeContext) -> None:
    left: Any = ()
    right: Any = ()
    for _ in range(60):
        left, right = (left, left), (right, right)
    began = time.process_time()
    with pytest.raises(NestingTooDeep):
        op.equal(cx, left, right)
    assert time.process_time() - began < 10


def test_deep_values_are_not_compared(cx: CodeContext) -> None:
    left: Any = ()
    right: Any = ()
    for _ in range(100_000):
        left, right = (left,), (right,)
    for function in (op.equal, op.not_equal, op.contains):
        with pytest.raises(NestingTooDeep):
            function(cx, left, (right, 1) if function is op.contains else right)


def test_text_with_a_dash_is_no_subtraction_and_the_hint_says_so() -> None:
    with pytest.raises(NoMatchingFunction) as caught:
        compile("debian-12")()
    assert caught.value.hint is not None and caught.value.hint.startswith("text with a dash in it has to be quoted")
