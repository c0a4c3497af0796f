"""Parameter types that only MuranoPL knows: objects, types, and references to classes."""

from __future__ import annotations

from typing import Any

from vetro.muranopl.types.murano_object import MuranoObject
from vetro.muranopl.types.murano_type import MuranoType, TypeObject
from vetro.muranopl.types.reflection import TypeInfo
from vetro.muranopl.types.views import View
from vetro.yaql.resolve.signature import REQUIRED, Param, Type


def is_object(value: Any) -> bool:
    """True for MuranoPL objects and their views."""
    return isinstance(value, (MuranoObject, View))


def has_class(value: Any) -> bool:
    """True for objects, views, and caught exceptions: whatever shows a class."""
    return isinstance(value, (MuranoObject, View)) or isinstance(getattr(value, "_type", None), MuranoType)


def is_type(value: Any) -> bool:
    """True for type objects and reflected types."""
    return isinstance(value, (TypeObject, TypeInfo))


def is_class_reference(value: Any) -> bool:
    """True for what names a class: text, a type object, a reflected type."""
    return isinstance(value, (str, TypeObject, TypeInfo))


def whole(value: Any) -> MuranoObject:
    """The object behind a view; an object itself."""
    return value._object if isinstance(value, View) else value


def type_of(value: Any) -> MuranoType:
    """The class an object or view shows."""
    found: MuranoType = value._type
    return found


def object_param(name: str = "object", *, nullable: bool = False, default: Any = REQUIRED) -> Param:
    """A parameter that takes objects and views."""
    return Param(name, Type.HOST, default, nullable=nullable, check=is_object)


def class_param(name: str = "type", *, default: Any = REQUIRED, nullable: bool = False) -> Param:
    """A parameter that takes a reference to a class."""
    return Param(name, Type.ANY, default, nullable=nullable, check=is_class_reference)
