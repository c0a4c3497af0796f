from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from vetro.yaql import compile
from vetro.yaql.context import CodeContext, Dialect, Execution
from vetro.yaql.errors import (
    AmbiguousFunction,
    AmbiguousMethod,
    MappingTranslation,
    NoFunctionRegistered,
    NoMatchingFunction,
    NoMatchingMethod,
    NoMethodRegistered,
    UnresolvedCall,
)
from vetro.yaql.resolve.candidates import candidates, takes_rules
from vetro.yaql.resolve.dispatchers import MAX_PLANS, dispatcher
from vetro.yaql.resolve.overloads import call_function, pick
from vetro.yaql.resolve.shape import Shape
from vetro.yaql.resolve.signature import FunctionTable, Kind, Overload, Param, Type
from vetro.yaql.values import MISSING, FDict, FSet


def recorder(tag: str) -> Callable[..., Any]:
    def impl(cx: Any, *args: Any, **named: Any) -> Any:
        return (tag, args, named)

    return impl


def table_of(*overloads: Overload, parent: FunctionTable | None = None) -> FunctionTable:
    table = FunctionTable(parent=parent)
    for overload in overloads:
        table.add(overload)
    return table


def overload(tag: str, *params: Param, name: str = "f", style: str = "F") -> Overload:
    return Overload(name, recorder(tag), params, style, True)


def dialect_of(table: FunctionTable) -> Dialect:
    return Dialect(name="test", table=table)


def call(table: FunctionTable, *args: Any, style: str = "F", name: str = "f", **named: Any) -> Any:
    """The call through a generated dispatcher, checked against dynamic resolution."""
    dialect = dialect_of(table)
    cx = CodeContext(Execution(), dialect)
    left_out = [(i, MISSING) for i, value in enumerate(args) if value is MISSING]
    plan = dispatcher(table, dialect, name, style, len(args), tuple(named), left_out)

    def attempt(run: Callable[[], Any]) -> Any:
        try:
            return run()
        except UnresolvedCall as error:
            return type(error)

    receiver = {"receiver": args[0]} if style == "M" else {}
    rest = args[1:] if style == "M" else args
    generated = attempt(lambda: plan.call(cx, *args, *named.values()))
    dynamic = attempt(lambda: call_function(cx, table, name, rest, named, **receiver))
    assert generated == dynamic
    return plan.call(cx, *args, *named.values())


X, Y = Param("x", Type.INT), Param("y", Type.INT, default=7)


def test_arguments_and_defaults_reach_the_implementation() -> None:
    table = table_of(overload("a", X, Y))
    assert call(table, 1) == ("a", (1, 7), {})
    assert call(table, 1, 2) == ("a", (1, 2), {})
    assert call(table, y=2, x=1) == ("a", (1, 2), {})


def test_implementations_get_what_their_python_signature_says() -> None:
    def impl(first: Any, *rest: Any, last: Any, **more: Any) -> Any:
        return (first, rest, last, more)

    params = (
        Param("first"),
        Param("rest", kind=Kind.VARARGS),
        Param("last", default=0),
        Param("more", kind=Kind.KWARGS),
    )
    table = table_of(Overload("f", impl, params, "F", False))
    assert call(table, 1, 2, 3, last=4, **{"from": 5, "z": 6}) == (1, (2, 3), 4, {"from": 5, "z": 6})
    assert call(table, 1) == (1, (), 0, {})


def test_names_of_positional_only_parameters_are_free_for_keywords() -> None:
    def impl(template: Any, /, **values: Any) -> Any:
        return (template, values)

    params = (Param("template"), Param("values", kind=Kind.KWARGS))
    assert call(table_of(Overload("f", impl, params, "F", False)), 1, template=2) == (1, {"template": 2})


def test_varargs_as_one_parameter_arrive_as_a_tuple() -> None:
    def impl(cx: Any, names: Any) -> Any:
        return names

    table = table_of(Overload("f", impl, (Param("names", kind=Kind.VARARGS),), "F", True))
    assert call(table, 1, 2) == (1, 2)


