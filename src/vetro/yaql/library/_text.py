"""Texts of values, within the memory budget.

A list that holds itself twice, forty times over, prints as 2**40 texts: so containers are written by a walk that counts
what it has written instead of by Python's ``repr``.
"""

from __future__ import annotations

import collections.abc as abc
from collections.abc import Callable, Iterator
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.values import SCALARS, FSet, HostObject, is_sequence

#: Python refuses to print longer integers at once.
_DIGITS = 4000
_BITS = 13_000
_LAZY = "<lazy sequence>"


def int_text(value: int) -> str:
    """Decimal digits of an integer of any size."""
    if -_BITS < value.bit_length() < _BITS:
        return str(value)
    sign, value = ("-", -value) if value < 0 else ("", value)
    parts: list[str] = []
    while value:
        value, low = divmod(value, 10**_DIGITS)
        parts.append(str(low).zfill(_DIGITS) if value else str(low))
    return sign + "".join(reversed(parts))


def text_of(cx: CodeContext, value: Any) -> str:
    """What ``str(value)`` gives (YAQL.md 4.2). Raises `MemoryQuotaExceeded` when it would be too long."""
    if value.__class__ is str:
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return host_text(cx, value)


def host_text(cx: CodeContext, value: Any, *, plain: bool = False) -> str:
    """The text as Python prints it; ``plain``: lists print as ``[…]`` instead of ``(…)``."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int_text(value)
    if value.__class__ in SCALARS or isinstance(value, str):
        return str(value)
    if isinstance(value, (tuple, list, abc.Mapping, abc.Set, abc.ValuesView)):
        return _container_text(cx, value, plain)
    return _leaf(value, str)


def _has_text(value: Any) -> bool:
    """False where Python could only show class and address."""
    return any("__str__" in vars(cls) or "__repr__" in vars(cls) for cls in type(value).__mro__[:-1])


def _leaf(value: Any, show: Callable[[Any], str]) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return int_text(value)
    if isinstance(value, HostObject):
        return str(value) if _has_text(value) else f"<{type(value).__name__}>"
    if isinstance(value, abc.Iterator):
        return _LAZY
    return show(value) if _has_text(value) else f"<{type(value).__name__}>"


def _container_text(cx: CodeContext, value: Any, plain: bool) -> str:
    written: list[str] = []
    size = 0
    most = cx.rt.limits.max_expression_memory or float("inf")
    # Each frame is the iterator of a container: it yields texts to write and, in a 1-tuple, values to show.
    stack: list[Iterator[Any]] = [_pieces(value, plain)]
    while stack:
        piece = next(stack[-1], None)
        if piece is None:
            stack.pop()
            continue
        if piece.__class__ is tuple:
            inner = piece[0]
            if isinstance(inner, (tuple, list, abc.Mapping, abc.Set, abc.ValuesView)):
                stack.append(_pieces(inner, plain))
                continue
            piece = _leaf(inner, repr)
        size += len(piece)
        if size > most:
            cx.rt.check_memory(size)
        written.append(piece)
        if not len(written) % 4096:
            cx.rt.check_memory(size)
            cx.rt.charge(4096)
            written = ["".join(written)]  # thin containers write little text in very many pieces
    cx.rt.check_memory(size)
    return "".join(written)


def _pieces(value: Any, plain: bool) -> Iterator[Any]:
    if isinstance(value, abc.Mapping):
        yield "{"
        for index, (key, item) in enumerate(value.items()):
            if index:
                yield ", "
            yield (key,)
            yield ": "
            yield (item,)
        yield "}"
        return
    opening, closing = "(", ")"
    if plain or not is_sequence(value):
        opening, closing = "[", "]"
    if isinstance(value, FSet):
        opening, closing = ("{", "}") if value else ("set(", ")")
    elif isinstance(value, (abc.KeysView, abc.ItemsView, abc.ValuesView)):
        opening, closing = type(value).__name__ + "([", "])"
    yield opening
    index = -1
    for index, item in enumerate(value):
        if index:
            yield ", "
        yield (item,)
    yield ",)" if index == 0 and opening == "(" else closing
