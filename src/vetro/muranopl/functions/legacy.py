"""What formats 1.0 and 1.1 offer beside the legacy dialect (SEMANTICS 3.10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vetro.muranopl.functions.objects import create
from vetro.muranopl.functions.params import is_class_reference, is_object
from vetro.yaql.errors import NoMatchingFunction
from vetro.yaql.signature import FunctionTable, Kind, Param, Type, function

#: Methods of the standard library that these formats also know as functions.
FUNCTION_FORMS = (
    *("toUpper", "toLower", "trim", "join", "split", "startsWith", "endsWith", "matches", "replace"),
    *("flatten", "substring"),
)


@function(
    "substr",
    style="FM",
    params=(Param("string", Type.STR), Param("start", Type.INT), Param("length", Type.INT, -1)),
)
def substr(string: str, start: int, length: int = -1) -> str:
    """The old name of ``substring``."""
    if length < 0:
        return string[start:]
    begin = max(len(string) + start, 0) if start < 0 else start
    return string[begin : begin + length]


@function("firstOrDefault", style="FM", params=(Param("collection", Type.ITER), Param("default", Type.ANY, None)))
def first_or_default(collection: Any, default: Any = None) -> Any:
    """The first item, or the default when there is none."""
    return next(iter(collection), default)


def _is_pair(value: Any) -> bool:
    return value.__class__ is tuple and len(value) == 2 and isinstance(value[0], str)


@function("new", params=(Param("type", Type.ANY, check=is_class_reference), Param("rest", Type.ANY, kind=Kind.VARARGS)))
def new_with_pairs(cx: Any, type_: Any, *rest: Any) -> Any:
    """``new(C, owner?, name?, prop => v...)`` where ``=>`` makes pairs instead of keyword arguments.

    Raises `NoMatchingFunction` for anything else behind the class.
    """
    split = next((i for i, item in enumerate(rest) if _is_pair(item)), len(rest))
    head, pairs = (*rest[:split], None, None), rest[split:]
    owner, name = head[0], head[1]
    fits = split <= 2 and all(map(_is_pair, pairs)) and (owner is None or is_object(owner))
    if not fits or not (name is None or isinstance(name, str)):
        raise NoMatchingFunction('the arguments of "new" fit no signature')
    return create(cx, cx.resolve(type_), dict(pairs), owner, name)


@function("initialize", style="M", params=(Param("object", Type.HOST, check=is_object),))
def initialize(object: Any) -> None:
    """Nothing: constructors of all levels run by themselves, base first. Old classes call those of their parents."""


def add_function_forms(table: FunctionTable) -> None:
    """Adds the function form of every standard method in `FUNCTION_FORMS`."""
    layer = table.parent
    while layer is not None:
        for name in FUNCTION_FORMS:
            for overload in layer.functions.get(name, ()):
                if "F" not in overload.style:
                    table.add(replace(overload, style="F"))
        layer = layer.parent
