"""The values expressions work on.

null, bool, int, float and str are Python's; lists are ``tuple``; mappings ``FDict``; sets ``FSet`` (both keep
insertion order, so that results do not depend on the hash seed). Invariant: every tuple, FDict and FSet is frozen all
the way down, so nothing ever walks a frozen value again; only a bare iterator is lazy. ``freeze`` and ``thaw`` convert
at the boundary and use explicit stacks, because data may be nested deeper than Python's stack.
"""

from __future__ import annotations

import collections.abc as abc
import gc
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, NoReturn

from vetro.diagnostics import AuthorText, Text
from vetro.yaql.errors import CollectionTooLarge, NestingTooDeep

#: Containers that are hashed or compared may be nested this deep; CPython's own hash recurses in C.
HASH_DEPTH = 500
#: ... and weigh this much, shared parts counted each time: a few lists that hold each other twice look like 2**n. An
#: item weighs 1, a container 10, and long text by its length.
HASH_WEIGHT = 10_000_000
_CONTAINER_WEIGHT = 9
#: Text from this length on weighs more than 1: a 64th of its length.
_LONG_TEXT = 256
#: Items of a value that is handed out as plain data, shared parts counted each time.
THAW_ITEMS = 5_000_000


class FDict(dict[Any, Any]):
    """A mapping that cannot be changed. Hashable when its values are; equal to any dict with the same items."""

    __slots__ = ("_hash",)

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("mappings are immutable")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash  # type: ignore[has-type, no-any-return]
        except AttributeError:
            check_depth(self)
            value = hash(frozenset(self.items()))
            self._hash = value
            return value

    def __reduce__(self) -> tuple[Any, ...]:
        return (FDict, (dict(self),))


class FSet(abc.Set[Any]):
    """An immutable set that iterates in insertion order."""

    __slots__ = ("_hash_value", "_items")

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items: dict[Any, None] = dict.fromkeys(items)

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> FSet:
        return cls(it)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return self._hash()

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self._items))}}}" if self._items else "set()"


class Endless(abc.Iterator[Any]):
    """A lazy sequence that has no end: whoever wants all of its items is told so without taking any."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Any]:
        return self._items  # loops need not ask the class for each item

    def __next__(self) -> Any:
        return next(self._items)


class HostObject:
    """Marks values whose attributes and methods the host language defines (MuranoPL objects, types, views).

    The expression layer never touches Python attributes of such values; it asks these two methods. ``context`` is
    the `CodeContext` of the code that asks.
    """

    __slots__ = ()

    def yaql_attribute(self, name: str, context: Any) -> Any:
        """Value of ``self.name`` as code of ``context`` sees it; raises what the host language says."""
        raise NotImplementedError

    def yaql_method(self, name: str, context: Any) -> Callable[..., Any] | None:
        """The bound method ``name`` as code of ``context`` sees it, or None where the object has none."""
        raise NotImplementedError


class Missing:
    """The marker that stands for an argument left out between commas."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<no value>"

    def __bool__(self) -> bool:
        return False


MISSING = Missing()

SCALARS: frozenset[type] = frozenset({type(None), bool, int, float, str})
#: Classes whose instances take no time to hash or compare.
_LIGHT: frozenset[type] = frozenset({type(None), bool, int, float})
#: Classes whose instances are frozen as they stand: one class test at a statement end.
FROZEN: set[type] = {type(None), bool, int, float, str, tuple, FDict, FSet}


def freeze(value: Any, limit: int | None = None) -> Any:
    """``value`` as a frozen value: dicts become FDict, lists and iterators tuples, sets FSet; others stay.

    ``limit`` is the greatest number of items taken from any one lazy sequence (None: no limit); beyond it
    `CollectionTooLarge` is raised. Depth is bounded only by memory.
    """
    if value.__class__ in FROZEN or isinstance(value, (HostObject, bytes)):
        return value
    return freeze_deep(value, limit)


def thaw(value: Any, limit: int = THAW_ITEMS) -> Any:
    """``value`` as plain Python data: dict, list, set; host objects and scalars stay. For process boundaries.

    Raises `CollectionTooLarge` when the result would have more than ``limit`` items: plain data shares no parts, so a
    few lists that hold each other twice become 2**n.
    """
    return thaw_deep(value, limit)


def check_depth(value: Any, limit: int = HASH_DEPTH) -> int:
    """The weight of ``value``: how long hashing it or comparing it takes at most.

    Raises `NestingTooDeep` when containers in it are nested deeper than ``limit`` levels or the weight is beyond
    `HASH_WEIGHT`. Needed before hashing or comparing: CPython recurses in C without a check and would be killed by a
    signal, and while it compares nothing can interrupt it.
    """
    level: list[Any] = [value]
    weight = 0
    for _ in range(limit):
        below: list[Any] = []
        for item in level:
            if item.__class__ is tuple or isinstance(item, (FSet, list)):
                weight += _CONTAINER_WEIGHT + len(item)
                parts: list[Any] = [x for x in item if x.__class__ not in _LIGHT]
            elif isinstance(item, dict):
                weight += _CONTAINER_WEIGHT + 2 * len(item)
                parts = [x for side in (item, item.values()) for x in side if x.__class__ not in _LIGHT]
            else:
                parts = [item] if item.__class__ is str else []
            for part in parts:
                if part.__class__ is not str:
                    below.append(part)
                elif len(part) >= _LONG_TEXT:
                    weight += len(part) >> 6
            if weight > HASH_WEIGHT:
                raise NestingTooDeep(
                    Text(
                        "value has too many parts to be compared or hashed: more than {hash_weight:,}",
                        hash_weight=HASH_WEIGHT,
                    )
                )
        if not below:
            return weight
        level = below
    raise NestingTooDeep(Text("value is nested deeper than {limit} levels", limit=limit))


