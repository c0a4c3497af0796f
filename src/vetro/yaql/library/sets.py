"""Sets (YAQL.md 4.3). They are immutable and keep insertion order; keys and items of a mapping count as sets."""

from __future__ import annotations

from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.library._support import COLLECTION, ENTRY, Items, growing, key_of, varargs
from vetro.yaql.library.lists import expand
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.values import FSet

_SET = Param("set", Type.SET)
_LEFT = Param("left", Type.SET)
_RIGHT = Param("right", Type.SET)


def _members(cx: CodeContext, items: Items) -> FSet:
    return FSet(key_of(cx, item) for item in growing(cx, items))


@function("set", params=(varargs("args"),))
def make_set(cx: CodeContext, *args: Any) -> FSet:
    """A set of the arguments; items of lazy sequences are spliced in, lists are members.

    Raises TypeError for members without a hash.
    """
    return _members(cx, expand(cx, args))


@function("toSet", style="M", params=(COLLECTION,))
def to_set(cx: CodeContext, collection: Items) -> FSet:
    """A set of all items. Raises TypeError for items without a hash."""
    return _members(cx, collection)


@function("len", style="FM", params=(_SET,))
def len_set(set: Any) -> int:
    """The number of members."""
    return len(set)


def _sized(cx: CodeContext, left: Any, right: Any) -> None:
    cx.rt.check_memory(ENTRY * (len(left) + len(right)))
    cx.rt.charge(len(left) + len(right))


@function("union", style="M", params=(_LEFT, _RIGHT))
def union(cx: CodeContext, left: Any, right: Any) -> FSet:
    """Members of either set."""
    _sized(cx, left, right)
    return FSet((*left, *right))


@function("intersect", style="M", params=(_LEFT, _RIGHT))
def intersect(cx: CodeContext, left: Any, right: Any) -> FSet:
    """Members of both sets."""
    _sized(cx, left, right)
    return FSet(item for item in left if item in right)


@function("difference", style="M", params=(_LEFT, _RIGHT))
def difference(cx: CodeContext, left: Any, right: Any) -> FSet:
    """Members of the left set that are not in the right one."""
    _sized(cx, left, right)
    return FSet(item for item in left if item not in right)


@function("symmetricDifference", style="M", params=(_LEFT, _RIGHT))
def symmetric_difference(cx: CodeContext, left: Any, right: Any) -> FSet:
    """Members of exactly one of the sets."""
    _sized(cx, left, right)
    return FSet((*(item for item in left if item not in right), *(item for item in right if item not in left)))


@function("add", style="M", params=(_SET, varargs("values")))
def add_members(cx: CodeContext, set: Any, *values: Any) -> FSet:
    """A new set with the values as further members. Raises TypeError for values without a hash."""
    _sized(cx, set, values)
    return FSet((*set, *(key_of(cx, value) for value in values)))


@function("remove", style="M", params=(_SET, varargs("values")))
def remove_members(cx: CodeContext, set: Any, *values: Any) -> FSet:
    """A new set without the values; absent ones are ignored."""
    _sized(cx, set, values)
    gone = {key_of(cx, value) for value in values}
    return FSet(item for item in set if item not in gone)
