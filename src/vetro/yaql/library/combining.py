"""Queries that group a collection or combine several (YAQL.md 4.4)."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.errors import NoMatchingFunction, NoMatchingMethod
from vetro.yaql.library._support import (
    COLLECTION,
    Items,
    Lambda,
    Memorized,
    frozen,
    gather,
    growing,
    key_of,
    reads,
    selected,
    varargs,
    walk,
)
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.values import FROZEN, SCALARS, is_sequence

_MISFITS = (NoMatchingFunction, NoMatchingMethod, IndexError)


@function(
    "groupBy",
    style="M",
    params=(
        COLLECTION,
        Param("keySelector", Type.LAMBDA),
        Param("valueSelector", Type.LAMBDA, default=None),
        Param("aggregator", Type.LAMBDA, default=None),
    ),
)
def group_by(
    cx: CodeContext,
    collection: Items,
    key_selector: Lambda,
    value_selector: Lambda | None = None,
    aggregator: Lambda | None = None,
) -> Iterator[Any]:
    """``[key, values]`` for each different key, in the order of their first items.

    ``aggregator`` turns the list of values into one value. Packages of old wrote aggregators that take and give the
    whole pair: where the dialect allows it, an aggregator that does not fit a list of values is tried that way.
    """
    groups = _groups_at_once(cx, collection, key_selector, value_selector)
    if groups is None:
        groups = {}
        for item in growing(cx, collection):
            value = item if value_selector is None else value_selector(item)
            groups.setdefault(key_of(cx, key_selector(item)), []).append(frozen(cx, value))
    pairs = ((key, tuple(values)) for key, values in groups.items())
    if aggregator is None:
        return pairs
    return _aggregated(pairs, aggregator, cx.dialect.group_fallback)


def _groups_at_once(
    cx: CodeContext, collection: Items, key_selector: Lambda, value_selector: Lambda | None
) -> dict[Any, list[Any]] | None:
    """The groups of a list by selectors that only read; None where that must be done item by item.

    So it is when one of them fails: which item is the first to fail shows only then.
    """
    if (
        collection.__class__ is not tuple
        or not reads(key_selector)
        or not (value_selector is None or reads(value_selector))
    ):
        return None
    items = gather(cx, collection)
    try:
        keys = selected(key_selector, items)
        values = items if value_selector is None else selected(value_selector, items)
    except Exception:  # whatever it is, it happens again
        return None
    if not SCALARS.issuperset(map(type, keys)) or not FROZEN.issuperset(map(type, values)):
        return None
    groups: defaultdict[Any, list[Any]] = defaultdict(list)
    for key, value in zip(keys, values, strict=True):
        groups[key].append(value)
    return groups


def _aggregated(pairs: Iterator[tuple[Any, Any]], aggregator: Lambda, fallback: bool) -> Iterator[Any]:
    """``fallback``: it is still unknown which style the aggregator is written in."""
    for key, values in pairs:
        try:
            result = aggregator(values)
        except _MISFITS:
            if not fallback:
                raise
            try:
                result = aggregator((key, values))
            except _MISFITS:
                result = None
            if not _is_pair(result):
                raise
            yield result
            break
        fallback = fallback and _is_pair(result)
        yield (key, result)
    # Only reached with groups left when the old style was recognised.
    for pair in pairs:
        result = aggregator(pair)
        if not _is_pair(result):
            raise TypeError("the aggregator of groupBy() must give [key, value] for every group or for none")
        yield result


def _is_pair(value: Any) -> bool:
    return is_sequence(value) and len(value) == 2


@function("zip", style="M", params=(COLLECTION, varargs("collections", Type.ITER)))
def zip_(collection: Items, *collections: Items) -> Iterator[Any]:
    """Lists of one item of each collection, as long as all of them have one."""
    return zip(collection, *collections)


@function(
    "zipLongest",
    style="M",
    params=(COLLECTION, varargs("collections", Type.ITER), Param("default", default=None)),
)
def zip_longest(collection: Items, *collections: Items, default: Any = None) -> Iterator[Any]:
    """Lists of one item of each collection, ``default`` where one has no more."""
    return itertools.zip_longest(collection, *collections, fillvalue=default)


@function(
    "join",
    style="M",
    params=(
        Param("collection1", Type.ITER),
        Param("collection2", Type.ITER),
        Param("predicate", Type.LAMBDA, arity=2),
        Param("selector", Type.LAMBDA, arity=2),
    ),
)
def join(cx: CodeContext, collection1: Items, collection2: Items, predicate: Lambda, selector: Lambda) -> Iterator[Any]:
    """``selector`` of every two items, one of each collection, for which ``predicate`` holds; lazily."""
    inner = collection2 if hasattr(collection2, "__len__") else Memorized(cx, collection2)
    for left in walk(cx, collection1):
        for right in walk(cx, inner):
            if predicate(left, right):
                yield selector(left, right)
