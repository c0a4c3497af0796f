"""Queries that pass items on: filtering, mapping, chaining, numbering (YAQL.md 4.4).

All of them are lazy: errors of the expressions appear when the result is consumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.library._support import (
    COLLECTION,
    OPTIONAL_PREDICATE,
    PREDICATE,
    SELECTOR,
    Items,
    Lambda,
    Memorized,
    is_iterator,
    key_of,
    varargs,
    walk,
)
from vetro.yaql.library.lists import count_items
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.values import is_iterable

_COUNT = Param("count", Type.INT)


@function("where", "filter", style="M", params=(COLLECTION, PREDICATE))
def where(cx: CodeContext, collection: Items, predicate: Lambda) -> Iterator[Any]:
    """The items for which the predicate holds."""
    return filter(predicate, walk(cx, collection))


@function("select", "map", style="M", params=(COLLECTION, SELECTOR))
def select(cx: CodeContext, collection: Items, selector: Lambda) -> Iterator[Any]:
    """The selector's value for each item."""
    return map(selector, walk(cx, collection))


@function("selectMany", style="M", params=(COLLECTION, SELECTOR))
def select_many(cx: CodeContext, collection: Items, selector: Lambda) -> Iterator[Any]:
    """The selector's values; where one is a collection, its items instead. Texts and mappings stay whole."""
    for item in walk(cx, collection):
        value = selector(item)
        if is_iterable(value):
            yield from walk(cx, value)
        else:
            yield value


def _count(name: str, count: int) -> int:
    if count < 0:
        raise ValueError(f"{name}() needs a count that is not negative, not {count}")
    return int(count)


@function("skip", style="M", params=(COLLECTION, _COUNT))
def skip(cx: CodeContext, collection: Items, count: int) -> Iterator[Any]:
    """All but the first ``count`` items. Raises ValueError for a negative count."""
    return islice(walk(cx, collection), _count("skip", count), None)


@function("limit", "take", style="M", params=(COLLECTION, _COUNT))
def limit(collection: Items, count: int) -> Iterator[Any]:
    """The first ``count`` items. Raises ValueError for a negative count."""
    return islice(collection, _count("limit", count))


@function("append", style="FM", params=(COLLECTION, varargs("args")))
def append(collection: Items, *args: Any) -> Iterator[Any]:
    """The items, then the arguments."""
    return chain(collection, args)


@function("concat", style="FM", params=(varargs("collections", Type.ITER),))
def concat(*collections: Items) -> Iterator[Any]:
    """The items of one collection after the other."""
    return chain.from_iterable(collections)


@function("distinct", style="FM", params=(COLLECTION, Param("keySelector", Type.LAMBDA, default=None)))
def distinct(cx: CodeContext, collection: Items, key_selector: Lambda | None = None) -> Iterator[Any]:
    """The first item of each key (the item itself without selector). Raises TypeError for keys without a hash.

    Raises `CollectionTooLarge` when there are more different keys than the item limit.
    """
    seen: set[Any] = set()
    for item in walk(cx, collection):
        key = key_of(cx, item if key_selector is None else key_selector(item))
        if key not in seen:
            cx.rt.check_items(len(seen) + 1)
            seen.add(key)
            yield item


@function("enumerate", style="FM", params=(COLLECTION, Param("start", Type.INT, default=0)))
def enumerate_(collection: Items, start: int = 0) -> Iterator[Any]:
    """``[index, item]`` for each item."""
    return enumerate(collection, start)


@function("any", style="FM", params=(COLLECTION, OPTIONAL_PREDICATE))
def any_(cx: CodeContext, collection: Items, predicate: Lambda | None = None) -> bool:
    """True when the predicate holds for an item; without predicate: when there is an item at all."""
    if predicate is None:
        return any(True for _ in collection)
    return any(map(predicate, walk(cx, collection)))


@function("all", style="FM", params=(COLLECTION, OPTIONAL_PREDICATE))
def all_(cx: CodeContext, collection: Items, predicate: Lambda | None = None) -> bool:
    """True when the predicate (without one: the truth value) holds for every item."""
    return all(walk(cx, collection) if predicate is None else map(predicate, walk(cx, collection)))


@function("count", style="M", params=(COLLECTION,))
def count(cx: CodeContext, collection: Items) -> int:
    """The number of items, found by walking them."""
    return count_items(cx, collection)


@function("memorize", style="M", params=(COLLECTION,))
def memorize(cx: CodeContext, collection: Items) -> Items:
    """The same items in a form that can be walked again and again; only single-pass iterators need a new one."""
    return Memorized(cx, collection) if is_iterator(collection) else collection


@function("takeWhile", style="M", params=(COLLECTION, PREDICATE))
def take_while(collection: Items, predicate: Lambda) -> Iterator[Any]:
    """The items before the first one for which the predicate fails."""
    for item in collection:
        if not predicate(item):
            return
        yield item


@function("skipWhile", style="M", params=(COLLECTION, PREDICATE))
def skip_while(cx: CodeContext, collection: Items, predicate: Lambda) -> Iterator[Any]:
    """The items from the first one on for which the predicate fails."""
    iterator = iter(walk(cx, collection))
    for item in iterator:
        if not predicate(item):
            yield item
            yield from iterator


@function("defaultIfEmpty", style="M", params=(COLLECTION, Param("default", Type.ITER)))
def default_if_empty(cx: CodeContext, collection: Items, default: Items) -> Items:
    """The collection, or ``default`` when it has no item."""
    if not hasattr(collection, "__len__"):
        collection = Memorized(cx, collection)
    return collection if any(True for _ in collection) else default
