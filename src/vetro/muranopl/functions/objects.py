"""Functions about objects: ``new id name metadata find require dump`` (SEMANTICS 11.2, 11.4, 12.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.diagnostics import Text
from vetro.muranopl.errors import ObjectNotFound
from vetro.muranopl.functions.params import class_param, is_class_reference, object_param, type_of, whole
from vetro.muranopl.objects.serializer import dump_object
from vetro.muranopl.types.murano_type import MuranoType
from vetro.yaql.resolve.signature import Kind, Param, Type, function
from vetro.yaql.values import freeze

# The underscores leave `owner` and the like to properties given as keyword arguments; no expression can spell them.
_EXTRA = Param("__extra", Type.DICT, None, nullable=True)
_BY_KEYWORDS = (
    Param("__typeName", Type.ANY, check=is_class_reference),
    object_param("__owner", nullable=True, default=None),
    Param("__objectName", Type.STR, None, nullable=True),
    _EXTRA,
)
_BY_MAPPING = (
    class_param("typeName"),
    Param("parameters", Type.DICT),
    object_param("owner", nullable=True, default=None),
    Param("objectName", Type.STR, None, nullable=True),
    Param("extra", Type.DICT, None, nullable=True),
)


@function(
    "new",
    params=(*_BY_KEYWORDS, Param("properties", Type.ANY, kind=Kind.KWARGS)),
)
def new(
    cx: Any,
    type_: Any,
    owner: Any = None,
    object_name: str | None = None,
    extra: Mapping[Any, Any] | None = None,
    /,
    **properties: Any,
) -> Any:
    """``new(C, owner?, name?, extra?, prop => v...)``: a new object of class C; ``extra`` are keys of its header.

    Without owner the object is unowned. Properties the class does not declare are ignored. Raises `ClassNotFound`
    and what contracts, defaults and ``.init`` raise.
    """
    return create(cx, cx.resolve(type_), properties, owner, object_name, extra)


@function("new", params=_BY_MAPPING)
def new_from_mapping(
    cx: Any,
    type_: Any,
    parameters: Mapping[Any, Any],
    owner: Any = None,
    object_name: str | None = None,
    extra: Mapping[Any, Any] | None = None,
) -> Any:
    """``new(typeName, parameters, owner?, objectName?, extra?)``: the properties as a mapping (11.4)."""
    return create(cx, cx.resolve(type_), parameters, owner, object_name, extra)


@function("new", params=(Param("model", Type.DICT), object_param("owner", nullable=True, default=None)))
def new_from_model(cx: Any, model: Mapping[Any, Any], owner: Any = None) -> Any:
    """``new({model}, owner?)``: an object from a definition with header, for example a checked template.

    The id in it is not kept. Raises `MissingType` when the definition names no class.
    """
    obj = cx.session.store.from_mapping(model, None, None if owner is None else whole(owner), cx.type)
    created(cx, obj)
    return obj


def create(
    cx: Any,
    type_: MuranoType,
    properties: Mapping[Any, Any],
    owner: Any,
    name: str | None,
    extra: Mapping[Any, Any] | None = None,
) -> Any:
    """Creates the object and tells its native classes about the code that did it."""
    values = {key: freeze(value) for key, value in properties.items()}
    obj = cx.session.store.create(type_, values, None if owner is None else whole(owner), name, header=extra or None)
    created(cx, obj)
    return obj


def created(cx: Any, obj: Any) -> None:
    """Runs the ``created`` hooks of native classes, base first: they learn which code made the object."""
    for ancestor in reversed(obj._type.ancestors):
        hook = None if ancestor.native is None else ancestor.native.created
        if hook is not None:
            hook(cx, obj)


def object_id(cx: Any, obj: Any) -> str:
    """The id of an object."""
    found: str = whole(obj)._id
    return found


ID_PARAMS = (object_param(),)


@function("name", params=(object_param("object", nullable=True),))
def object_name(obj: Any) -> str | None:
    """The name in an object's header; null when it has none."""
    return None if obj is None else whole(obj)._name


@function("metadata", params=(object_param("object", nullable=True),))
def object_metadata(obj: Any) -> Any:
    """The metadata in an object's header; null when it has none."""
    return None if obj is None else freeze(whole(obj)._header.get("metadata"))


@function("find", style="FM", params=(object_param("obj"), class_param("muranoClassRef")))
def find(cx: Any, obj: Any, type_: Any) -> Any:
    """The nearest owner of the object that is of the class; the object itself does not count. Null when none is."""
    return cx.session.store.find_owner(whole(obj), cx.resolve(type_), package=cx.type.package)


@function("require", style="FM", params=(Param("value", Type.ANY),))
def require(value: Any) -> Any:
    """The value itself; raises `ValueError` when it is null."""
    if value is None:
        raise RequiredValue(Text("required value is null"))
    return value


class RequiredValue(ObjectNotFound):
    """``require()`` met null."""

    kind = "value-error"
    code = "MPL332"
    hint = Text(
        "find() gives null where no owner is of that class: is the object inside an environment? "
        "Tests that extend io.murano.test.TestFixtureWithEnvironment have $.environment: new(Class, $.environment, …)"
    )
    aliases = ("ValueError",)


@function(
    "dump",
    params=(
        object_param(),
        Param("serializationType", Type.STR, "Serializable"),
        Param("ignoreUpcasts", Type.BOOL, True),
    ),
)
def dump(cx: Any, obj: Any, serialization_type: str = "Serializable", ignore_upcasts: bool = True) -> Any:
    """The object model of an object as a mapping; types Serializable, Mixed (types as types) and Inline (12.5).

    With ``ignore_upcasts`` false and a view made by ``cast``, only properties that the view's class declares or
    inherits are written. Raises `ValueError` for another type.
    """
    shown_as = None if ignore_upcasts else type_of(obj)
    return freeze(dump_object(cx.session, whole(obj), serialization_type, shown_as))
