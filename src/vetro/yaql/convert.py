"""Conversion of results to plain Python data (YAQL.md section 6), with an explicit stack: depth costs no frames."""

from __future__ import annotations

import collections.abc as abc
from itertools import chain
from typing import Any

from vetro.data_classes import dataclass
from vetro.yaql.context import Execution
from vetro.yaql.errors import CollectionTooLarge
from vetro.yaql.values import SCALARS, FDict, HostObject, take_all


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of section 6. None for the limits leaves those of `Limits` as they are; negative ones mean none."""

    convert_input_data: bool = True
    convert_output_data: bool = True
    convert_tuples_to_lists: bool = True
    convert_sets_to_lists: bool = False
    iterable_dicts: bool = False
    limit_iterators: int | None = None
    memory_quota: int | None = None


def _iterates(value: Any) -> bool:
    return (
        value.__class__ not in SCALARS
        and isinstance(value, abc.Iterable)
        and not isinstance(value, (str, bytes, HostObject, type))
    )


def _items(value: Any, rt: Execution) -> list[Any]:
    if isinstance(value, abc.Sized):
        rt.check_items(len(value))
        return list(value)  # type: ignore[call-overload, no-any-return]
    return take_all(value, rt.limits.max_sequence)


def _open(value: Any, rt: Execution, options: Options) -> tuple[str, list[Any], list[Any]]:
    """What kind of container to build, and its parts still to be converted, last one first."""
    if isinstance(value, abc.Mapping):
        rt.check_items(len(value))
        flat = [side for pair in value.items() for side in pair]
        return "dict", flat[::-1], []
    if isinstance(value, abc.Set):
        return "list" if options.convert_sets_to_lists else "set", _items(value, rt)[::-1], []
    kind = "tuple" if isinstance(value, tuple) and not options.convert_tuples_to_lists else "list"
    return kind, _items(value, rt)[::-1], []


def _close(kind: str, parts: list[Any]) -> Any:
    if kind == "dict":
        return dict(zip(parts[0::2], parts[1::2], strict=True))
    if kind == "set":
        return set(parts)
    return tuple(parts) if kind == "tuple" else parts


def to_plain(value: Any, rt: Execution, options: Options) -> Any:
    """``value`` as dicts, lists, sets and scalars; lazy sequences are consumed.

    Raises `CollectionTooLarge` beyond the item limit and `Limits.max_output`, TypeError where a
    mapping's key or a set's item is a list or a
    mapping, and whatever a lazy sequence raises.
    """
    if not _iterates(value):
        return value
    total = 0
    stack = [_open(value, rt, options)]
    while True:
        kind, todo, done = stack[-1]
        while todo:
            item = todo.pop()
            if item.__class__ in SCALARS:
                done.append(item)
                continue
            if item.__class__ is FDict and SCALARS.issuperset(map(type, chain(item, item.values()))):
                rt.check_items(len(item))
                total += 2 * len(item)
                if total > rt.limits.max_output:
                    raise CollectionTooLarge(
                        f"the result has more than {rt.limits.max_output:,} items when written out"
                    )
                done.append(dict(item))
                continue
            if _iterates(item):
                opened = _open(item, rt, options)
                total += len(opened[1])
                if total > rt.limits.max_output:
                    raise CollectionTooLarge(
                        f"the result has more than {rt.limits.max_output:,} items when written out"
                    )
                stack.append(opened)
                break
            done.append(item)
        else:
            stack.pop()
            made = _close(kind, done)
            if not stack:
                return made
            stack[-1][2].append(made)
