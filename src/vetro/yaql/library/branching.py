"""Choosing between expressions (YAQL.md 4.2): only the chosen one is evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vetro.yaql.library._support import Lambda, varargs
from vetro.yaql.resolve.signature import Kind, Param, Type, function

_CASES = varargs("args", Type.LAMBDA, arity=0)


@function("switch", params=(Param("args", Type.LAMBDA, kind=Kind.RULES, arity=0),))
def switch(rules: tuple[tuple[Lambda, Lambda], ...]) -> Any:
    """The value of the first ``condition => value`` pair whose condition holds, null when none does."""
    for condition, value in rules:
        if condition():
            return value()
    return None


@function("selectCase", params=(_CASES,))
def select_case(*args: Lambda) -> int:
    """The index of the first condition that holds; the number of conditions when none does."""
    for index, condition in enumerate(args):
        if condition():
            return index
    return len(args)


@function("selectAllCases", params=(_CASES,))
def select_all_cases(*args: Lambda) -> Iterator[int]:
    """The indexes of all conditions that hold, lazily."""
    return (index for index, condition in enumerate(args) if condition())


@function("examine", params=(_CASES,))
def examine(*args: Lambda) -> Iterator[bool]:
    """The truth value of every condition, lazily."""
    return (bool(condition()) for condition in args)


@function("switchCase", style="M", params=(Param("case", Type.INT), _CASES))
def switch_case(case: int, *args: Lambda) -> Any:
    """The value of argument number ``case``; of the last one when there is no such argument."""
    if not args:
        return None
    return args[case]() if 0 <= case < len(args) else args[-1]()


@function("coalesce", params=(_CASES,))
def coalesce(*args: Lambda) -> Any:
    """The first value that is not null."""
    for argument in args:
        value = argument()
        if value is not None:
            return value
    return None
