"""What tools ask: what kind of language value a Python value is, and what a class consists of.

`describe` is for values that a call gave; `inspect_class` tells properties, methods and arguments of a class with
everything it inherits. Which classes there are is known by the packages themselves (``package.classes``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vetro.muranopl.contracts.model import object_calls
from vetro.muranopl.declarations.tree import NO_DEFAULT, MethodDecl
from vetro.muranopl.objects.murano_object import MuranoObject
from vetro.muranopl.runtime.session import Session
from vetro.muranopl.types.members import Method, Property
from vetro.muranopl.types.murano_type import MuranoType, TypeObject
from vetro.muranopl.types.reflection import ArgumentInfo, MethodInfo, PackageInfo, PropertyInfo, TypeInfo, VersionInfo
from vetro.muranopl.types.views import View

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


@dataclass(frozen=True, slots=True)
class ArgumentDescription:
    """One argument of a method."""

    name: str
    #: ``Standard``, ``VarArgs`` or ``KwArgs``.
    usage: str
    has_default: bool


@dataclass(frozen=True, slots=True)
class PropertyDescription:
    """One property, as objects of the class have it."""

    name: str
    #: ``In``, ``Out``, ``InOut``, ``Const``, ``Runtime``, ``Static`` or ``Config``.
    usage: str
    has_default: bool
    #: The class whose declaration counts.
    declared_in: str
    #: Its contract speaks of classes: a text among its values may be the id of an object.
    objects: bool


@dataclass(frozen=True, slots=True)
class MethodDescription:
    """One method, as objects of the class have it."""

    name: str
    #: ``Runtime``, ``Static``, ``Extension`` or ``Action``.
    usage: str
    #: Callable from outside.
    public: bool
    #: Implemented in Python; such methods show no arguments.
    native: bool
    arguments: tuple[ArgumentDescription, ...]
    declared_in: str


@dataclass(frozen=True, slots=True)
class ClassDescription:
    """A class version."""

    name: str
    version: str
    package: str
    #: Names of the direct base classes, and of all ancestors, nearest first.
    parents: tuple[str, ...]
    ancestors: tuple[str, ...]
    properties: tuple[PropertyDescription, ...]
    methods: tuple[MethodDescription, ...]


def inspect_class(
    session: Session, name: str, version: str | None = None, package: str | None = None
) -> ClassDescription:
    """Describes a class: of the newest version, or of the one that fits the requirement ``version``.

    Members are sorted by name. Those that several base classes declare differently are left out, they
    cannot be used by name. Raises `PackageForClassNotFound`, `PackageNotFound` and what reading the class raises.
    """
    if version is None:
        return session.run(lambda: _class(session.type_for(name, None, package)))
    return session.run(lambda: _class(session.type_by_name(name, version, package)))


def _class(of: MuranoType) -> ClassDescription:
    return ClassDescription(
        name=of.name,
        version=str(of.package.version),
        package=of.package.name,
        parents=tuple(parent.name for parent in of.parents),
        ancestors=tuple(ancestor.name for ancestor in of.ancestors if ancestor is not of),
        properties=tuple(_property(p) for _, p in sorted(of.properties.items())),
        methods=tuple(_method(m) for _, m in sorted(of.methods.items())),
    )


def _property(of: Property) -> PropertyDescription:
    objects = any(True for _ in object_calls(of.decl.contract))
    return PropertyDescription(of.name, of.usage.value, of.has_default, of.declaring.name, objects)


def _method(of: Method) -> MethodDescription:
    usage = of.decl.usage.value if isinstance(of.decl, MethodDecl) else "Static" if of.static else "Runtime"
    arguments = tuple(ArgumentDescription(a.name, a.usage.value, a.default is not NO_DEFAULT) for a in of.arguments)
    return MethodDescription(of.name, usage, of.public, of.native is not None, arguments, of.declaring.name)
