"""Type tests and conversions (YAQL.md 4.2). The words ``and``, ``or``, ``not`` are operators."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from vetro.yaql.brief import brief
from vetro.yaql.context import CodeContext
from vetro.yaql.errors import LimitExceeded
from vetro.yaql.library._text import text_of
from vetro.yaql.resolve.signature import Param, function
from vetro.yaql.types import RegexBase, describe
from vetro.yaql.values import is_iterable, is_sequence, is_set

_VALUE = (Param("value"),)
_ARG = (Param("arg"),)
#: Python refuses to parse longer runs of digits at once; a budgeted integer may have some more.
_DIGITS = 4000


@function("isBoolean", params=_VALUE)
def is_boolean(value: Any) -> bool:
    """True for true and false only."""
    return isinstance(value, bool)


@function("isInteger", params=_VALUE)
def is_integer(value: Any) -> bool:
    """True for integers; booleans are none."""
    return isinstance(value, int) and not isinstance(value, bool)


@function("isNumber", params=_VALUE)
def is_number(value: Any) -> bool:
    """True for integers and floats; booleans are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@function("isString", params=_ARG)
def is_string(arg: Any) -> bool:
    """True for texts."""
    return isinstance(arg, str)


@function("isList", params=_ARG)
def is_list(arg: Any) -> bool:
    """True for lists; not for sets and lazy sequences."""
    return is_sequence(arg)


@function("isDict", params=_ARG)
def is_dict(arg: Any) -> bool:
    """True for mappings."""
    return isinstance(arg, dict)


@function("isSet", params=_ARG)
def is_a_set(arg: Any) -> bool:
    """True for sets and for the keys and items of a mapping."""
    return is_set(arg)


@function("isIterable", params=_VALUE)
def is_an_iterable(value: Any) -> bool:
    """True for everything that has items, except texts and mappings."""
    return is_iterable(value)


@function("isRegex", params=_VALUE)
def is_regex(value: Any) -> bool:
    """True for compiled regular expressions."""
    return isinstance(value, RegexBase)


@function("isDatetime", params=_VALUE)
def is_datetime(value: Any) -> bool:
    """True for points in time."""
    return isinstance(value, datetime)


@function("isTimespan", params=_VALUE)
def is_timespan(value: Any) -> bool:
    """True for lengths of time."""
    return isinstance(value, timedelta)


@function("bool", params=_VALUE)
def to_bool(value: Any) -> bool:
    """The truth value; any text but the empty one is true, ``'false'`` too."""
    return bool(value)


@function("int", params=_VALUE)
def to_int(cx: CodeContext, value: Any) -> int:
    """The integer of a number (cut off toward zero), boolean, decimal text or null (0).

    Raises ValueError for other texts, TypeError for other values, `LimitExceeded` for too many digits.
    """
    if value is None:
        return 0
    if isinstance(value, str):
        return _parse_int(cx, value)
    if isinstance(value, (int, float)):
        return int(value)
    raise TypeError(f"int() cannot convert {_kind(value)}")


def _parse_int(cx: CodeContext, text: str) -> int:
    if len(text) <= _DIGITS:
        try:
            return int(text)
        except ValueError:
            raise ValueError(f"int() cannot read {brief(text, 80)}") from None
    bare = text.strip().replace("_", "")
    sign = -1 if bare.startswith("-") else 1
    digits = bare.lstrip("+-")
    bits = cx.rt.limits.max_integer_bits
    if len(digits) > bits // 3 + 1:
        raise LimitExceeded(f"int() of {len(digits)} digits exceeds the limit of {bits} bits")
    if not digits.isdecimal():
        raise ValueError(f"int() cannot read {brief(text, 80)}")
    value = 0
    for start in range(0, len(digits), _DIGITS):
        part = digits[start : start + _DIGITS]
        value = value * 10 ** len(part) + int(part)
    if value.bit_length() > bits:
        raise LimitExceeded(f"int() of {len(digits)} digits exceeds the limit of {bits} bits")
    return sign * value


@function("float", params=_VALUE)
def to_float(value: Any) -> float:
    """The float of a number, boolean, text or null (0.0).

    Raises ValueError for texts that are no number, TypeError for other values.
    """
    if value is None:
        return 0.0
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise ValueError(f"float() cannot read {brief(value, 80)}") from None
    if isinstance(value, (int, float)):
        return float(value)
    raise TypeError(f"float() cannot convert {_kind(value)}")


@function("str", params=_VALUE)
def to_str(cx: CodeContext, value: Any) -> str:
    """The text of a value: ``null``, ``true``, ``false``; otherwise as the host prints it.

    Raises `MemoryQuotaExceeded` when the text would exceed the memory limit.
    """
    return text_of(cx, value)


def _kind(value: Any) -> str:
    return describe(value)
