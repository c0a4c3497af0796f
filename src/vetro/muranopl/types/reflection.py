"""Reflection (SEMANTICS 15): the values of ``typeinfo()`` and what hangs off them.

Each is a small `HostObject` over the linked class or member; attributes are read-only. Access to property values
follows the rules of the code that asks, never those of the reflecting engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from vetro.muranopl.declarations.tree import NO_DEFAULT, ArgumentDecl, PropertyUsage
from vetro.muranopl.errors import MethodNotFound, NoWriteAccess, PropertyNotFound, UninitializedProperty
from vetro.muranopl.runtime.context import calling_context
from vetro.muranopl.types.access import code_type, write_static
from vetro.yaql.errors import NoMatchingMethod
from vetro.yaql.resolve.signature import REQUIRED, Kind, Param
from vetro.yaql.values import MISSING, HostObject, freeze

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, LinkedMethod, LinkedProperty

_ARGUMENT_USAGE = {Kind.NORMAL: "Standard", Kind.VARARGS: "VarArgs", Kind.KWARGS: "KwArgs", Kind.RULES: "KwArgs"}


def hidden(name: str) -> bool:
    """Names that reflection leaves out: those that begin with a dot or two underscores."""
    return name.startswith((".", "__"))


class Reflected(HostObject):
    """Base of all reflection values: a table of attributes, a table of methods, equality by what they stand for."""

    __slots__ = ()
    _what: ClassVar[str] = "value"
    _attributes: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    _methods: ClassVar[Mapping[str, Callable[..., Any]]] = {}

    def _identity(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._identity() == self._identity()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._identity()))

    def __getattr__(self, name: str) -> Any:
        # Generated code calls methods of host objects as attributes `m_x` with arguments `v_x`.
        method = self._methods.get(name[2:]) if name.startswith("m_") else None
        if method is None:
            raise AttributeError(f"{self!r} has no attribute {name!r}", name=name, obj=self)
        found = method

        def call(*args: Any, **kwargs: Any) -> Any:
            return found(self, calling_context(None), *args, **{key[2:]: value for key, value in kwargs.items()})

        return call

    def yaql_attribute(self, name: str, context: Any) -> Any:
        """An attribute of SEMANTICS 15. Raises `PropertyNotFound` for others."""
        reader = self._attributes.get(name)
        if reader is None:
            known = ", ".join(sorted(self._attributes))
            raise PropertyNotFound(f"a reflected {self._what} has no '{name}'", hint=f"it has {known}")
        return freeze(reader(self, context))

    def yaql_method(self, name: str, context: Any) -> Callable[..., Any] | None:
        """A method of SEMANTICS 15 bound to this value, None where there is none."""
        method = self._methods.get(name)
        if method is None:
            return None

        def call(*args: Any, **kwargs: Any) -> Any:
            return method(self, context, *args, **kwargs)

        return call


class VersionInfo(Reflected):
    """A package or class version: ``major minor patch`` are integers, ``prerelease build`` lists of text."""

    __slots__ = ("version",)
    _what = "version"
    _attributes: ClassVar[Mapping[str, Callable[..., Any]]] = {
        "major": lambda self, cx: self.version.major,
        "minor": lambda self, cx: self.version.minor,
        "patch": lambda self, cx: self.version.patch,
        "prerelease": lambda self, cx: tuple(str(part) for part in self.version.prerelease),
        "build": lambda self, cx: tuple(str(part) for part in self.version.build),
    }

    def __init__(self, version: Any) -> None:
        self.version = version

    def _identity(self) -> tuple[Any, ...]:
        return (str(self.version),)

    def __str__(self) -> str:
        return str(self.version)

    def __repr__(self) -> str:
        return f"<version {self.version}>"


class TypeInfo(Reflected):
    """``typeinfo(x)``: one class in one version."""

    __slots__ = ("type",)
    _what = "type"

    def __init__(self, of: LinkedClass) -> None:
        self.type = of

    def _identity(self) -> tuple[Any, ...]:
        return (self.type.key,)

    def __str__(self) -> str:
        return self.type.name

    def __repr__(self) -> str:
        return f"<typeinfo {self.type.key}>"

    def yaql_attribute(self, name: str, context: Any) -> Any:
        """Adds the three attributes that only meta-classes have."""
        if self.type.is_meta and name in _META_ATTRIBUTES:
            return _META_ATTRIBUTES[name](self.type)
        return super().yaql_attribute(name, context)


def _methods_of(type_: LinkedClass) -> tuple[MethodInfo, ...]:
    """All methods once; of an ambiguous name every surviving declaration."""
    return tuple(
        MethodInfo(owner.own_methods[name])
        for name, owners in type_.method_owners.items()
        if not hidden(name)
        for owner in owners
    )


def _properties_of(type_: LinkedClass) -> tuple[PropertyInfo, ...]:
    return tuple(
        PropertyInfo(owner.own_properties[name])
        for name, owners in type_.property_owners.items()
        if not hidden(name)
        for owner in owners
    )


_ALL_TARGETS = ("Argument", "Method", "Package", "Property", "Type")


def _targets(applies: frozenset[str]) -> tuple[str, ...]:
    """What a meta class may be put on, one by one."""
    return _ALL_TARGETS if "All" in applies else tuple(sorted(applies))


_META_ATTRIBUTES: Mapping[str, Callable[[LinkedClass], Any]] = {
    "cardinality": lambda type_: type_.decl.cardinality,
    "targets": lambda type_: _targets(type_.decl.applies),
    "inherited": lambda type_: type_.decl.inherited,
}

TypeInfo._attributes = {
    "name": lambda self, cx: self.type.name,
    "version": lambda self, cx: VersionInfo(self.type.version),
    "usage": lambda self, cx: self.type.decl.usage.value,
    "ancestors": lambda self, cx: tuple(TypeInfo(a) for a in self.type.ancestors[1:]),
    "methods": lambda self, cx: _methods_of(self.type),
    "properties": lambda self, cx: _properties_of(self.type),
    "package": lambda self, cx: PackageInfo(self.type),
    "meta": lambda self, cx: tuple(self.type.session.meta_of(self.type)),
    "type": lambda self, cx: self.type.type_object,
}


class PropertyInfo(Reflected):
    """A declared property of a class."""

    __slots__ = ("property",)
    _what = "property"

    def __init__(self, of: LinkedProperty) -> None:
        self.property = of

    def _identity(self) -> tuple[Any, ...]:
        return (self.property.declaring.key, self.property.name)

    def __repr__(self) -> str:
        return f"<property {self.property.location}>"

    @property
    def static(self) -> bool:
        """Belongs to the class, not to objects."""
        return self.property.usage is PropertyUsage.STATIC

    def get_value(self, context: Any, target: Any = None) -> Any:
        """``getValue(obj)``; null only for statics. Raises `NoMatchingMethod` for objects of other classes."""
        if self.static:
            return self.property.declaring.read_static(self.property)
        obj = _object_of(target, self.property.declaring, f"property '{self.property.name}'")
        value = getattr(obj, self.property.attr, MISSING)
        if value is MISSING:
            raise UninitializedProperty(f"property '{self.property.name}' of {obj!r} has no value yet")
        return value

    def set_value(self, context: Any, target: Any, value: Any) -> None:
        """``setValue(obj, value)`` by the access rules of the asking code (SEMANTICS 5.2)."""
        if self.static:
            write_static(self.property.declaring, self.property.name, freeze(value))
            return
        obj = _object_of(target, self.property.declaring, f"property '{self.property.name}'")
        code = code_type(context)
        if code is not None and not obj._type.derives_from(code):
            raise NoWriteAccess(f"code of class {code.name} may not write property '{self.property.name}' of {obj!r}")
        getattr(obj, "set_" + self.property.name)(freeze(value))


PropertyInfo._attributes = {
    "name": lambda self, cx: self.property.name,
    "hasDefault": lambda self, cx: self.property.has_default,
    "usage": lambda self, cx: self.property.usage.value,
    "declaringType": lambda self, cx: TypeInfo(self.property.declaring),
    "meta": lambda self, cx: tuple(self.property.declaring.session.meta_of(self.property)),
}
PropertyInfo._methods = {
    "getValue": lambda self, cx, target=None: self.get_value(cx, target),
    "setValue": lambda self, cx, target, value: self.set_value(cx, target, value),
}


class MethodInfo(Reflected):
    """A method as one class declares it."""

    __slots__ = ("method",)
    _what = "method"

    def __init__(self, of: LinkedMethod) -> None:
        self.method = of

    def _identity(self) -> tuple[Any, ...]:
        return (self.method.declaring.key, self.method.name)

    def __repr__(self) -> str:
        return f"<method {self.method.declaring.name}::{self.method.name}>"

    def arguments(self) -> tuple[ArgumentInfo, ...]:
        """The arguments in declared order, those of native methods included."""
        native = self.method.native
        if native is not None and not self.method.arguments:
            return tuple(ArgumentInfo(self.method, param) for param in native.params)
        return tuple(ArgumentInfo(self.method, declared) for declared in self.method.arguments)

    def usage(self) -> str:
        """``Runtime``, ``Static``, ``Extension`` or ``Action``."""
        if self.method.decl is not None:
            return self.method.decl.usage.value
        return "Static" if self.method.static else "Runtime"

    def invoke(self, context: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        """``invoke(obj, args...)``: exactly this declaration, not an override; null only for statics."""
        if target is None and not self.method.static:
            raise MethodNotFound(f"method {self.method.declaring.name}::{self.method.name} needs an object")
        return self.method.invoke(target, tuple(freeze(a) for a in args), {k: freeze(v) for k, v in kwargs.items()})


MethodInfo._attributes = {
    "name": lambda self, cx: self.method.name,
    "declaringType": lambda self, cx: TypeInfo(self.method.declaring),
    "arguments": lambda self, cx: self.arguments(),
    "usage": lambda self, cx: self.usage(),
    "scope": lambda self, cx: "Public" if self.method.public else "Session",
    "meta": lambda self, cx: tuple(self.method.declaring.session.meta_of(self.method)),
}
MethodInfo._methods = {
    "invoke": lambda self, cx, target, *args, **kwargs: self.invoke(cx, target, *args, **kwargs),
}


class ArgumentInfo(Reflected):
    """One argument of a method: declared in MuranoPL or a parameter of a native method."""

    __slots__ = ("argument", "method")
    _what = "argument"

    def __init__(self, method: LinkedMethod, argument: ArgumentDecl | Param) -> None:
        self.method = method
        self.argument = argument

    def _identity(self) -> tuple[Any, ...]:
        return (self.method.declaring.key, self.method.name, self.argument.name)

    def __repr__(self) -> str:
        return f"<argument {self.method.declaring.name}::{self.method.name}({self.argument.name})>"

    def has_default(self) -> bool:
        """Whether a default is declared (null counts)."""
        if isinstance(self.argument, Param):
            return self.argument.default is not REQUIRED
        return self.argument.default is not NO_DEFAULT

    def usage(self) -> str:
        """``Standard``, ``VarArgs`` or ``KwArgs``."""
        if isinstance(self.argument, Param):
            return _ARGUMENT_USAGE[self.argument.kind]
        return self.argument.usage.value


ArgumentInfo._attributes = {
    "name": lambda self, cx: self.argument.name,
    "hasDefault": lambda self, cx: self.has_default(),
    "usage": lambda self, cx: self.usage(),
    "declaringMethod": lambda self, cx: MethodInfo(self.method),
    "meta": lambda self, cx: tuple(self.method.declaring.session.meta_of(self)),
}


class PackageInfo(Reflected):
    """A package, reached through one of its classes."""

    __slots__ = ("package", "session")
    _what = "package"

    def __init__(self, of: LinkedClass) -> None:
        self.package = of.package
        self.session = of.session

    def _identity(self) -> tuple[Any, ...]:
        return (self.package.name, str(self.package.version))

    def __repr__(self) -> str:
        return f"<package {self.package.name}/{self.package.version}>"

    def types(self) -> tuple[TypeInfo, ...]:
        """Its classes, in the manifest's order."""
        return tuple(TypeInfo(self.session.types.in_package(self.package, name)) for name in self.package.classes)


PackageInfo._attributes = {
    "name": lambda self, cx: self.package.name,
    "version": lambda self, cx: VersionInfo(self.package.version),
    "types": lambda self, cx: self.types(),
    "meta": lambda self, cx: tuple(self.session.meta_of(self.package)),
}


def _object_of(target: Any, type_: LinkedClass, what: str) -> Any:
    """The whole object behind ``target``, which must be of ``type_``."""
    obj = getattr(target, "_object", target)
    kind = getattr(obj, "_type", None)
    if kind is None or not kind.derives_from(type_):
        raise NoMatchingMethod(f"{what} needs an object of class {type_.name}")
    return obj
