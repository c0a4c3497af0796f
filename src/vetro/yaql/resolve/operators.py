"""The operators (YAQL.md 2.2, 2.3): ``op(cx, left, right)``, exact classes first, no overload tables on the way.

What fits no overload raises `NoMatchingFunction` naming both operand types. Results that would be too large are refused
before anything is allocated. `vetro.yaql.resolve.operator_table` declares the same operators as overloads.
"""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from sys import getsizeof
from typing import Any, NoReturn

from vetro.yaql.context import CodeContext
from vetro.yaql.errors import LimitExceeded, NoMatchingFunction
from vetro.yaql.resolve.failures import no_attribute
from vetro.yaql.types import RegexBase, describe
from vetro.yaql.values import MISSING, SCALARS, FDict, FSet, HostObject, check_depth, is_iterable, is_sequence, is_set

#: Rough size of one list item in memory, for estimates.
ITEM_SIZE = 8
#: Results this small are not measured.
CHEAP = 4096
_SIZED = (tuple, dict, FSet)
#: Weight (`check_depth`) of all comparisons that one search may make.
SEARCH = 100_000_000
#: Integers between -SMALL and SMALL are within every limit.
SMALL = 1 << 62


#: What each operator accepts, as one line for errors: `operator_table` fills it in.
ACCEPTED: dict[str, str] = {}


def _refuse(name: str, *operands: Any) -> NoReturn:
    kinds = ", ".join(describe(o) for o in operands)
    error = NoMatchingFunction(f'No function "{name}" matches supplied arguments ({kinds})')
    error.hint = ACCEPTED.get(name)
    if name == "#operator_-" and any(isinstance(o, str) for o in operands):
        error.hint = f"text with a dash in it has to be quoted; {error.hint}"
    raise error


def _number(value: Any) -> bool:
    return (
        value.__class__ is int
        or value.__class__ is float
        or (isinstance(value, (int, float)) and not isinstance(value, bool))
    )


def within_limit(cx: CodeContext, value: int) -> int:
    """The integer. Raises `LimitExceeded` for one with more bits than a run allows."""
    limit = cx.rt.limits.max_integer_bits
    if value.bit_length() > limit:
        raise LimitExceeded(f"integer of {value.bit_length()} bits, the limit is {limit}")
    return value


def _iter(cx: CodeContext, value: Any) -> bool:
    return is_iterable(value) or (cx.dialect.iterable_dicts and isinstance(value, dict))


