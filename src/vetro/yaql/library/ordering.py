"""``orderBy`` and its kin (YAQL.md 4.4): stable, by any number of keys, each key computed at most once an item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cmp_to_key
from itertools import groupby
from operator import eq, gt
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.library._support import COLLECTION, SELECTOR, Items, Lambda, gather, reads, selected
from vetro.yaql.resolve.operators import greater, less
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.types import OrderedBase

#: Lists of such keys (all of one class) need no check of each comparison.
_PLAIN = ({int}, {str}, {float}, {int, float})
#: ... and have no values that are neither less, equal nor greater (as NaN is).
_TOTAL = ({int}, {str})


class Ordered(OrderedBase):
    """The result of ``orderBy``: sorted when first walked, then walkable again and again."""

    __slots__ = ("_cx", "_items", "_keys", "_sorted")

    def __init__(self, cx: CodeContext, items: Items, keys: tuple[tuple[Lambda, bool], ...]) -> None:
        self._cx = cx
        self._items = items
        self._keys = keys
        self._sorted: list[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items())

    def items(self) -> list[Any]:
        """The items in order. Raises `NoMatchingFunction` when two keys have no order."""
        if self._sorted is None:
            # What was walked once may be a lazy sequence: later walks and further keys need its items.
            self._items = gather(self._cx, self._items)
            self._sorted = _sort(self._cx, list(self._items), self._keys)
        return self._sorted

    def settle(self) -> None:
        """Sorts now, so that the source is walked."""
        self.items()

    def then(self, selector: Lambda, descending: bool) -> Ordered:
        """The same items, ordered by one more key."""
        self._items = gather(self._cx, self._items)
        return Ordered(self._cx, self._items, (*self._keys, (selector, descending)))

    def __repr__(self) -> str:
        return "<ordered list>"


def _sort(cx: CodeContext, items: list[Any], keys: tuple[tuple[Lambda, bool], ...]) -> list[Any]:
    """Sorts by the first key, then every run of equal keys by the next, so that a key is computed only where needed."""
    if len(items) < 2 or not keys:
        return items
    (selector, descending), rest = keys[0], keys[1:]
    values = selected(selector, items)
    if set(map(type, values)) in _TOTAL:
        return _sort_plain(cx, items, values, descending, rest)
    pairs = _sort_pairs(cx, list(zip(values, items, strict=True)), descending)
    if not rest:
        return [item for _, item in pairs]
    result: list[Any] = []
    run: list[Any] = []
    previous: Any = None
    for key, item in pairs:
        if run and (less(cx, previous, key) or greater(cx, previous, key)):
            result += _sort(cx, run, rest)
            run = []
        previous = key
        run.append(item)
    return result + _sort(cx, run, rest)


def _sort_plain(
    cx: CodeContext, items: list[Any], values: list[Any], descending: bool, rest: tuple[tuple[Lambda, bool], ...]
) -> list[Any]:
    """`_sort` where Python's order and equality of the keys are those of the language: loops in C."""
    cx.rt.charge(len(items))
    places: Iterable[int] = range(len(items))
    further = _plain_keys(rest[0][0], items) if len(rest) == 1 else None
    if further is not None:
        # Sorts are stable: by the second key, then by the first, is every run of the first by the second.
        places = sorted(places, key=further.__getitem__, reverse=rest[0][1])
        rest = ()
    key = values.__getitem__
    order = sorted(places, key=key, reverse=descending)
    if further is not None:
        cx.rt.charge(_in_runs(list(map(key, order))))
    if not rest:
        return list(map(items.__getitem__, order))
    result: list[Any] = []
    for _, run in groupby(order, key):
        same = list(map(items.__getitem__, run))
        result += _sort(cx, same, rest) if len(same) > 1 else same
    return result


def _in_runs(ordered: list[Any]) -> int:
    """How many of these have an equal neighbour. Nothing is hashed: anybody can choose keys that collide."""
    same: list[bool] = list(map(eq, ordered, ordered[1:]))
    first: list[bool] = list(map(gt, same, [False, *same]))
    return sum(same) + sum(first)


def _plain_keys(selector: Lambda, items: list[Any]) -> list[Any] | None:
    """The keys of all items where nobody notices that they are computed and they have Python's order; else None."""
    if not reads(selector):
        return None
    try:
        values = selected(selector, items)
    except Exception:  # of the items that need this key it may be none
        return None
    return values if set(map(type, values)) in _TOTAL else None


def _sort_pairs(cx: CodeContext, pairs: list[tuple[Any, Any]], descending: bool) -> list[tuple[Any, Any]]:
    nulls = [pair for pair in pairs if pair[0] is None]
    valued = [pair for pair in pairs if pair[0] is not None] if nulls else pairs
    cx.rt.charge(len(pairs))
    if {pair[0].__class__ for pair in valued} in _PLAIN:
        valued.sort(key=_first, reverse=descending)
    else:
        valued.sort(key=cmp_to_key(_comparison(cx, descending)))
    return valued + nulls if descending else nulls + valued


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _comparison(cx: CodeContext, descending: bool) -> Callable[[tuple[Any, Any], tuple[Any, Any]], int]:
    """Compares pairs by their keys with the language's own operators."""

    def compare(left: tuple[Any, Any], right: tuple[Any, Any]) -> int:
        cx.rt.charge(1)
        a, b = (right[0], left[0]) if descending else (left[0], right[0])
        if less(cx, a, b):
            return -1
        return 1 if greater(cx, a, b) else 0

    return compare


@function("orderBy", style="M", params=(COLLECTION, SELECTOR))
def order_by(cx: CodeContext, collection: Items, selector: Lambda) -> Ordered:
    """The items from the smallest key to the greatest; equal ones keep their order."""
    return Ordered(cx, collection, ((selector, False),))


@function("orderByDescending", style="M", params=(COLLECTION, SELECTOR))
def order_by_descending(cx: CodeContext, collection: Items, selector: Lambda) -> Ordered:
    """The items from the greatest key to the smallest; equal ones keep their order."""
    return Ordered(cx, collection, ((selector, True),))


_ORDERED = Param("collection", Type.ORDERED)


@function("thenBy", style="M", params=(_ORDERED, SELECTOR))
def then_by(collection: Ordered, selector: Lambda) -> Ordered:
    """An ordered list whose equal items are ordered by one more key."""
    return collection.then(selector, False)


@function("thenByDescending", style="M", params=(_ORDERED, SELECTOR))
def then_by_descending(collection: Ordered, selector: Lambda) -> Ordered:
    """An ordered list whose equal items are ordered by one more key, the greatest first."""
    return collection.then(selector, True)
