"""What the function modules share: walking and gathering collections within the budgets, keys, defaults.

Lazy functions pass items on and pay nothing for memory; whoever gathers a whole collection goes through `gather`,
`frozen_tuple` or `growing`, which stop at the item limit when item N+1 is pulled (YAQL.md 3.4).
"""

from __future__ import annotations

import collections.abc as abc
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.resolve.signature import Kind, Param, Type
from vetro.yaql.values import FROZEN, SCALARS, Endless, check_depth, freeze, take_all

#: Bytes of one slot of a list and, roughly, of one small text or mapping entry.
SLOT = 8
ENTRY = 64
#: Items between two payments of a source that could go on for ever.
TICK = 256

Items = Iterable[Any]
Lambda = Callable[..., Any]

COLLECTION = Param("collection", Type.ITER)
PREDICATE = Param("predicate", Type.LAMBDA)
OPTIONAL_PREDICATE = Param("predicate", Type.LAMBDA, default=None)
SELECTOR = Param("selector", Type.LAMBDA)


class Batch:
    """A selector that compiled code offers for many items at once: one call instead of one an item.

    It is an ordinary selector as well. Functions that have all their items use `selected`.
    """

    __slots__ = ("all", "pure")

    def __init__(self, all_: Callable[[Items], list[Any]], pure: bool) -> None:
        self.all = all_
        #: Nothing in it can do more than read values, so that it may be run again to find out which item failed.
        self.pure = pure

    def __call__(self, item: Any) -> Any:
        return self.all((item,))[0]


def selected(selector: Lambda, items: Items) -> list[Any]:
    """The selector's value for each item."""
    return selector.all(items) if selector.__class__ is Batch else list(map(selector, items))


def reads(selector: Lambda) -> bool:
    """Whether the selector does nothing but read values: it may be called for more items than need it, or again."""
    return selector.__class__ is Batch and selector.pure


def varargs(name: str, type_: Type = Type.ANY, arity: int | None = 1) -> Param:
    """A parameter that takes all remaining positional arguments."""
    return Param(name, type_, kind=Kind.VARARGS, arity=arity)


def walk(cx: CodeContext, items: Items) -> Items:
    """``items`` itself, with the steps of a complete walk paid where the length is known."""
    if items.__class__ is tuple:
        cx.rt.charge(len(items))
    return items


def gather(cx: CodeContext, items: Items) -> list[Any] | tuple[Any, ...]:
    """All items, as a tuple where they are one already. Raises `CollectionTooLarge` beyond the item limit."""
    if items.__class__ is tuple:
        whole: tuple[Any, ...] = items
        cx.rt.check_items(len(whole))
        cx.rt.charge(len(whole))
        return whole
    found = take_all(items, cx.rt.limits.max_sequence)
    cx.rt.charge(len(found))
    return found


def growing(cx: CodeContext, items: Items) -> Items:
    """``items``, checked against the item limit while they are pulled one by one."""
    if items.__class__ is tuple:
        return gather(cx, items)
    return _counted(cx, items)


def _counted(cx: CodeContext, items: Items) -> Iterator[Any]:
    rt = cx.rt
    limit = rt.limits.max_sequence
    stop = float("inf") if limit is None else limit
    for count, item in enumerate(items, 1):
        if count > stop:
            rt.check_items(count)
        if not count % TICK:
            rt.charge(TICK)
        yield item


def ticking(cx: CodeContext, items: Iterator[Any]) -> Iterator[Any]:
    """The items of a source that makes them itself, paid for in batches."""
    charge = cx.rt.charge
    count = TICK
    while count == TICK:
        count = 0
        for item in islice(items, TICK):
            count += 1
            yield item
        charge(count)


def endless(cx: CodeContext, items: Iterator[Any]) -> Endless:
    """The items of a source that never ends, paid for as by `ticking`."""
    return Endless(ticking(cx, items))


def frozen(cx: CodeContext, value: Any) -> Any:
    """``value`` as it may be stored inside a container: lazy parts become lists."""
    if value.__class__ in FROZEN:
        return value
    return freeze(value, cx.rt.limits.max_sequence)


def frozen_tuple(cx: CodeContext, items: Items) -> tuple[Any, ...]:
    """A list of all ``items``; lazy items inside become lists too."""
    if items.__class__ is tuple:
        cx.rt.check_items(len(items))
        return items
    return freeze_all(cx, gather(cx, items))


def freeze_all(cx: CodeContext, items: Items) -> tuple[Any, ...]:
    """A list of items that were counted before."""
    found = tuple(items)
    if FROZEN.issuperset(map(type, found)):
        return found
    return tuple([frozen(cx, item) for item in found])


def key_of(cx: CodeContext, value: Any) -> Any:
    """``value`` as a mapping key or set member.

    Raises `NestingTooDeep` for containers that cannot be hashed safely. Lazy sequences count as the list of their
    items.
    """
    if value.__class__ in SCALARS:
        return value
    value = frozen(cx, value)
    check_depth(value)
    return value


def is_iterator(value: Any) -> bool:
    """True for lazy sequences: what can be walked once, and memorized ones."""
    return isinstance(value, abc.Iterator)


class Memorized(abc.Iterator[Any]):
    """A lazy sequence that remembers its items, so that it can be walked again and again.

    It counts as an iterator of the language (`len` consumes a fresh walk of it).
    """

    __slots__ = ("_cx", "_own", "_seen", "_source")

    def __init__(self, cx: CodeContext, items: Items) -> None:
        self._cx = cx
        self._source: Iterator[Any] | None = iter(items)
        self._seen: list[Any] = []
        self._own: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        position = 0
        while True:
            while position < len(self._seen):
                yield self._seen[position]
                position += 1
            if not self._pull():
                return

    def settle(self) -> None:
        """Takes all items now and lets their source go."""
        while self._pull():
            pass

    def _pull(self) -> bool:
        if self._source is None:
            return False
        for item in self._source:
            self._cx.rt.check_items(len(self._seen) + 1)
            self._seen.append(item)
            return True
        self._source = None
        return False

    def __next__(self) -> Any:
        if self._own is None:
            self._own = iter(self)
        return next(self._own)

    def __repr__(self) -> str:
        return "<lazy sequence>"
