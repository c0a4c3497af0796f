"""Functions about classes: ``type typeinfo is cast super psuper`` and the name operators (SEMANTICS 2.4, 4.6, 15)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vetro.muranopl.declarations.versions import parse_spec
from vetro.muranopl.errors import AmbiguousClass, ClassNotFound
from vetro.muranopl.functions.params import (
    class_param,
    has_class,
    is_object,
    is_type,
    object_param,
    type_of,
    whole,
)
from vetro.muranopl.package_resolver import allows
from vetro.muranopl.types.murano_type import MuranoType, TypeObject
from vetro.muranopl.types.reflection import TypeInfo
from vetro.muranopl.types.views import View
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.values import freeze

_TEXT = Param("name", Type.STR)
_TYPE = Param("type", Type.HOST, check=is_type)
_TYPED = Param("object", Type.HOST, nullable=True, check=has_class)


def _of_reference(value: Any) -> MuranoType:
    found: MuranoType = value.type
    return found


# -- names -------------------------------------------------------------------------------------------------------------


@function("#operator_:", params=(Param("prefix", Type.STR), Param("name", Type.STR)))
def prefixed_name(cx: Any, prefix: str, name: str) -> TypeObject:
    """``p:Name``: the type object of a class in the namespace of prefix p."""
    found: TypeObject = cx.resolve(f"{prefix}:{name}").type_object
    return found


@function("#unary_operator_:", params=(_TEXT,))
def local_name(cx: Any, name: str) -> TypeObject:
    """``:Name``: the type object of a class in the default namespace."""
    found: TypeObject = cx.resolve(f":{name}").type_object
    return found


@function("#operator_is", params=(_TYPED, class_param()))
def is_instance(cx: Any, obj: Any, type_: Any) -> bool:
    """``x is C``: whether the object is of exactly that class version or derives from it; false for null."""
    wanted = cx.resolve(type_)
    return obj is not None and type_of(obj).derives_from(wanted)


# -- type() and typeinfo() ---------------------------------------------------------------------------------------------


@function("type", params=(Param("name", Type.STR),))
def type_by_name(cx: Any, name: str) -> TypeObject:
    """The type object of the class of that name."""
    found: TypeObject = cx.resolve(name).type_object
    return found


@function("type", params=(_TYPE,))
def type_of_type(cx: Any, type_: Any) -> TypeObject:
    """The type object of a reflected type (or the type object itself)."""
    return _of_reference(type_).type_object


def type_of_object(cx: Any, obj: Any) -> TypeObject | None:
    """The type object of an object's (or view's) class; null for null."""
    return None if obj is None else type_of(obj).type_object


def type_name_of_object(cx: Any, obj: Any) -> str | None:
    """The full name of an object's class, as ``type()`` gives it up to format 1.3."""
    return None if obj is None else type_of(obj).name


TYPE_PARAMS = (_TYPED,)


@function("typeinfo", params=(_TYPED,))
def typeinfo_of_object(cx: Any, obj: Any) -> TypeInfo | None:
    """Reflection of an object's (or view's) class; null for null."""
    return None if obj is None else TypeInfo(type_of(obj))


@function("typeinfo", params=(Param("type", Type.ANY, check=lambda v: isinstance(v, str) or is_type(v)),))
def typeinfo_of_class(cx: Any, type_: Any) -> TypeInfo:
    """Reflection of a class given by name or type object."""
    return TypeInfo(cx.resolve(type_) if isinstance(type_, str) else _of_reference(type_))


# -- views -------------------------------------------------------------------------------------------------------------


def cast_to(cx: Any, obj: Any, reference: Any, version_spec: Any = None) -> View:
    """``cast(o, C)``: the object seen as its class C. Raises `ClassNotFound` unless C is in its hierarchy.

    With a version spec (or where requirements allow several) the hierarchy's class of that name and an allowed
    version is taken (SEMANTICS 3.9).
    """
    kind = type_of(obj)
    if not isinstance(reference, str):
        target = _of_reference(reference)
        if version_spec is None and kind.derives_from(target):
            return _view(cx, obj, target)
        full, candidates = target.name, [a for a in kind.ancestors if a.name == target.name]
    else:
        full = cx.type.decl.namespaces.resolve(reference)
        candidates = [a for a in kind.ancestors if a.name == full]
    candidates = [a for a in candidates if _allowed(cx, a, version_spec)]
    if not candidates:
        raise ClassNotFound(full, hint=f"{kind.name} does not derive from it")
    if len(candidates) > 1:
        raise AmbiguousClass(f"{kind.name} derives from several versions of class {full}")
    return _view(cx, obj, candidates[0])


def _allowed(cx: Any, candidate: MuranoType, version_spec: Any) -> bool:
    if version_spec is not None:
        return parse_spec(version_spec).match(candidate.version)
    return allows(cx.type.package, candidate.package.name, candidate.version)


def _view(cx: Any, obj: Any, target: MuranoType) -> View:
    found: View = cx.session.view(whole(obj), target)
    return found


def parent_views(cx: Any, obj: Any) -> tuple[View, ...]:
    """``super($)``: views of the object as each parent of the class that contains the code (SEMANTICS 4.6)."""
    real = whole(obj)
    code: MuranoType = cx.type
    start = code if real._type.derives_from(code) else type_of(obj)
    return tuple(_view(cx, real, parent) for parent in start.parents)


def super_map(cx: Any, obj: Any, expression: Callable[[Any], Any]) -> tuple[Any, ...]:
    """``super($, expr)``: the expression evaluated on each parent view."""
    return tuple(freeze(expression(view)) for view in parent_views(cx, obj))


def super_parallel(cx: Any, obj: Any, expression: Callable[[Any], Any] | None = None) -> tuple[Any, ...]:
    """``psuper``: the same with the views handled in parallel."""
    views = parent_views(cx, obj)
    return views if expression is None else parallel_map(cx, views, expression)


def parallel_map(cx: Any, items: Any, expression: Callable[[Any], Any], limit: int | None = None) -> tuple[Any, ...]:
    """The expression evaluated on each item in green threads; results in the order of the items."""
    found: tuple[Any, ...] = cx.session.scheduler.map(lambda item: freeze(expression(item)), tuple(items), limit)
    return found


_SPEC = Param("versionSpec", Type.ANY, None)
_EXPRESSION = Param("expression", Type.LAMBDA)

#: The functions that formats 1.0 and 1.1 also offer as methods on objects (SEMANTICS 3.10).
CAST = (cast_to, (object_param(), class_param(), _SPEC))
SUPER = (parent_views, (object_param(),))
SUPER_MAP = (super_map, (object_param(), _EXPRESSION))
PSUPER = (super_parallel, (object_param(), Param("expression", Type.LAMBDA, None)))


@function("pselect", style="FM", params=(Param("collection", Type.ITER), Param("selector", Type.LAMBDA)))
def pselect(cx: Any, collection: Any, selector: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Like ``select``, the selector running in parallel for all items; results in order."""
    return parallel_map(cx, freeze(collection, cx.rt.limits.max_sequence), selector)


@function("isObject", params=(Param("value", Type.ANY),))
def is_murano_object(value: Any) -> bool:
    """Whether the value is a MuranoPL object, a view of one, or a class reference (``:C``, ``type($o)`` in 1.4)."""
    return is_object(value) or isinstance(value, TypeObject)
