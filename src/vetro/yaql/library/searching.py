"""Finding positions in collections and cutting them at conditions (YAQL.md 4.4)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.library._support import COLLECTION, PREDICATE, Items, Lambda, frozen, gather, walk
from vetro.yaql.resolve.operators import equal
from vetro.yaql.resolve.signature import Param, Type, function

_ITEM = Param("item")


@function("indexOf", style="M", params=(COLLECTION, _ITEM))
def index_of(cx: CodeContext, collection: Items, item: Any) -> int:
    """The index of the first item that equals ``item``; -1 when none does."""
    return next((i for i, value in enumerate(walk(cx, collection)) if equal(cx, value, item)), -1)


@function("lastIndexOf", style="M", params=(COLLECTION, _ITEM))
def last_index_of(cx: CodeContext, collection: Items, item: Any) -> int:
    """The index of the last item that equals ``item``; -1 when none does."""
    found = -1
    for index, value in enumerate(walk(cx, collection)):
        if equal(cx, value, item):
            found = index
    return found


@function("indexWhere", style="M", params=(COLLECTION, PREDICATE))
def index_where(cx: CodeContext, collection: Items, predicate: Lambda) -> int:
    """The index of the first item for which the predicate holds; -1 when there is none."""
    return next((i for i, value in enumerate(walk(cx, collection)) if predicate(value)), -1)


@function("lastIndexWhere", style="M", params=(COLLECTION, PREDICATE))
def last_index_where(cx: CodeContext, collection: Items, predicate: Lambda) -> int:
    """The index of the last item for which the predicate holds; -1 when there is none."""
    found = -1
    for index, value in enumerate(walk(cx, collection)):
        if predicate(value):
            found = index
    return found


@function("slice", style="M", params=(COLLECTION, Param("length", Type.INT)))
def slice_(cx: CodeContext, collection: Items, length: int) -> Iterator[Any]:
    """Lists of ``length`` items each, the last one may be shorter; lazily.

    Raises ValueError (when consumed) for a negative length.
    """
    if length < 0:
        raise ValueError(f"slice() needs a length that is not negative, not {length}")
    iterator = iter(walk(cx, collection))
    while True:
        part = gather(cx, islice(iterator, length))
        if not part:
            return
        yield tuple([frozen(cx, item) for item in part])


@function("splitWhere", style="M", params=(COLLECTION, PREDICATE))
def split_where(cx: CodeContext, collection: Items, predicate: Lambda) -> Iterator[Any]:
    """Lists of the items between those for which the predicate holds; lazily.

    Empty lists are kept, except at the end.
    """
    part: list[Any] = []
    for item in walk(cx, collection):
        if predicate(item):
            yield tuple(part)
            part = []
        else:
            cx.rt.check_items(len(part) + 1)
            part.append(frozen(cx, item))
    if part:
        yield tuple(part)


@function("sliceWhere", style="M", params=(COLLECTION, PREDICATE))
def slice_where(cx: CodeContext, collection: Items, predicate: Lambda) -> Iterator[Any]:
    """Lists of neighbouring items for which the predicate has the same value; lazily."""
    part: list[Any] = []
    previous: Any = None
    for item in walk(cx, collection):
        value = predicate(item)
        if part and not equal(cx, value, previous):
            yield tuple(part)
            part = []
        previous = value
        cx.rt.check_items(len(part) + 1)
        part.append(frozen(cx, item))
    if part:
        yield tuple(part)


@function("splitAt", style="M", params=(COLLECTION, Param("index", Type.INT)))
def split_at(cx: CodeContext, collection: Items, index: int) -> tuple[Any, ...]:
    """``[head, tail]`` cut before ``index``; a negative one counts from the end."""
    items = tuple([frozen(cx, item) for item in gather(cx, collection)])
    return (items[:index], items[index:])
