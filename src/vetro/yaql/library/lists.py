"""Lists and lazy sequences: making, measuring, cutting and filling (YAQL.md 4.3)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.library._support import (
    COLLECTION,
    SLOT,
    Items,
    freeze_all,
    frozen_tuple,
    is_iterator,
    varargs,
    walk,
)
from vetro.yaql.resolve.operators import contains as contains_item
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.values import Endless, is_iterable, is_set

_POSITION = Param("position", Type.INT)
_COUNT = Param("count", Type.INT, default=1)
_VALUES = Param("values", Type.ITER)


def expand(cx: CodeContext, args: Items) -> Iterator[Any]:
    """The arguments of ``list`` and ``set``: lazy sequences give their items, whatever the depth; others stay."""
    stack: list[Iterator[Any]] = [iter(args)]
    while stack:
        for item in stack[-1]:
            if is_iterator(item):
                if item.__class__ is Endless:
                    cx.rt.check_items(sys.maxsize)  # no limit is as large
                stack.append(iter(item))
                break
            yield item
        else:
            stack.pop()


@function("list", params=(varargs("args"),))
def to_a_list(cx: CodeContext, *args: Any) -> tuple[Any, ...]:
    """A list of the arguments; items of lazy sequences are spliced in, lists stay items."""
    return frozen_tuple(cx, expand(cx, args))


@function("toList", style="M", params=(COLLECTION,))
def to_list(cx: CodeContext, collection: Items) -> tuple[Any, ...]:
    """All items as a list. Raises `CollectionTooLarge` beyond the item limit."""
    return frozen_tuple(cx, collection)


@function("flatten", style="M", params=(COLLECTION,))
def flatten(cx: CodeContext, collection: Items) -> Iterator[Any]:
    """The items of the collection and of all collections in it, lazily; texts and mappings stay whole."""
    stack: list[Iterator[Any]] = [iter(walk(cx, collection))]
    while stack:
        for item in stack[-1]:
            if is_iterable(item):
                stack.append(iter(walk(cx, item)))
                break
            yield item
        else:
            stack.pop()


@function("len", style="FM", params=(Param("sequence", Type.SEQ),))
def len_sequence(sequence: Any) -> int:
    """The number of items of a list."""
    return len(sequence)


@function("len", style="FM", params=(Param("string", Type.STR),))
def len_string(string: str) -> int:
    """The number of characters of a text."""
    return len(string)


@function("len", style="FM", params=(Param("collection", Type.ITERATOR),))
def len_iterator(cx: CodeContext, collection: Iterator[Any]) -> int:
    """The number of items of a lazy sequence, which is consumed."""
    return count_items(cx, collection)


def count_items(cx: CodeContext, collection: Items) -> int:
    """The number of items of any collection, by walking it."""
    if collection.__class__ is tuple:
        return len(collection)
    total = 0
    for _ in collection:
        total += 1
        if not total % 1024:
            cx.rt.charge(1024)
    return total


@function("contains", style="M", params=(COLLECTION, Param("value")))
def contains(cx: CodeContext, collection: Items, value: Any) -> bool:
    """True when an item equals ``value``; a lazy sequence is consumed up to it."""
    return contains_item(cx, value, walk(cx, collection))


def _window(cx: CodeContext, collection: Items, position: int, values: Items, count: int) -> Iterator[Any]:
    """``collection`` without the items [position, position + count), in whose place ``values`` stand.

    A negative count reaches to the end. The values are placed where the first removed item was, so nothing happens
    when none is.
    """
    pending = True
    for index, item in enumerate(walk(cx, collection)):
        if position <= index < position + count or (count < 0 and index >= position):
            if pending:
                yield from values
                pending = False
        else:
            yield item


@function("delete", style="M", params=(COLLECTION, _POSITION, _COUNT))
def delete(cx: CodeContext, collection: Items, position: int, count: int = 1) -> Iterator[Any]:
    """The items outside of [position, position + count), lazily; a negative count removes to the end."""
    return _window(cx, collection, position, (), count)


@function("replace", style="M", params=(COLLECTION, _POSITION, Param("value"), _COUNT))
def replace(cx: CodeContext, collection: Items, position: int, value: Any, count: int = 1) -> Iterator[Any]:
    """The collection with the items [position, position + count) replaced by one value, lazily."""
    return _window(cx, collection, position, (value,), count)


@function("replaceMany", style="M", params=(COLLECTION, _POSITION, _VALUES, _COUNT))
def replace_many(cx: CodeContext, collection: Items, position: int, values: Items, count: int = 1) -> Iterator[Any]:
    """The collection with the items [position, position + count) replaced by several values, lazily."""
    return _window(cx, collection, position, values, count)


@function("insert", style="M", params=(Param("collection", Type.SEQ), _POSITION, Param("value")))
def insert_into_list(cx: CodeContext, collection: Any, position: int, value: Any) -> tuple[Any, ...]:
    """A new list with ``value`` before ``position``: negative counts from the end, too great appends."""
    cx.rt.check_items(len(collection) + 1)
    cx.rt.check_memory(SLOT * (len(collection) + 1))
    cx.rt.charge(len(collection))
    return freeze_all(cx, (*collection[:position], value, *collection[position:]))


def _is_no_set(value: Any) -> bool:
    return not is_set(value)


@function("insert", style="M", params=(Param("collection", Type.ITER, check=_is_no_set), _POSITION, Param("value")))
def insert_into_iterator(cx: CodeContext, collection: Items, position: int, value: Any) -> Iterator[Any]:
    """``value`` before item ``position`` of a lazy sequence: negative inserts nothing, too great appends."""
    return _spliced(collection, position, (value,))


@function("insertMany", style="M", params=(COLLECTION, _POSITION, _VALUES))
def insert_many(cx: CodeContext, collection: Items, position: int, values: Items) -> Iterator[Any]:
    """``values`` before item ``position``, lazily: negative puts them first, too great last."""
    return _spliced(walk(cx, collection), max(position, 0), values)


def _spliced(collection: Items, position: int, values: Items) -> Iterator[Any]:
    index = -1
    for index, item in enumerate(collection):
        if index == position:
            yield from values
        yield item
    if position > index:
        yield from values
