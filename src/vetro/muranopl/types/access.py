"""Reading and writing properties from code whose receiver is only known at run time (SEMANTICS 5.2 to 5.5).

The compiler emits direct slot access where the receiver is ``$``; everything else comes here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vetro.muranopl.declarations.tree import PropertyUsage
from vetro.muranopl.errors import (
    NoWriteAccess,
    PropertyReadError,
    PropertyWriteError,
    UninitializedProperty,
)
from vetro.yaql.values import MISSING, HostObject

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, MuranoContext


def private_slot(name: str, owner: LinkedClass) -> str:
    """Attribute that holds the undeclared property ``name`` of code of class ``owner`` (SEMANTICS 5.4)."""
    return f"q:{owner.key}:{name}"


def code_type(context: Any) -> LinkedClass | None:
    """The class of the asking code, None for code outside any class."""
    return getattr(context, "type", None)


def read_property(obj: Any, view_type: LinkedClass, name: str, context: Any) -> Any:
    """``obj.name`` as code of ``context`` sees it; ``view_type`` is the object's class or the class of the view."""
    code = code_type(context)
    known = view_type.__dict__.get("_reads")
    if known is None:
        known = view_type.__dict__["_reads"] = {}
    slot = known.get((code, name))
    if slot is not None:
        value = getattr(obj, slot, MISSING)
        if value is not MISSING:
            return value
    start = view_type
    inside = code is not None and view_type.derives_from(code)
    if inside and code is not None:
        start = code
    prop = start.find_property(name)
    if prop is not None:
        if prop.usage is PropertyUsage.STATIC:
            return prop.declaring.read_static(prop)
        value = getattr(obj, prop.attr, MISSING)
        if value is MISSING:
            raise UninitializedProperty(f"property '{name}' of {obj!r} has no value yet")
        known[code, name] = prop.attr
        return value
    if inside and code is not None:
        value = getattr(obj, private_slot(name, code), MISSING)
        if value is MISSING:
            raise UninitializedProperty(f"property '{name}' of {obj!r} is used before it gets a value in {code.name}")
        return value
    raise PropertyReadError(f"property '{name}' of class {view_type.name} cannot be read from here")


class Writable(HostObject):
    """A value whose properties code may set: objects, views and type objects."""

    __slots__ = ()

    def write_property(self, context: MuranoContext, name: str, value: Any) -> None:
        """``self.name: value`` in code of ``context``."""
        raise NotImplementedError


def write_property(context: MuranoContext, target: Any, name: str, value: Any) -> None:
    """``target.name: value`` where target is an object, a view or a type object."""
    if not isinstance(target, Writable):
        raise PropertyWriteError(f"cannot set '{name}' on {type(target).__name__}")
    target.write_property(context, name, value)


def write_object(context: MuranoContext, target: Any, kind: LinkedClass, name: str, value: Any) -> None:
    """``target.name: value`` for an object of class ``kind``."""
    code = context.type
    if not kind.derives_from(code):
        prop = kind.find_property(name)
        if prop is not None and prop.usage is PropertyUsage.STATIC:
            prop.declaring.write_static(prop, value)
            return
        if prop is None:
            raise PropertyWriteError(f"class {kind.name} has no property '{name}' that code of {code.name} could write")
        raise NoWriteAccess(f"code of class {code.name} may not write property '{name}' of {target!r}")
    prop = code.find_property(name)
    if prop is None:
        setattr(target, private_slot(name, code), value)
    elif prop.usage is PropertyUsage.STATIC:
        prop.declaring.write_static(prop, value)
    else:
        getattr(target, "set_" + name)(value)


def write_static(owner: LinkedClass, name: str, value: Any) -> None:
    """``:C.name: value``."""
    prop = owner.find_property(name)
    if prop is None or prop.usage is not PropertyUsage.STATIC:
        raise PropertyWriteError(f"class {owner.name} has no static property '{name}'")
    prop.declaring.write_static(prop, value)


def mock_of(holder: Any, name: str) -> Callable[..., Any] | None:
    """The mock of static method ``name`` of a type object or flat class, taking MuranoPL names; None: there is none."""
    found = getattr(holder, "m_" + name, None)
    if found is None or not hasattr(found, "mocked_original"):
        return None
    return lambda *args, **kwargs: found(*args, **{"v_" + key: value for key, value in kwargs.items()})