def aware(moment: datetime) -> datetime:
    """A naive moment is UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


# -- arithmetic --------------------------------------------------------------------------------------------------------


def add(cx: CodeContext, left: Any, right: Any) -> Any:
    """``left + right``: numbers, texts, lists and other iterables, mappings, dates and spans."""
    lc, rc = left.__class__, right.__class__
    if lc is int and rc is int:
        total = left + right
        return total if -SMALL < total < SMALL else within_limit(cx, total)
    if lc is str and rc is str:
        if len(left) + len(right) > CHEAP:
            cx.rt.check_memory(getsizeof(left) + getsizeof(right))
        return left + right
    if lc is tuple and rc is tuple:
        size = len(left) + len(right)
        if size > CHEAP:
            cx.rt.check_memory(size * ITEM_SIZE)
            cx.rt.charge(size >> 6)
        return left + right
    if _number(left) and _number(right):
        total = left + right
        return within_limit(cx, total) if total.__class__ is int else total
    return _add_rare(cx, left, right)


def _add_rare(cx: CodeContext, left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return add(cx, str(left), str(right))
    if isinstance(left, dict) and isinstance(right, dict):
        cx.rt.check_memory((len(left) + len(right)) * 8 * ITEM_SIZE)
        return FDict({**left, **right})
    if left.__class__ is FSet and right.__class__ is FSet:
        cx.rt.check_memory((len(left) + len(right)) * 8 * ITEM_SIZE)
        return FSet(itertools.chain(left, right))
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
    """``left - right``: numbers, set difference, dates and spans."""
    if left.__class__ is int and right.__class__ is int:
        difference = left - right
        return difference if -SMALL < difference < SMALL else within_limit(cx, difference)
    if _number(left) and _number(right):
        difference = left - right
        return within_limit(cx, difference) if difference.__class__ is int else difference
    if is_set(left) and is_set(right):
        return plain_set(left) - plain_set(right)
    if isinstance(left, datetime):
        if isinstance(right, timedelta):
            return aware(left) - right
        if isinstance(right, datetime):
            return aware(left) - aware(right)
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        return left - right
    _refuse("#operator_-", left, right)


def _repeat(cx: CodeContext, value: Any, times: int) -> Any:
    if times <= 0:
        return value[:0] if isinstance(value, (str, tuple)) else ()
    if isinstance(value, str):
        empty = getsizeof(value[:0])
        cx.rt.check_memory(empty + (getsizeof(value) - empty) * times)
        return value * times
    cx.rt.check_memory(len(value) * times * ITEM_SIZE)
    cx.rt.check_items(len(value) * times)
    cx.rt.charge(len(value) * times >> 6)
    return tuple(value) * times


def mul(cx: CodeContext, left: Any, right: Any) -> Any:
    """``left * right``; text and lists times an integer repeat."""
    if left.__class__ is int and right.__class__ is int:
        if -SMALL < left < SMALL and -SMALL < right < SMALL:
            return left * right if cx.rt.limits.max_integer_bits >= 128 else within_limit(cx, left * right)
        bits = left.bit_length() + right.bit_length()
        if left and right and bits - 1 > cx.rt.limits.max_integer_bits:
            raise LimitExceeded(f"integer of about {bits} bits, the limit is {cx.rt.limits.max_integer_bits}")
        return within_limit(cx, left * right)
    if _number(left) and _number(right):
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
    if left.__class__ is int and right.__class__ is int:
        return left // right
    if _number(left) and _number(right):
        if isinstance(left, int) and isinstance(right, int):
            return left // right
        return left / right
    if isinstance(left, timedelta) and (isinstance(right, timedelta) or _number(right)):
        return left / right
    _refuse("#operator_/", left, right)


def mod(cx: CodeContext, left: Any, right: Any) -> Any:
    """``left mod right``; the sign follows the divisor. Raises ZeroDivisionError."""
    if (left.__class__ is int and right.__class__ is int) or (_number(left) and _number(right)):
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
        return plain_set(left), plain_set(right)
    _refuse(name, left, right)


def plain_set(value: Any) -> FSet:
    """A set or view of a mapping as a set of ours. Raises `NestingTooDeep` for items too deep to hash."""
    if value.__class__ is FSet:
        return value
    items = list(value)
    for item in items:
        if item.__class__ not in SCALARS:
            check_depth(item)
    return FSet(items)


def less(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left < right``; null is less than everything else."""
    cls = left.__class__
    if cls is right.__class__ and (cls is int or cls is str or cls is float):
        return left < right  # type: ignore[no-any-return]
    if left is None or right is None:
        return left is None and right is not None
    x, y = _comparable(cx, "#operator_<", left, right)
    return bool(x < y)


