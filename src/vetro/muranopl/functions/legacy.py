"""What formats 1.0 and 1.1 offer beside the legacy library (SEMANTICS 3.10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vetro.muranopl.functions.params import is_object
from vetro.yaql.resolve.signature import FunctionTable, Param, Type, function

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
