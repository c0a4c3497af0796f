"""The slow paths of `freeze` and `thaw`: post-order walks with explicit stacks, so depth costs no Python frames."""

from __future__ import annotations

import collections.abc as abc
import gc
from itertools import chain, islice
from typing import Any

from vetro.yaql.errors import CollectionTooLarge
from vetro.yaql.values import FROZEN, FDict, FSet, HostObject

#: Classes of values that are the same frozen and thawed.
_SCALARS = frozenset({type(None), bool, int, float, str})


def _lazy(value: Any) -> bool:
    return isinstance(value, abc.Iterable) and not isinstance(value, (str, bytes, HostObject))


def _take(value: Any, limit: int | None) -> list[Any]:
    if limit is None:
        return list(value)
    items = list(islice(value, limit + 1))
    if len(items) > limit:
        raise CollectionTooLarge(f"collection length exceeds {limit} elements")
    return items


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
                done.append(item)
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
                kind, todo, done = "list", _take(item, limit)[::-1], []
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
        if item.__class__ in _SCALARS:  # most are; asking the abstract classes takes ten times as long
            target[slot] = item
            continue
        if isinstance(item, abc.Sized) and not isinstance(item, (str, bytes)):
            count += len(item)
            if count > limit:
                raise CollectionTooLarge(f"the value has more than {limit:,} items when written out")
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