def is_iterable(value: Any) -> bool:
    """True for what YAQL calls iterable: everything Python iterates except text and mappings."""
    cls = value.__class__
    if cls is tuple:
        return True
    return not isinstance(value, (str, dict, bytes, HostObject)) and isinstance(value, abc.Iterable)


def is_sequence(value: Any) -> bool:
    """True for lists (tuples); not for text, sets or lazy sequences."""
    return value.__class__ is tuple or (isinstance(value, abc.Sequence) and not isinstance(value, (str, bytes)))


def is_set(value: Any) -> bool:
    """True for sets and for the keys() and items() views of mappings."""
    return isinstance(value, (abc.Set, abc.ItemsView, abc.KeysView))


# -- the slow paths of `freeze` and `thaw`: post-order walks with explicit stacks, so depth costs no Python frames -----


def _lazy(value: Any) -> bool:
    return isinstance(value, abc.Iterable) and not isinstance(value, (str, bytes, HostObject))


def take_all(items: Iterable[Any], limit: int | None) -> list[Any]:
    """All items. Raises `CollectionTooLarge` when there are more than ``limit`` (None: no limit)."""
    if limit is None:
        return list(items)
    if items.__class__ is not Endless:
        found = list(islice(items, limit + 1))
        if len(found) <= limit:
            return found
    raise CollectionTooLarge(Text("collection length exceeds {limit} elements", limit=limit))


def _build(kind: str, parts: list[Any]) -> Any:
    if kind == "map":
        return FDict(zip(parts[0::2], parts[1::2]))
    if kind == "set":
        return FSet(parts)
    return tuple(parts)


def _flat(value: Any) -> Any:
    """Frozen form of a plain dict or list whose items are frozen already, or of a table of such rows; else None.

    Tables are what callers hand over most, so these shapes are converted by loops in C.
    """
    if value.__class__ is dict:
        return FDict(value) if FROZEN.issuperset(map(type, value.values())) else None
    kinds = set(map(type, value))
    if kinds <= FROZEN:
        return tuple(value)
    if kinds == {dict} and FROZEN.issuperset(map(type, chain.from_iterable(map(dict.values, value)))):
        enabled = gc.isenabled()
        gc.disable()  # nothing here makes cycles, and every new mapping would count towards a collection
        try:
            return tuple(map(FDict, value))
        finally:
            if enabled:
                gc.enable()
    return None


def freeze_deep(value: Any, limit: int | None) -> Any:
    """See `vetro.yaql.values.freeze`."""
    if value.__class__ is dict or value.__class__ is list:
        quick = _flat(value)
        if quick is not None:
            return quick
    # A frame is [kind, remaining inputs (reversed), finished parts].
    root: list[Any] = []
    stack: list[tuple[str, list[Any], list[Any]]] = [("list", [value], root)]
    while True:
        kind, todo, done = stack[-1]
        while todo:
            item = todo.pop()
            if item.__class__ in FROZEN or not _lazy(item):
                # A message is a plain text for package code.
                done.append(str.__str__(item) if isinstance(item, (Text, AuthorText)) else item)
                continue
            if item.__class__ is dict or item.__class__ is list:
                quick = _flat(item)
                if quick is not None:
                    done.append(quick)
                    continue
            if isinstance(item, abc.Mapping):
                flat: list[Any] = []
                for key, val in item.items():
                    flat += (key, val)
                kind, todo, done = "map", flat[::-1], []
            elif isinstance(item, abc.Set):
                kind, todo, done = "set", list(item)[::-1], []
            else:
                kind, todo, done = "list", take_all(item, limit)[::-1], []
            stack.append((kind, todo, done))
        stack.pop()
        if not stack:
            return root[0]
        stack[-1][2].append(_build(kind, done))


def thaw_deep(value: Any, limit: int) -> Any:
    """See `vetro.yaql.values.thaw`. Sets whose items are containers become lists, as plain sets cannot hold them."""
    root: list[Any] = [None]
    count = 0
    work: list[tuple[Any, Any, Any]] = [(value, root, 0)]
    while work:
        item, target, slot = work.pop()
        if item.__class__ in SCALARS:  # most are; asking the abstract classes takes ten times as long
            target[slot] = item
            continue
        if isinstance(item, abc.Sized) and not isinstance(item, (str, bytes)):
            count += len(item)
            if count > limit:
                raise CollectionTooLarge(Text("the value has more than {limit:,} items when written out", limit=limit))
        if isinstance(item, abc.Mapping):
            result: Any = dict.fromkeys(item)
            work.extend((val, result, key) for key, val in item.items())
        elif isinstance(item, abc.Set):
            plain = all(not _lazy(x) for x in item)
            result = set(item) if plain else [None] * len(item)
            if not plain:
                work.extend((val, result, i) for i, val in enumerate(item))
        elif _lazy(item):
            items = list(item)
            result = [None] * len(items)
            work.extend((val, result, i) for i, val in enumerate(items))
        else:
            result = item
        target[slot] = result
    return root[0]
