"""What a class consists of: properties, methods and arguments, with everything it inherits, and what is secret.

Which classes there are is known by the packages themselves (``package.classes``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vetro.data_classes import dataclass
from vetro.model.header import parse_type_text
from vetro.muranopl.contracts.model import object_calls
from vetro.muranopl.declarations.tree import NO_DEFAULT, MethodDecl
from vetro.muranopl.objects.actions import model_builders
from vetro.muranopl.secrecy import secret_arguments, secret_properties

if TYPE_CHECKING:
    from vetro.muranopl.api import Engine
    from vetro.muranopl.runtime.protocol import LinkedClass, LinkedMethod, LinkedProperty
    from vetro.muranopl.session import Session


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


def _class(of: LinkedClass) -> ClassDescription:
    return ClassDescription(
        name=of.name,
        version=str(of.package.version),
        package=of.package.name,
        parents=tuple(parent.name for parent in of.parents),
        ancestors=tuple(ancestor.name for ancestor in of.ancestors if ancestor is not of),
        properties=tuple(_property(p) for _, p in sorted(of.properties.items())),
        methods=tuple(_method(m) for _, m in sorted(of.methods.items())),
    )


def _property(of: LinkedProperty) -> PropertyDescription:
    objects = any(True for _ in object_calls(of.decl.contract))
    return PropertyDescription(of.name, of.usage.value, of.has_default, of.declaring.name, objects)


def _method(of: LinkedMethod) -> MethodDescription:
    usage = of.decl.usage.value if isinstance(of.decl, MethodDecl) else "Static" if of.static else "Runtime"
    arguments = tuple(ArgumentDescription(a.name, a.usage.value, a.default is not NO_DEFAULT) for a in of.arguments)
    return MethodDescription(of.name, usage, of.public, of.native is not None, arguments, of.declaring.name)


def secret_names(engine: Engine, type_text: str, method: str = "") -> frozenset[str]:
    """Names of the secret properties of a class, or of the secret arguments of its method.

    ``type_text`` is the type in the header of an object. Raises `VetroError` where there is no such class.
    """
    session = engine.session()
    try:

        def find() -> frozenset[str]:
            type_ = class_of_header(session, type_text)
            return secret_arguments(type_, method) if method else secret_properties(type_)

        return session.run(find)
    finally:
        session.close()


def builder_names(engine: Engine, type_text: str) -> frozenset[str]:
    """Names of the model builders of a class. Raises `VetroError` where there is no such class."""
    session = engine.session()
    try:
        return session.run(lambda: model_builders(class_of_header(session, type_text)))
    finally:
        session.close()


def class_of_header(session: Session, type_text: str) -> LinkedClass:
    """The class that a header of a stored model names. Raises `VetroError` where there is none."""
    name, version, package = parse_type_text(type_text)
    if version:
        return session.type_by_name(name, version, package)
    return session.type_for(name, None, package)
