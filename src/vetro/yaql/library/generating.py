"""Sources that make their items themselves: ranges, repetition, generators, graph walks (YAQL.md 4.4).

Such a source may have no end, so it pays steps for what it makes.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.laziness import ROUNDS, settle
from vetro.yaql.library._support import COLLECTION, TICK, Items, Lambda, endless, key_of, ticking
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.types import describe
from vetro.yaql.values import FROZEN, is_iterable

_START = Param("start", Type.INT)
_STOP = Param("stop", Type.INT)
_INITIAL = Param("initial")
_OPTIONAL_SELECTOR = Param("selector", Type.LAMBDA, default=None)
_DECYCLE = Param("decycle", Type.BOOL, default=False)


@function("range", params=(_STOP,))
def range_to(cx: CodeContext, stop: int) -> Iterator[int]:
    """The integers from 0 up to ``stop``, which is left out; lazily."""
    return ticking(cx, iter(range(stop)))


@function("range", params=(_START, _STOP, Param("step", Type.INT, default=1)))
def range_from(cx: CodeContext, start: int, stop: int, step: int = 1) -> Iterator[int]:
    """The integers from ``start`` by ``step`` up to ``stop``, which is left out; lazily.

    Raises ValueError for a step of 0.
    """
    return ticking(cx, iter(range(start, stop, step)))


@function("sequence", params=(Param("start", Type.INT, default=0), Param("step", Type.INT, default=1)))
def sequence(cx: CodeContext, start: int = 0, step: int = 1) -> Iterator[int]:
    """``start``, ``start + step``… without end."""
    return endless(cx, itertools.count(start, step))


@function("repeat", style="M", params=(Param("value"), Param("times", Type.INT, default=-1)))
def repeat(cx: CodeContext, value: Any, times: int = -1) -> Iterator[Any]:
    """``value`` so many times, lazily; without end when ``times`` is negative."""
    return endless(cx, itertools.repeat(value)) if times < 0 else ticking(cx, itertools.repeat(value, times))


@function("cycle", style="M", params=(COLLECTION,))
def cycle(cx: CodeContext, collection: Items) -> Iterator[Any]:
    """The items again and again without end; nothing when there are none.

    Raises `CollectionTooLarge` when a lazy sequence to be repeated exceeds the item limit.
    """
    if collection.__class__ is tuple:
        return endless(cx, itertools.cycle(collection)) if collection else iter(())
    return ticking(cx, _cycle(cx, collection))


def _cycle(cx: CodeContext, collection: Items) -> Iterator[Any]:
    seen: list[Any] = []
    for item in collection:
        cx.rt.check_items(len(seen) + 1)
        seen.append(item)
        yield item
    while seen:
        yield from seen


@function(
    "generate",
    params=(
        _INITIAL,
        Param("predicate", Type.LAMBDA),
        Param("producer", Type.LAMBDA),
        _OPTIONAL_SELECTOR,
        _DECYCLE,
    ),
)
def generate(
    cx: CodeContext,
    initial: Any,
    predicate: Lambda,
    producer: Lambda,
    selector: Lambda | None = None,
    decycle: bool = False,
) -> Iterator[Any]:
    """``initial``, ``producer`` of it, and so on while ``predicate`` holds; lazily.

    ``selector`` maps what is handed out. With ``decycle`` a value that was there before ends the sequence.
    """
    seen: set[Any] = set()
    value = initial
    count = 0
    while predicate(value):
        if decycle:
            key = key_of(cx, value)
            if key in seen:
                return
            cx.rt.check_items(len(seen) + 1)
            seen.add(key)
        yield value if selector is None else selector(value)
        value = producer(value)
        count += 1
        if value.__class__ not in FROZEN and not count % ROUNDS:
            value = settle(cx.rt, value)
        if not count % TICK:
            cx.rt.charge(TICK)


@function(
    "generateMany",
    params=(
        _INITIAL,
        Param("producer", Type.LAMBDA),
        _OPTIONAL_SELECTOR,
        _DECYCLE,
        Param("depthFirst", Type.BOOL, default=False),
    ),
)
def generate_many(
    cx: CodeContext,
    initial: Any,
    producer: Lambda,
    selector: Lambda | None = None,
    decycle: bool = False,
    depth_first: bool = False,
) -> Iterator[Any]:
    """A walk over ``initial`` and all that ``producer`` yields for it and its offspring, lazily.

    Breadth first unless ``depthFirst``; with ``decycle`` what was seen is skipped. Raises TypeError when a producer's
    value is no collection.
    """
    seen: set[Any] = set()
    waiting: deque[Any] = deque([initial])
    count = 0
    while waiting:
        value = waiting.popleft()
        if decycle:
            key = key_of(cx, value)
            if key in seen:
                continue
            seen.add(key)
        yield value if selector is None else selector(value)
        if value.__class__ not in FROZEN:
            value = settle(cx.rt, value)
        offspring = producer(value)
        if not is_iterable(offspring) and not isinstance(offspring, (str, dict)):
            raise TypeError(f"the producer of generateMany() must give a collection, not {describe(offspring)}")
        # Breadth first appends, depth first puts the children before everything that waits, in their own order.
        children: deque[Any] = deque()
        for child in offspring:
            children.append(child)
            cx.rt.check_items(len(seen) + len(waiting) + len(children))
        if depth_first:
            waiting.extendleft(reversed(children))
        else:
            waiting.extend(children)
        count += 1
        if not count % TICK:
            cx.rt.charge(TICK)