@pytest.mark.parametrize(
    ("args", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"z": 2}), (("a",), {}), ((None,), {})]
)
def test_what_fits_no_overload(args: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(NoMatchingFunction) as caught:
        call(table_of(overload("a", X, Y)), *args, **named)
    assert caught.value.hint == "accepted: f(x: int, y: int = 7)"


def test_messages_name_receiver_and_argument_types() -> None:
    table = table_of(overload("a", Param("s", Type.STR), X, style="M"))
    with pytest.raises(NoMatchingMethod) as caught:
        call(table, "abc", "d", style="M")
    assert caught.value.message == "No method \"f\" for receiver 'abc' (str) matches supplied arguments (str)"
    with pytest.raises(NoMatchingFunction) as found:
        call(table_of(overload("a", X, Y)), 1, y="q")
    assert found.value.message == 'No function "f" matches supplied arguments (int, y => str)'


def test_unknown_names_say_what_to_write_instead() -> None:
    table = table_of(overload("a", X, name="measure"), overload("b", X, name="size", style="M"))
    with pytest.raises(NoFunctionRegistered) as caught:
        call(table, 1, name="meassure")
    assert (caught.value.message, caught.value.hint) == ('Unknown function "meassure"', "did you mean measure?")
    with pytest.raises(NoFunctionRegistered) as function:
        call(table, 1, name="size")
    assert function.value.hint == "size is a method: write value.size(...)"
    with pytest.raises(NoMethodRegistered) as method:
        call(table, 1, name="measure", style="M")
    assert method.value.message == 'Unknown method "measure" for receiver 1 (int)'
    assert method.value.hint == "measure is a function: write measure(...) without a receiver"


def test_the_innermost_layer_with_a_match_wins() -> None:
    outer = table_of(overload("outer", Param("x")))
    table = table_of(overload("inner", Param("x", Type.STR)), parent=outer)
    assert call(table, "a")[0] == "inner"
    assert call(table, 1)[0] == "outer"


def test_an_exclusive_name_hides_outer_layers() -> None:
    table = table_of(overload("inner", Param("x", Type.STR)), parent=table_of(overload("outer", Param("x"))))
    table.exclusive.add("f")
    with pytest.raises(NoMatchingFunction):
        call(table, 1)


def test_the_more_specific_overload_of_a_layer_wins() -> None:
    table = table_of(overload("iter", Param("x", Type.ITER)), overload("seq", Param("x", Type.SEQ)))
    assert call(table, (1,))[0] == "seq"
    assert call(table, FSet((1,)))[0] == "iter"


@pytest.mark.parametrize(("style", "error"), [("F", AmbiguousFunction), ("M", AmbiguousMethod)])
def test_several_matches_without_winner(style: str, error: type[Exception]) -> None:
    x, y = Param("x", Type.SEQ), Param("y", Type.ITER)
    table = table_of(overload("a", x, y, style=style), overload("b", y, x, style=style))
    with pytest.raises(error, match=r'Ambiguous (function|method) "f"'):
        call(table, (1,), (2,), style=style)
    assert call(table, (1,), FSet((2,)), style=style)[0] == "a"


def test_different_lazy_positions_are_ambiguous() -> None:
    lazy = Param("y", Type.LAMBDA)
    table = table_of(overload("a", X, lazy), overload("b", X, Y))
    with pytest.raises(AmbiguousFunction):
        call(table, 1, 2)
    assert call(table, 1)[0] == "b"


def test_constants_take_part_by_type_before_anything_is_evaluated() -> None:
    lazy = Param("y", Type.LAMBDA)
    table = table_of(overload("a", Param("x", Type.STR), lazy), overload("b", X, Y))
    plan = dispatcher(table, dialect_of(table), "f", "F", 2, (), [(0, "text")])
    assert plan.error is None and plan.lazy == ((False, None), (True, 1))
    wrong = dispatcher(table, dialect_of(table), "f", "F", 1, (), [(0, None)])
    assert isinstance(wrong.error, NoMatchingFunction)
    assert wrong.error.message == 'No function "f" matches supplied arguments (null)'


def test_differing_arities_leave_the_number_of_values_open() -> None:
    table = table_of(
        overload("a", Param("x", Type.STR), Param("y", Type.LAMBDA, arity=1)),
        overload("b", X, Param("y", Type.LAMBDA, arity=2)),
    )
    assert dispatcher(table, dialect_of(table), "f", "F", 2).lazy == ((False, None), (True, None))


def test_arguments_left_out_take_the_default() -> None:
    table = table_of(overload("a", X, Y, Param("z", default=None)))
    assert call(table, 1, MISSING, 3) == ("a", (1, 7, 3), {})
    with pytest.raises(NoMatchingFunction):
        call(table, MISSING, 2)


def test_rules_are_handed_over_as_pairs() -> None:
    rules = Param("cases", Type.LAMBDA, kind=Kind.RULES, arity=0)
    table = table_of(Overload("f", lambda cx, cases: cases, (rules,), "F", True))
    dialect = dialect_of(table)
    assert takes_rules(table, "f", "F")
    plan = dispatcher(table, dialect, "f", "F", 0, ("a", None))
    assert plan.rules and plan.lazy == ((True, 0),) * 4
    assert plan.call(None, 1, 2, 3, 4) == ((1, 2), (3, 4))
    assert isinstance(dispatcher(table, dialect, "f", "F", 1).error, NoMatchingFunction)


def test_a_pair_without_word_is_no_keyword_argument() -> None:
    table = table_of(overload("a", X))
    assert isinstance(dispatcher(table, dialect_of(table), "f", "F", 0, (None,)).error, MappingTranslation)
    assert isinstance(dispatcher(table, dialect_of(table), "g", "F", 0, (None,)).error, NoFunctionRegistered)


def test_layers_must_agree_on_rules() -> None:
    outer = table_of(overload("rules", Param("cases", kind=Kind.RULES)))
    with pytest.raises(AmbiguousFunction):
        call(table_of(overload("plain", X), parent=outer), 1)


def test_plans_are_made_once_a_shape_and_forgotten_when_the_table_grows() -> None:
    table = table_of(overload("a", X))
    dialect = dialect_of(table)
    plan = dispatcher(table, dialect, "f", "F", 1)
    assert dispatcher(table, dialect, "f", "F", 1) is plan
    table.add(overload("b", Param("x", Type.STR)))
    assert dispatcher(table, dialect, "f", "F", 1).call(None, "a")[0] == "b"


def test_the_number_of_plans_is_bounded() -> None:
    table = table_of(overload("a", X))
    for number in range(MAX_PLANS + 10):
        dispatcher(table, dialect_of(table), f"g{number % 5000}", "F", 1)
    assert len(table.plans) <= MAX_PLANS


def test_a_deferred_error_is_fresh_and_knows_the_receiver() -> None:
    table = table_of(overload("a", X))
    plan = dispatcher(table, dialect_of(table), "g", "M", 1)
    assert plan.error is not None
    first, second = plan.make_error(3), plan.make_error(3)
    assert first is not second
    assert first.message == 'Unknown method "g" for receiver 3 (int)'
    with pytest.raises(NoMethodRegistered):
        plan.call(None, 3)


def test_a_direct_implementation_is_called_without_wrapper() -> None:
    found = overload("a", Param("x"), Param("y"))
    table = table_of(found)
    assert dispatcher(table, dialect_of(table), "f", "F", 2).call is found.impl


VALUES = st.sampled_from(
    [None, True, 3, 2.5, "a", (1,), FDict({"a": 1}), FSet((1,)), datetime.timedelta(1), FDict({"a": 1}).values()]
)
TYPES = st.sampled_from(
    [
        Type.ANY,
        Type.STR,
        Type.INT,
        Type.INTEGER,
        Type.NUM,
        Type.ITER,
        Type.SEQ,
        Type.DICT,
        Type.SET,
        Type.SPAN,
        Type.BOOL,
    ]
)


@st.composite
def overloads(draw: st.DrawFn) -> Overload:
    count = draw(st.integers(0, 3))
    params: list[Param] = []
    optional = False
    for index in range(count):
        optional = optional or draw(st.integers(0, 4)) == 0
        default = {"default": draw(st.sampled_from([None, 0]))} if optional else {}
        params.append(Param(f"p{index}", draw(TYPES), nullable=draw(st.booleans()), **default))
    if draw(st.integers(0, 3)) == 0:
        params.append(Param("rest", draw(TYPES), kind=Kind.VARARGS))
    return overload(str(draw(st.integers(0, 10**6))), *params)


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(st.lists(st.lists(overloads(), min_size=1, max_size=3), min_size=1, max_size=2), st.data())
def test_generated_dispatch_is_dynamic_resolution(layers: list[list[Overload]], data: st.DataObject) -> None:
    table: FunctionTable | None = None
    for layer in layers:
        table = table_of(*layer, parent=table)
    assert table is not None
    args = tuple(data.draw(st.lists(st.one_of(VALUES, VALUES, st.just(MISSING)), max_size=3)))
    try:
        call(table, *args)
    except UnresolvedCall as error:
        assert error.hint


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(st.lists(overloads(), min_size=1, max_size=4), st.lists(VALUES, max_size=3))
def test_the_order_of_declarations_does_not_matter(found: list[Overload], args: list[Any]) -> None:
    def winner(order: list[Overload]) -> Any:
        table = table_of(*order)
        dialect = dialect_of(table)
        try:
            bound = pick(candidates(table, dialect, "f", "F", Shape(len(args))), args, dialect)
        except UnresolvedCall as error:
            return type(error)
        return bound.overload

    assert winner(found) == winner(found[::-1])


def test_a_part_of_a_text_is_asked_for_by_in() -> None:
    """Lists have `contains`, texts have not: the hint says what there is instead of how it is called on lists."""
    with pytest.raises(NoMatchingMethod) as caught:
        compile("$.contains(b)").evaluate("abc")
    assert caught.value.hint == "whether a text has a part: part in text"
