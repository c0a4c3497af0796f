"""Functions behind the syntax, and ``assert`` (YAQL.md 4.1).

``let``, ``with``, ``def``, ``unpack``, ``call`` and ``lambda`` need the variables of their caller; the evaluator has
them (`vetro.yaql.closures.nodes`).
"""

from __future__ import annotations

from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.library._support import ENTRY, SLOT, Lambda, Memorized, freeze_all, frozen, is_iterator, key_of, varargs
from vetro.yaql.resolve.signature import Kind, Param, Type, function
from vetro.yaql.values import FDict


@function("#list", params=(varargs("args"),))
def make_list(cx: CodeContext, *args: Any) -> tuple[Any, ...]:
    """``[args]``. Raises `MemoryQuotaExceeded` beyond the memory limit."""
    cx.rt.check_memory(SLOT * len(args))
    return freeze_all(cx, args)


@function("#map", params=(Param("args", kind=Kind.RULES),))
def make_map(cx: CodeContext, pairs: tuple[tuple[Any, Any], ...]) -> FDict:
    """``{key => value, …}``; later keys win. Raises TypeError for a key that has no hash."""
    cx.rt.check_memory(ENTRY * len(pairs))
    return FDict((key_of(cx, key), frozen(cx, value)) for key, value in pairs)


@function(
    "assert",
    style="M",
    params=(Param("obj"), Param("condition", Type.LAMBDA), Param("message", Type.STR, default="Assertion failed")),
)
def assert_(cx: CodeContext, obj: Any, condition: Lambda, message: str = "Assertion failed") -> Any:
    """``obj``, when the condition holds for it; otherwise raises AssertionError with ``message``.

    A lazy sequence is memorized first, so that the condition may look at its items.
    """
    if is_iterator(obj) and not isinstance(obj, Memorized):
        obj = Memorized(cx, obj)
    if not condition(obj):
        raise AssertionError(message)
    return obj
