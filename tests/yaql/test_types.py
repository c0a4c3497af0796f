from __future__ import annotations

import datetime
import itertools
from typing import Any

import pytest

from vetro.yaql.context import Dialect
from vetro.yaql.environment import Env
from vetro.yaql.resolve.signature import FunctionTable, Kind, Param, Type
from vetro.yaql.types import (
    CHECK_NAMES,
    OrderedBase,
    RegexBase,
    accepts,
    check_source,
    describe,
    overlap,
    predicate,
    specific_by_types,
    strict_subtype,
)
from vetro.yaql.values import MISSING, FDict, FSet, HostObject

STANDARD = Dialect(name="standard", table=FunctionTable())
KEYS = Dialect(name="keys", table=FunctionTable(), iterable_dicts=True)


class Ordered(OrderedBase):
    def __iter__(self) -> Any:
        return iter((1, 2))


class Thing(HostObject):
    def __repr__(self) -> str:
        return "<t.Thing 1>"


VALUES: dict[str, Any] = {
    "null": None,
    "bool": True,
    "int": 3,
    "float": 2.5,
    "str": "a",
    "list": (1,),
    "dict": FDict({"a": 1}),
    "set": FSet((1,)),
    "keys": FDict({"a": 1}).keys(),
    "values": FDict({"a": 1}).values(),
    "iterator": iter(()),
    "ordered": Ordered(),
    "span": datetime.timedelta(1),
    "dt": datetime.datetime(2020, 1, 1),
    "regex": RegexBase(),
    "context": Env({}, None, None),  # type: ignore[arg-type]
    "host": Thing(),
    "function": lambda: None,
}
ACCEPTED = {
    Type.ANY: set(VALUES),
    Type.STR: {"str"},
    Type.INT: {"bool", "int"},
    Type.INTEGER: {"int"},
    Type.NUM: {"int", "float"},
    Type.BOOL: {"bool"},
    Type.ITER: {"list", "set", "keys", "values", "iterator", "ordered"},
    Type.SEQ: {"list"},
    Type.DICT: {"dict"},
    Type.SET: {"set", "keys"},
    Type.SPAN: {"span"},
    Type.DATETIME: {"dt"},
    Type.REGEX: {"regex"},
    Type.ITERATOR: {"iterator"},
    Type.ORDERED: {"ordered"},
    Type.LAMBDA: set(VALUES),
    Type.CALLABLE: {"function"},
    Type.CONTEXT: {"context"},
    Type.KEYWORD: {"str"},
    Type.HOST: {"host"},
}


@pytest.mark.parametrize("type_", list(Type))
def test_each_type_accepts_exactly_its_values(type_: Type) -> None:
    accepted = {name for name, value in VALUES.items() if accepts(Param("x", type_), value, STANDARD)}
    assert accepted == ACCEPTED[type_]


@pytest.mark.parametrize("dialect", [STANDARD, KEYS])
@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("type_", list(Type))
def test_generated_checks_agree_with_accepts(type_: Type, nullable: bool, dialect: Dialect) -> None:
    param = Param("x", type_, nullable=nullable)
    source = check_source(param, "v", dialect)
    for name, value in VALUES.items():
        assert bool(eval(source, {**CHECK_NAMES, "v": value})) == accepts(param, value, dialect), name


def test_dicts_are_iterables_only_where_the_dialect_says_so() -> None:
    assert not predicate(Type.ITER, STANDARD)(FDict())
    assert predicate(Type.ITER, KEYS)(FDict())


@pytest.mark.parametrize(
    ("param", "expected"),
    [
        (Param("x", Type.STR), False),
        (Param("x", Type.STR, nullable=True), True),
        (Param("x", Type.STR, default=None), True),
        (Param("x", Type.STR, default=""), False),
        (Param("x"), True),
    ],
)
def test_null_passes_when_marked_or_when_it_is_the_default(param: Param, expected: bool) -> None:
    assert accepts(param, None, STANDARD) is expected


def test_an_argument_left_out_passes_untyped_parameters_only() -> None:
    assert accepts(Param("x", kind=Kind.VARARGS), MISSING, STANDARD)
    assert not accepts(Param("x", Type.STR, kind=Kind.VARARGS), MISSING, STANDARD)


def test_a_check_of_the_host_narrows_the_type() -> None:
    param = Param("x", Type.INT, check=lambda value: value > 2)
    names: dict[str, Any] = {}
    source = check_source(param, "v", STANDARD, names)
    for value, expected in ((3, True), (1, False), ("a", False)):
        assert accepts(param, value, STANDARD) is expected
        assert bool(eval(source, {**CHECK_NAMES, **names, "v": value})) is expected
    with pytest.raises(ValueError, match="pass a namespace"):
        check_source(param, "v", STANDARD)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((Type.SEQ,), (Type.ITER,), True),
        ((Type.ITER,), (Type.SEQ,), False),
        ((Type.ITERATOR,), (Type.ITER,), True),
        ((Type.SET,), (Type.ITER,), True),
        ((Type.DICT,), (Type.ITER,), True),
        ((Type.SEQ,), (Type.SEQ,), False),
        ((Type.NUM,), (Type.ANY,), False),
        ((Type.STR,), (Type.ANY,), True),
        ((Type.SEQ, Type.ITER), (Type.ITER, Type.SEQ), False),
        ((Type.SEQ, Type.INT), (Type.ITER, Type.INT), True),
    ],
)
def test_more_specific(a: tuple[Type, ...], b: tuple[Type, ...], expected: bool) -> None:
    assert specific_by_types(list(zip(a, b, strict=True))) is expected


def test_specificity_is_a_strict_order() -> None:
    for a, b, c in itertools.product(Type, repeat=3):
        assert not (strict_subtype(a, b) and strict_subtype(b, a))
        if strict_subtype(a, b) and strict_subtype(b, c):
            assert strict_subtype(a, c)


@pytest.mark.parametrize("dialect", [STANDARD, KEYS])
def test_overlap_never_denies_a_common_value(dialect: Dialect) -> None:
    for a, b, nullable in itertools.product(Type, Type, (False, True)):
        x, y = Param("x", a, nullable=nullable), Param("y", b, nullable=nullable)
        common = [n for n, v in VALUES.items() if accepts(x, v, dialect) and accepts(y, v, dialect)]
        assert overlap(x, y, dialect) or not common, (a, b, common)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "bool"),
        (1, "int"),
        ((), "list"),
        (FDict(), "dict"),
        (FSet(), "set"),
        (iter(()), "iterator"),
        (Thing(), "<t.Thing 1>"),
        (datetime.timedelta(), "timespan"),
        (MISSING, "no value"),
    ],
)
def test_describe_uses_the_words_of_the_language(value: Any, expected: str) -> None:
    assert describe(value) == expected
