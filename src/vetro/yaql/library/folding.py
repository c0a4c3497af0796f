"""Queries that fold a collection into one value or pick one item (YAQL.md 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.errors import NoItems
from vetro.yaql.laziness import ROUNDS, settle
from vetro.yaql.library._support import COLLECTION, Items, Lambda, gather, growing
from vetro.yaql.library.math import larger, smaller
from vetro.yaql.resolve.operators import add
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.values import FROZEN, MISSING

_INITIAL = Param("initial", default=MISSING)
_DEFAULT = Param("default", default=MISSING)
_FOLDER = Param("selector", Type.LAMBDA, arity=2)
_SEED = Param("seed", default=MISSING)
#: Classes that the language and Python order alike and whose equals cannot be told apart.
_PLAIN = ({int}, {str})


def _fold(cx: CodeContext, name: str, items: Items, step: Callable[[Any, Any], Any], start: Any) -> Any:
    """Raises TypeError for an empty collection without a start value."""
    iterator = iter(items if isinstance(items, (tuple, list)) else growing(cx, items))
    for item in iterator:
        total = item if start is MISSING else step(start, item)
        break
    else:
        if start is MISSING:
            raise TypeError(f"{name}() of an empty collection needs an initial value")
        return start
    for number, item in enumerate(iterator):
        total = step(total, item)
        if total.__class__ not in FROZEN and not number % ROUNDS:
            total = settle(cx.rt, total)
    return total


@function("sum", style="M", params=(COLLECTION, _INITIAL))
def sum_(cx: CodeContext, collection: Items, initial: Any = MISSING) -> Any:
    """The items added up with ``+``, whatever that means for them.

    Raises TypeError for an empty collection without ``initial``.
    """
    items = gather(cx, collection)
    if initial is MISSING and set(map(type, items)) == {int}:
        return add(cx, sum(items), 0)  # which refuses what is too long
    return _fold(cx, "sum", items, lambda left, right: add(cx, left, right), initial)


@function("max", style="M", params=(COLLECTION, _INITIAL))
def max_(cx: CodeContext, collection: Items, initial: Any = MISSING) -> Any:
    """The greatest item. Raises TypeError for an empty collection without ``initial``."""
    items = gather(cx, collection)
    if initial is MISSING and set(map(type, items)) in _PLAIN:
        return max(items)
    return _fold(cx, "max", items, lambda left, right: larger(cx, left, right), initial)


@function("min", style="M", params=(COLLECTION, _INITIAL))
def min_(cx: CodeContext, collection: Items, initial: Any = MISSING) -> Any:
    """The smallest item; null is smaller than anything. Raises TypeError for an empty collection as `max_` does."""
    items = gather(cx, collection)
    if initial is MISSING and set(map(type, items)) in _PLAIN:
        return min(items)
    return _fold(cx, "min", items, lambda left, right: smaller(cx, left, right), initial)


@function("aggregate", "reduce", style="M", params=(COLLECTION, _FOLDER, _SEED))
def aggregate(cx: CodeContext, collection: Items, selector: Lambda, seed: Any = MISSING) -> Any:
    """The collection folded from the left: ``$1`` is the value so far, ``$2`` the item.

    Raises TypeError for an empty collection without ``seed``.
    """
    return _fold(cx, "aggregate", collection, selector, seed)


@function("accumulate", style="M", params=(COLLECTION, _FOLDER, _SEED))
def accumulate(cx: CodeContext, collection: Items, selector: Lambda, seed: Any = MISSING) -> Iterator[Any]:
    """Every intermediate value of the fold, lazily, the first item (or the seed) included.

    Raises TypeError (when consumed) for an empty collection without ``seed``.
    """
    iterator = iter(collection)
    total = seed
    if total is MISSING:
        total = next(iterator, MISSING)
        if total is MISSING:
            raise TypeError("accumulate() of an empty collection needs a seed")
    yield total
    for number, item in enumerate(iterator):
        total = selector(total, item)
        if total.__class__ not in FROZEN and not number % ROUNDS:
            total = settle(cx.rt, total)
        yield total


@function("first", style="M", params=(COLLECTION, _DEFAULT))
def first(collection: Items, default: Any = MISSING) -> Any:
    """The first item, or ``default``. Raises `NoItems` when there is neither."""
    for item in collection:
        return item
    if default is MISSING:
        raise NoItems("first() of an empty collection needs a default")
    return default


@function("last", style="M", params=(COLLECTION, _DEFAULT))
def last(cx: CodeContext, collection: Items, default: Any = MISSING) -> Any:
    """The last item, or ``default``. Raises `NoItems` when there is neither."""
    if collection.__class__ is tuple and collection:
        return collection[-1]
    found = default
    for item in growing(cx, collection):
        found = item
    if found is MISSING:
        raise NoItems("last() of an empty collection needs a default")
    return found


@function("single", style="M", params=(COLLECTION,))
def single(collection: Items) -> Any:
    """The only item. Raises `NoItems` unless there is exactly one."""
    found: list[Any] = []
    for item in collection:
        found.append(item)
        if len(found) > 1:
            raise NoItems("single() of a collection with several items")
    if not found:
        raise NoItems("single() of an empty collection")
    return found[0]


@function("reverse", style="M", params=(COLLECTION,))
def reverse(cx: CodeContext, collection: Items) -> Iterator[Any]:
    """The items from the last to the first."""
    return iter(gather(cx, collection)[::-1])
