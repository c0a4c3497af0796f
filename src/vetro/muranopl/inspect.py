"""What kind of language value a Python value is, for tools that show or convert results."""

from __future__ import annotations

from typing import Any

from vetro.muranopl.objects import MuranoObject
from vetro.muranopl.reflection import ArgumentInfo, MethodInfo, PackageInfo, PropertyInfo, TypeInfo, VersionInfo
from vetro.muranopl.types import TypeObject
from vetro.muranopl.views import View

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
