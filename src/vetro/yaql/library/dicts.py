"""Mappings: making, reading, changed copies, deep merge (YAQL.md 4.3 and `mergeWith` of 4.4).

A mapping never changes; what a function returns is a new one.
"""

from __future__ import annotations

import collections.abc as abc
from collections.abc import ItemsView, KeysView, ValuesView
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.errors import NoItems, NoMatchingFunction, NoMatchingMethod
from vetro.yaql.library._support import (
    COLLECTION,
    ENTRY,
    Items,
    Lambda,
    frozen,
    growing,
    key_of,
    varargs,
    walk,
)
from vetro.yaql.resolve.operators import equal
from vetro.yaql.resolve.signature import Kind, Param, Type, function
from vetro.yaql.values import FDict

_DICT = Param("dict", Type.DICT)
_KEY = Param("key")
_RULES = Param("args", kind=Kind.RULES)
#: Overloads of one name must agree on how `word => value` reaches them, even those that have no use for pairs.
_NO_PAIRS = Param("args", kind=Kind.RULES, default=())

Pairs = tuple[tuple[Any, Any], ...]


@function("dict", params=(_RULES,))
def dict_of_pairs(cx: CodeContext, pairs: Pairs) -> FDict:
    """The mapping of ``key => value`` arguments; later keys win. Raises TypeError for keys without a hash."""
    return FDict((key_of(cx, key), frozen(cx, value)) for key, value in pairs)


@function("dict", params=(Param("items", Type.ITER), _NO_PAIRS))
def dict_of_items(cx: CodeContext, items: Items, pairs: Pairs = ()) -> FDict:
    """The mapping of an iterable of ``[key, value]`` items; further parts of an item are ignored.

    Raises `NoItems` for an item of fewer than two parts, TypeError for one that is no collection.
    """
    _refuse_pairs("function", "dict", pairs)
    result: dict[Any, Any] = {}
    for item in growing(cx, items):
        key, value = first_two(item)
        result[key_of(cx, key)] = frozen(cx, value)
    return FDict(result)


def _refuse_pairs(style: str, name: str, pairs: Pairs) -> None:
    if pairs:
        error = NoMatchingFunction if style == "function" else NoMatchingMethod
        raise error(f'{name}() takes "key => value" pairs or plain arguments, not both')


def first_two(item: Any) -> tuple[Any, Any]:
    """The first two parts of ``item``. Raises as `dict_of_items` says."""
    if not isinstance(item, abc.Iterable):
        raise TypeError("dict() needs [key, value] items")
    parts = iter(item)
    found = []
    for part in parts:
        found.append(part)
        if len(found) == 2:
            return found[0], found[1]
    raise NoItems(f"dict() needs [key, value] items, one has only {len(found)} parts")


@function(
    "toDict",
    style="M",
    params=(
        COLLECTION,
        Param("keySelector", Type.LAMBDA),
        Param("valueSelector", Type.LAMBDA, default=None),
    ),
)
def to_dict(cx: CodeContext, collection: Items, key_selector: Lambda, value_selector: Lambda | None = None) -> FDict:
    """The mapping of ``keySelector`` to ``valueSelector`` (or the item) of every item; later keys win."""
    result: dict[Any, Any] = {}
    for item in growing(cx, collection):
        value = item if value_selector is None else value_selector(item)
        result[key_of(cx, key_selector(item))] = frozen(cx, value)
    return FDict(result)


@function("get", style="M", params=(_DICT, _KEY, Param("default", default=None)))
def get(cx: CodeContext, dict: dict[Any, Any], key: Any, default: Any = None) -> Any:
    """The value under ``key``, or ``default``."""
    return dict.get(key_of(cx, key), default)


def _updated(cx: CodeContext, base: dict[Any, Any], changes: Items, size: int) -> FDict:
    cx.rt.check_memory(ENTRY * (len(base) + size))
    cx.rt.charge(len(base) >> 4)
    result = dict(base)
    for key, value in changes:
        result[key_of(cx, key)] = frozen(cx, value)
    return FDict(result)


@function("set", style="M", params=(_DICT, _KEY, Param("value"), _NO_PAIRS))
def set_one(cx: CodeContext, dict: dict[Any, Any], key: Any, value: Any, pairs: Pairs = ()) -> FDict:
    """A new mapping with ``key`` set."""
    _refuse_pairs("method", "set", pairs)
    return _updated(cx, dict, ((key, value),), 1)


@function("set", style="M", params=(_DICT, Param("replacements", Type.DICT), _NO_PAIRS))
def set_many(cx: CodeContext, dict: dict[Any, Any], replacements: dict[Any, Any], pairs: Pairs = ()) -> FDict:
    """A new mapping with every entry of ``replacements`` set."""
    _refuse_pairs("method", "set", pairs)
    return _updated(cx, dict, replacements.items(), len(replacements))


@function("set", style="M", params=(_DICT, _RULES))
def set_pairs(cx: CodeContext, dict: dict[Any, Any], pairs: Pairs) -> FDict:
    """A new mapping with every ``key => value`` argument set."""
    return _updated(cx, dict, pairs, len(pairs))


@function("keys", style="M", params=(_DICT,))
def keys(dict: dict[Any, Any]) -> KeysView[Any]:
    """The keys, as a view that counts as a set."""
    return dict.keys()


@function("values", style="M", params=(_DICT,))
def values(dict: dict[Any, Any]) -> ValuesView[Any]:
    """The values, as a view that can be walked again and again."""
    return dict.values()


@function("items", style="M", params=(_DICT,))
def items(dict: dict[Any, Any]) -> ItemsView[Any, Any]:
    """The ``[key, value]`` pairs, as a view that counts as a set."""
    return dict.items()


@function("len", style="FM", params=(_DICT,))
def len_dict(dict: dict[Any, Any]) -> int:
    """The number of entries."""
    return len(dict)


@function("containsKey", style="M", params=(_DICT, _KEY))
def contains_key(cx: CodeContext, dict: dict[Any, Any], key: Any) -> bool:
    """True when there is an entry under ``key``."""
    return key_of(cx, key) in dict


@function("containsValue", style="M", params=(_DICT, Param("value")))
def contains_value(cx: CodeContext, dict: dict[Any, Any], value: Any) -> bool:
    """True when some entry's value equals ``value``."""
    cx.rt.charge(len(dict))
    return any(equal(cx, item, value) for item in dict.values())


@function("delete", style="M", params=(_DICT, varargs("keys")))
def delete_keys(cx: CodeContext, dict: dict[Any, Any], *keys: Any) -> FDict:
    """A new mapping without these keys; absent ones are ignored."""
    return _without(cx, dict, keys)


@function("deleteAll", style="M", params=(_DICT, Param("keys", Type.ITER)))
def delete_all(cx: CodeContext, dict: dict[Any, Any], keys: Items) -> FDict:
    """A new mapping without any of ``keys``; absent ones are ignored."""
    return _without(cx, dict, walk(cx, keys))


def _without(cx: CodeContext, base: dict[Any, Any], keys: Items) -> FDict:
    cx.rt.check_memory(ENTRY * len(base))
    cx.rt.charge(len(base) >> 4)
    result = dict(base)
    for key in keys:
        result.pop(key_of(cx, key), None)
    return FDict(result)
