"""The operators (YAQL.md 2.2, 2.3): ``op(cx, left, right)``, exact classes first, no overload tables on the way.

What fits no overload raises `NoMatchingFunction` naming both operand types. Results that would be too large are refused
before anything is allocated. `vetro.yaql.optable` declares the same operators as overloads.
"""

from __future__ import annotations

import itertools
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta, timezone
from typing import Any, NoReturn

from vetro.yaql.context import CodeContext
from vetro.yaql.errors import LimitExceeded, NoFunctionRegistered, NoMatchingFunction
from vetro.yaql.values import MISSING, SCALARS, FDict, FSet, HostObject, check_depth, is_iterable, is_sequence, is_set

#: Rough size of one list item in memory, for estimates.
ITEM_SIZE = 8


def _refuse(name: str, *operands: Any) -> NoReturn:
    from vetro.yaql.optable import hint
    from vetro.yaql.types import describe

    kinds = " and ".join(describe(o) for o in operands)
    error = NoMatchingFunction(f'No function "{name}" matches supplied arguments: {kinds}')
    error.hint = hint(name)
    raise error


def _number(value: Any) -> bool:
    return value.__class__ is int or value.__class__ is float or (
        isinstance(value, (int, float)) and not isinstance(value, bool)
    )


def _fits(cx: CodeContext, value: int) -> int:
    limit = cx.rt.limits.max_integer_bits
    if value.bit_length() > limit:
        raise LimitExceeded(f"integer of {value.bit_length()} bits, the limit is {limit}")
    return value


def _iter(cx: CodeContext, value: Any) -> bool:
    return is_iterable(value) or (cx.dialect.iterable_dicts and isinstance(value, dict))


def aware(moment: datetime) -> datetime:
    """A naive moment is UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)


# -- arithmetic --------------------------------------------------------------------------------------------------------


def add(cx: CodeContext, left: Any, right: Any) -> Any:
    """``left + right``."""
    if _number(left) and _number(right):
        total = left + right
        return _fits(cx, total) if total.__class__ is int else total
    if isinstance(left, str) and isinstance(right, str):
        cx.rt.check_memory(len(left) + len(right))
        return left + right
    if left.__class__ is tuple and right.__class__ is tuple:
        cx.rt.check_memory((len(left) + len(right)) * ITEM_SIZE)
        return left + right
    if isinstance(left, dict) and isinstance(right, dict) and not cx.dialect.iterable_dicts:
        return FDict({**left, **right})
    if isinstance(left, FSet) and isinstance(right, FSet):
        return FSet(itertools.chain(left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return FDict({**left, **right})
    if _iter(cx, left) and _iter(cx, right):
        return itertools.chain(left, right)
    if isinstance(left, datetime) and isinstance(right, timedelta):
        return aware(left) + right
    if isinstance(left, timedelta) and isinstance(right, datetime):
        return aware(right) + left
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        return left + right
    _refuse("#operator_+", left, right)


def sub(cx: CodeContext, left: Any, right: Any) -> Any:
    """``left - right``."""
    if _number(left) and _number(right):
        difference = left - right
        return _fits(cx, difference) if difference.__class__ is int else difference
    if is_set(left) and is_set(right):
        return FSet(item for item in left if item not in right)
    if isinstance(left, datetime):
        if isinstance(right, timedelta):
            return aware(left) - right
        if isinstance(right, datetime):
            return aware(left) - aware(right)
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        return left - right
    _refuse("#operator_-", left, right)


def _repeat(cx: CodeContext, value: Any, times: int) -> Any:
    unit = 1 if isinstance(value, str) else ITEM_SIZE
    cx.rt.check_memory(len(value) * max(times, 0) * unit)
    return value * times if isinstance(value, (str, tuple)) else tuple(value) * times


def mul(cx: CodeContext, left: Any, right: Any) -> Any:
    """``left * right``; text and lists times an integer repeat."""
    if _number(left) and _number(right):
        if left.__class__ is int and right.__class__ is int:
            limit = cx.rt.limits.max_integer_bits
            if left.bit_length() + right.bit_length() > limit + 1:
                raise LimitExceeded(f"integer of about {left.bit_length() + right.bit_length()} bits, the limit is {limit}")
        return left * right
    if isinstance(right, int) and (isinstance(left, str) or is_sequence(left)):
        return _repeat(cx, left, int(right))
    if isinstance(left, int) and (isinstance(right, str) or is_sequence(right)):
        return _repeat(cx, right, int(left))
    if isinstance(left, timedelta) and _number(right):
        return left * right
    if _number(left) and isinstance(right, timedelta):
        return right * left
    _refuse("#operator_*", left, right)


def div(cx: CodeContext, left: Any, right: Any) -> Any:
    """``left / right``; two integers floor. Raises ZeroDivisionError."""
    if _number(left) and _number(right):
        if isinstance(left, int) and isinstance(right, int):
            return left // right
        return left / right
    if isinstance(left, timedelta) and (isinstance(right, timedelta) or _number(right)):
        return left / right
    _refuse("#operator_/", left, right)


def mod(cx: CodeContext, left: Any, right: Any) -> Any:
    """``left mod right``; the sign follows the divisor. Raises ZeroDivisionError."""
    if _number(left) and _number(right):
        return left % right
    _refuse("#operator_mod", left, right)


def negate(cx: CodeContext, operand: Any) -> Any:
    """``-operand``."""
    if _number(operand) or isinstance(operand, timedelta):
        return -operand
    _refuse("#unary_operator_-", operand)


def plus(cx: CodeContext, operand: Any) -> Any:
    """``+operand``."""
    if _number(operand) or isinstance(operand, timedelta):
        return operand
    _refuse("#unary_operator_+", operand)


def logical_not(cx: CodeContext, operand: Any) -> bool:
    """``not operand``."""
    return not operand


# -- comparison --------------------------------------------------------------------------------------------------------


def _comparable(cx: CodeContext, name: str, left: Any, right: Any) -> tuple[Any, Any]:
    """Both operands ready for Python's comparison; raises where the language has none for them."""
    if (_number(left) and _number(right)) or (isinstance(left, str) and isinstance(right, str)):
        return left, right
    if isinstance(left, datetime) and isinstance(right, datetime):
        return aware(left), aware(right)
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        return left, right
    if is_set(left) and is_set(right):
        return _plain_set(left), _plain_set(right)
    _refuse(name, left, right)


