"""Language values as plain data: what the model, attributes and the outside world see of objects and types (12.3)."""

from __future__ import annotations

import collections.abc as abc
from datetime import date, datetime, time
from typing import Any

from vetro.muranopl.objects.header import as_type
from vetro.muranopl.types.murano_object import MuranoObject
from vetro.muranopl.types.murano_type import TypeObject
from vetro.muranopl.types.reflection import ArgumentInfo, MethodInfo, PackageInfo, PropertyInfo, TypeInfo, VersionInfo
from vetro.muranopl.types.views import View
from vetro.yaql.values import SCALARS, HostObject

_NAMED = ((MethodInfo, "method"), (PropertyInfo, "property"), (ArgumentInfo, "argument"), (PackageInfo, "package"))


def describe(value: Any) -> tuple[str, ...] | None:
    """What ``value`` is, or None for plain data.

    ``('object', id, class name)`` for objects and views, ``('type-object', class name)``, ``('typeinfo', class name)``,
    ``('method' | 'property' | 'argument' | 'package', name)``, ``('version', text)``.
    """
    if isinstance(value, MuranoObject):
        return ("object", value._id, value._type.name)
    if isinstance(value, View):
        return ("object", value._object._id, value._type.name)
    if isinstance(value, TypeObject):
        return ("type-object", value.type.name)
    if isinstance(value, TypeInfo):
        return ("typeinfo", value.type.name)
    if isinstance(value, VersionInfo):
        return ("version", str(value))
    for kind, word in _NAMED:
        if isinstance(value, kind):
            return (word, value.yaql_attribute("name", None))
    return None


def host_text(value: Any) -> str:
    """An object or view as its id, a type as ``Name/version@package``, other host values as text."""
    if isinstance(value, MuranoObject):
        return value._id
    if isinstance(value, HostObject):
        type_ = as_type(value)
        if type_ is not None:
            return type_.qualified
        object_id = getattr(value, "_id", None)
        if isinstance(object_id, str):
            return object_id
        described = describe(value)
        if described is not None:
            return described[-1]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return str(value)


def plain_key(key: Any) -> Any:
    """A mapping key as plain data: scalars stay, everything else becomes text."""
    return key if key.__class__ in SCALARS else host_text(key)


def with_ids(value: Any) -> Any:
    """``value`` as plain dicts and lists; see `host_text` for what is in them. Depth costs no Python frames."""
    if value.__class__ in SCALARS:
        return value
    root: list[Any] = [None]
    work: list[tuple[Any, Any, Any]] = [(value, root, 0)]
    while work:
        item, target, slot = work.pop()
        result: Any
        if item.__class__ in SCALARS:
            result = item
        elif isinstance(item, abc.Mapping):
            result = {}
            for key, part in item.items():
                place = plain_key(key)
                result[place] = None
                work.append((part, result, place))
        elif isinstance(item, abc.Iterable) and not isinstance(item, (str, bytes, HostObject)):
            parts = list(item)
            result = [None] * len(parts)
            work.extend((part, result, index) for index, part in enumerate(parts))
        else:
            result = item if isinstance(item, (str, int, float)) else host_text(item)
        target[slot] = result
    return root[0]
