"""Equality, depth and kinds of JSON values, as schemas and contracts see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vetro.model.paths import is_list


def same(a: Any, b: Any) -> bool:
    """Equality of JSON: 1 and 1.0 are equal, 1 and true are not; order counts in lists only."""
    todo = [(a, b)]
    while todo:
        a, b = todo.pop()
        if isinstance(a, bool) or isinstance(b, bool):
            if a is not b:
                return False
        elif isinstance(a, Mapping):
            if not isinstance(b, Mapping) or a.keys() != b.keys():
                return False
            todo.extend((a[key], b[key]) for key in a)
        elif is_list(a):
            if not is_list(b) or len(a) != len(b):
                return False
            todo.extend(zip(a, b))
        elif a != b:
            return False
    return True


def equivalent(a: Any, b: Any) -> bool:
    """`same`, where a key that is missing, null and an empty list or mapping are the same: contracts fill these in."""
    todo = [(a, b)]
    while todo:
        a, b = todo.pop()
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            todo.extend((a.get(key), b.get(key)) for key in a.keys() | b.keys())
        elif is_list(a) and is_list(b) and len(a) == len(b):
            todo.extend(zip(a, b))
        elif not (_empty(a) and _empty(b)) and not same(a, b):
            return False
    return True


def _empty(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_empty, value.values()))
    return value is None or (is_list(value) and not value)


def contains(values: Iterable[Any], value: Any) -> bool:
    """Whether one of ``values`` is `same` as ``value``."""
    return any(same(item, value) for item in values)


def deeper_than(value: Any, limit: int) -> bool:
    """Whether lists and mappings are nested in more than ``limit`` levels."""
    level = [value]
    for _ in range(limit + 1):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, Mapping):
                inner.extend(item.values())
            elif is_list(item):
                inner.extend(item)
        if not inner:
            return False
        level = inner
    return True


def json_type(value: Any) -> str:
    """``null boolean integer number string array object``; integers are numbers, too, and 5.0 is an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"
