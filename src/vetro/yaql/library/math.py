"""Numbers (YAQL.md 4.5). Results longer than the integer limit are refused before they are computed."""

from __future__ import annotations

from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.errors import LimitExceeded
from vetro.yaql.resolve.operators import greater
from vetro.yaql.resolve.signature import Param, Type, function

#: Digit operations of one modular power, about a second.
_POWER_WORK = 500_000_000


@function("abs", params=(Param("op", Type.NUM),))
def abs_(op: Any) -> Any:
    """The number without its sign."""
    return abs(op)


@function("sign", params=(Param("num", Type.NUM),))
def sign(num: Any) -> int:
    """-1, 0 or 1."""
    return int(num > 0) - int(num < 0)


@function("round", params=(Param("number", Type.NUM), Param("ndigits", Type.INT, default=0)))
def round_(number: Any, ndigits: int = 0) -> Any:
    """The number rounded to ``ndigits`` places, halves to even; a float stays a float."""
    # Python computes 10 ** -ndigits: beyond this the answer is known without it.
    if isinstance(number, int) and ndigits < -number.bit_length():
        return 0
    return round(number, ndigits)


@function("pow", params=(Param("a", Type.NUM), Param("b", Type.NUM), Param("c", Type.NUM, default=None)))
def pow_(cx: CodeContext, a: Any, b: Any, c: Any = None) -> Any:
    """``a`` to the power of ``b``, modulo ``c`` when given.

    Raises `LimitExceeded` when the result would exceed the integer limit, ZeroDivisionError for a negative power of
    zero, OverflowError for floats out of range, TypeError for a modulus with floats, ValueError where the result is
    no real number.
    """
    if c is None and isinstance(a, int) and isinstance(b, int):
        _check_bits(cx, (a.bit_length() - 1) * b if abs(a) > 1 else 1)
    elif isinstance(b, int) and isinstance(c, int):
        _check_work(cx, b.bit_length() * (c.bit_length() // 30 + 1) ** 2)
    result = pow(a, b, c)
    if isinstance(result, complex):
        raise ValueError(f"pow() of a negative number and {b} is no real number")
    return result


def _check_bits(cx: CodeContext, bits: int) -> None:
    limit = cx.rt.limits.max_integer_bits
    if bits > limit:
        raise LimitExceeded(f"integer of {bits} bits or more, the limit is {limit}")


def _check_work(cx: CodeContext, work: int) -> None:
    """A modular power of long numbers takes time but no memory; Python cannot be interrupted in it."""
    if work > _POWER_WORK:
        raise LimitExceeded("pow() with a modulus: the numbers are too long")
    cx.rt.charge(work >> 10)


def larger(cx: CodeContext, left: Any, right: Any) -> Any:
    """The greater value, the left one of equals."""
    return right if greater(cx, right, left) else left


def smaller(cx: CodeContext, left: Any, right: Any) -> Any:
    """The smaller value, the right one of equals."""
    return left if greater(cx, right, left) else right


@function("max", params=(Param("a"), Param("b")))
def max_(cx: CodeContext, a: Any, b: Any) -> Any:
    """The greater of two values; null is smaller than anything. Raises `NoMatchingFunction` when they have no order."""
    return larger(cx, a, b)


@function("min", params=(Param("a"), Param("b")))
def min_(cx: CodeContext, a: Any, b: Any) -> Any:
    """The smaller of two values; null is smaller than anything. Raises `NoMatchingFunction` when they have no order."""
    return smaller(cx, a, b)


@function("random")
def random_(cx: CodeContext) -> float:
    """A random float from 0 up to, not including, 1. It comes from the run's own source."""
    return cx.rt.rng.random()


@function("random", params=(Param("from", Type.INT), Param("to", Type.INT)))
def random_between(cx: CodeContext, from_: int, to: int) -> int:
    """A random integer from ``from`` to ``to``, both included. Raises ValueError when there is none."""
    return cx.rt.rng.randint(from_, to)


@function("bitwiseAnd", params=(Param("left", Type.INT), Param("right", Type.INT)))
def bitwise_and(left: int, right: int) -> int:
    """The bits that both have."""
    return left & right


@function("bitwiseOr", params=(Param("left", Type.INT), Param("right", Type.INT)))
def bitwise_or(left: int, right: int) -> int:
    """The bits that either has."""
    return left | right


@function("bitwiseXor", params=(Param("left", Type.INT), Param("right", Type.INT)))
def bitwise_xor(left: int, right: int) -> int:
    """The bits that exactly one has."""
    return left ^ right


@function("bitwiseNot", params=(Param("arg", Type.INT),))
def bitwise_not(arg: int) -> int:
    """All bits inverted."""
    return -1 - arg  # ~arg, which Python no longer wants for true and false


_VALUE = Param("value", Type.INT)
_BITS = Param("bitsNumber", Type.INT)


@function("shiftBitsLeft", params=(_VALUE, _BITS))
def shift_left(cx: CodeContext, value: int, bits: int) -> int:
    """The bits moved up. Raises ValueError for a negative distance, `LimitExceeded` beyond the integer limit."""
    if value and bits > 0:
        _check_bits(cx, value.bit_length() + bits)
    return value << bits


@function("shiftBitsRight", params=(_VALUE, _BITS))
def shift_right(value: int, bits: int) -> int:
    """The bits moved down. Raises ValueError for a negative distance."""
    return value >> bits


@function("hex", params=(Param("num", Type.NUM, nullable=True),))
def hex_(num: Any) -> str:
    """The hexadecimal text of an integer (``0x…``). Raises TypeError for floats and null."""
    if not isinstance(num, int):
        raise TypeError("hex() needs an integer")
    return hex(num)