def less_equal(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left <= right``."""
    cls = left.__class__
    if cls is right.__class__ and (cls is int or cls is str or cls is float):
        return left <= right  # type: ignore[no-any-return]
    if left is None or right is None:
        return left is None
    x, y = _comparable(cx, "#operator_<=", left, right)
    return bool(x <= y)


def greater(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left > right``."""
    cls = left.__class__
    if cls is right.__class__ and (cls is int or cls is str or cls is float):
        return left > right  # type: ignore[no-any-return]
    if left is None or right is None:
        return left is not None and right is None
    x, y = _comparable(cx, "#operator_>", left, right)
    return bool(x > y)


def greater_equal(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left >= right``."""
    cls = left.__class__
    if cls is right.__class__ and (cls is int or cls is str or cls is float):
        return left >= right  # type: ignore[no-any-return]
    if left is None or right is None:
        return right is None
    x, y = _comparable(cx, "#operator_>=", left, right)
    return bool(x >= y)


def equal(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left = right``: Python's equality, which never fails."""
    if left.__class__ in SCALARS or right.__class__ in SCALARS or left is right:
        return bool(left == right)
    return _equal_containers(left, right)


def not_equal(cx: CodeContext, left: Any, right: Any) -> bool:
    """``left != right``."""
    if left.__class__ in SCALARS or right.__class__ in SCALARS or left is right:
        return bool(left != right)
    return not _equal_containers(left, right)


def _equal_containers(left: Any, right: Any) -> bool:
    if isinstance(left, _SIZED) and isinstance(right, _SIZED):
        if len(left) != len(right):
            return False
        # Values that share their parts can look exponentially large to CPython's comparison: bound its work.
        check_depth(left)
    return bool(left == right)


def contains(cx: CodeContext, item: Any, collection: Any) -> bool:
    """``item in collection``: substring, or equality with an item (an iterator is consumed up to the hit)."""
    if isinstance(collection, str):
        if isinstance(item, str):
            return item in collection
        _refuse("#operator_in", item, collection)
    if not _iter(cx, collection):
        _refuse("#operator_in", item, collection)
    if item.__class__ not in SCALARS or item.__class__ is str:
        weight = check_depth(item)  # bounds each comparison, and the hash
        if weight > CHEAP and isinstance(collection, _SIZED) and weight * len(collection) > SEARCH:
            raise LimitExceeded("the value is too large to be searched for in so many items")
    return item in collection


def matches(cx: CodeContext, text: Any, pattern: Any) -> bool:
    """``text =~ pattern``: whether the pattern (text or regex) is found anywhere."""
    if isinstance(text, str):
        if isinstance(pattern, RegexBase):
            return pattern.found_in(cx, text)
        if isinstance(pattern, str):
            from vetro.yaql.library.regexes import compile_regex  # the engine is loaded on first use

            return compile_regex(pattern).found_in(cx, text)
    _refuse("#operator_=~", text, pattern)


def not_matches(cx: CodeContext, text: Any, pattern: Any) -> bool:
    """``text !~ pattern``."""
    if isinstance(text, str) and isinstance(pattern, (str, RegexBase)):
        return not matches(cx, text, pattern)
    _refuse("#operator_!~", text, pattern)


# -- access ------------------------------------------------------------------------------------------------------------


def index(cx: CodeContext, target: Any, key: Any, default: Any = MISSING) -> Any:
    """``target[key]`` and ``target[key, default]`` of the standard dialect. Raises IndexError, KeyError."""
    if default is MISSING:
        if target.__class__ is tuple or (not isinstance(target, dict) and is_sequence(target)):
            if isinstance(key, int):
                if not -len(target) <= key < len(target):
                    raise IndexError(f"index {int(key)} is out of range for a list of {len(target)} items")
                return target[key]
        elif isinstance(target, dict):
            if key.__class__ not in SCALARS:
                check_depth(key)
            found = target.get(key, MISSING)
            if found is MISSING:
                raise KeyError(key if key.__class__ in SCALARS and key.__class__ is not str else _short(key))
            return found
        _refuse("#indexer", target, key)
    if isinstance(target, dict):
        if key.__class__ not in SCALARS:
            check_depth(key)
        return target.get(key, default)
    _refuse("#indexer", target, key, default)


def _short(key: Any) -> str:
    """A key as the argument of KeyError: printing that must be harmless."""
    if key.__class__ is str and len(key) <= 200:
        return key
    from vetro.yaql.brief import brief  # only on the way to an error

    return brief(key)


def attribute(cx: CodeContext, receiver: Any, name: str) -> Any:
    """``receiver.name``: key of a mapping, attribute of a host object, of each item, or property of a value.

    Raises KeyError for a missing key (null in the legacy dialect), `NoFunctionRegistered` where nothing of that name
    is known (YAQL.md 2.3).
    """
    if isinstance(receiver, dict):
        return receiver.get(name) if cx.dialect.legacy else receiver[name]
    if isinstance(receiver, HostObject):
        return receiver.yaql_attribute(name, cx)
    if receiver is not None and is_iterable(receiver):
        return map(attribute, itertools.repeat(cx), receiver, itertools.repeat(name))
    return _property(cx, receiver, name)


def _property(cx: CodeContext, receiver: Any, name: str) -> Any:
    from vetro.yaql.resolve.overloads import call_function  # resolution stands above the operators

    full = "#property#" + name
    if not cx.dialect.table.has(full, "F"):
        raise no_attribute(receiver, name)
    return call_function(cx, cx.dialect.table, full, (receiver,))