def _plain_set(value: Any) -> AbstractSet[Any]:
    return value if isinstance(value, FSet) else FSet(value)


def less(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left < right``; null is less than everything else."""
    if left is None or right is None:
        return left is None and right is not None
    x, y = _comparable(cx, "#operator_<", left, right)
    return bool(x < y)


def less_equal(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left <= right``."""
    if left is None or right is None:
        return left is None
    x, y = _comparable(cx, "#operator_<=", left, right)
    return bool(x <= y)


def greater(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left > right``."""
    if left is None or right is None:
        return left is not None and right is None
    x, y = _comparable(cx, "#operator_>", left, right)
    return bool(x > y)


def greater_equal(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left >= right``."""
    if left is None or right is None:
        return right is None
    x, y = _comparable(cx, "#operator_>=", left, right)
    return bool(x >= y)


def equal(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left = right``: Python's equality, which never fails."""
    if left.__class__ not in SCALARS and right.__class__ not in SCALARS and left is not right:
        check_depth(left)
        check_depth(right)
    return bool(left == right)


def not_equal(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left != right``."""
    return not equal(cx, left, right)


def contains(cx: CodeContext, item: Any, collection: Any) -> bool:
    """``item in collection``: substring, or equality with an item (an iterator is consumed up to the hit)."""
    if isinstance(collection, str):
        if isinstance(item, str):
            return item in collection
        _refuse("#operator_in", item, collection)
    if not _iter(cx, collection):
        _refuse("#operator_in", item, collection)
    if collection.__class__ is tuple and item.__class__ in SCALARS:
        return item in collection
    if isinstance(collection, (FSet, dict)) and item.__class__ in SCALARS:
        return item in collection
    return any(equal(cx, candidate, item) for candidate in collection)


def matches(cx: CodeContext, text: Any, pattern: Any) -> bool:
    """``text =~ pattern``: whether the pattern (text or regex) is found anywhere."""
    from vetro.yaql.types import RegexBase

    if isinstance(text, str):
        if isinstance(pattern, RegexBase):
            return pattern.search(cx, text) is not None
        if isinstance(pattern, str):
            from vetro.yaql.library.regexes import compile_regex

            return compile_regex(pattern).search(cx, text) is not None
    _refuse("#operator_=~", text, pattern)


def not_matches(cx: CodeContext, text: Any, pattern: Any) -> bool:
    """``text !~ pattern``."""
    if not isinstance(text, str):
        _refuse("#operator_!~", text, pattern)
    return not matches(cx, text, pattern)


# -- access ------------------------------------------------------------------------------------------------------------


def index(cx: CodeContext, target: Any, key: Any, default: Any = MISSING) -> Any:
    """``target[key]`` and ``target[key, default]`` of the standard dialect. Raises IndexError, KeyError."""
    if target.__class__ is FDict or isinstance(target, dict):
        if key.__class__ not in SCALARS:
            check_depth(key)
        if default is not MISSING:
            return target.get(key, default)
        return target[key]
    if default is MISSING and isinstance(key, int) and is_sequence(target):
        if not -len(target) <= key < len(target):
            raise IndexError(f"index {int(key)} is out of range for a list of {len(target)} items")
        return target[key]
    _refuse("#indexer", target, key)


def attribute(cx: CodeContext, receiver: Any, name: str) -> Any:
    """``receiver.name`` (YAQL.md 2.3): key of a mapping, attribute of each item, property of a value or object."""
    if isinstance(receiver, dict):
        return receiver.get(name) if cx.dialect.legacy else receiver[name]
    if isinstance(receiver, HostObject):
        return receiver.yaql_attribute(name, cx)
    if is_iterable(receiver):
        return (attribute(cx, item, name) for item in receiver)
    for layer in cx.dialect.table.layers("#property#" + name, "F"):
        from vetro.yaql.resolve import call_function

        if layer:
            return call_function(cx, cx.dialect.table, "#property#" + name, (receiver,))
    raise NoFunctionRegistered(f'Unknown function "#property#{name}"')
