"""`MuranoType`: a linked class, and `TypeObject`, the value that stands for it in expressions.

Linking resolves parents, merges the members of the hierarchy by the look-up rule of SEMANTICS 4.4 (no linearisation:
a declaration hidden by a class below it is dropped, several survivors are ambiguous) and keeps the result flat, so
that nothing searches a hierarchy at run time. Python's own inheritance is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import ClassDecl, ClassUsage, PropertyUsage
from vetro.muranopl.errors import AmbiguousMethodName, AmbiguousPropertyName, PropertyNotFound
from vetro.muranopl.runtime.protocol import MuranoContext
from vetro.muranopl.types.access import Writable, mock_of, write_static
from vetro.muranopl.types.flat import build_class
from vetro.muranopl.types.members import Method, Property
from vetro.yaql.values import MISSING

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, LinkedMethod, LinkedProperty, Runtime


class TypeObject(Writable):
    """The value of ``:C``: static members are reached through it. Equal to type objects of the same class version."""

    __slots__ = ("__dict__", "type")

    def __init__(self, of: MuranoType) -> None:
        self.type = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeObject) and other.type.key == self.type.key

    def __hash__(self) -> int:
        return hash(self.type.key)

    def __repr__(self) -> str:
        return f"<type {self.type.key}>"

    def __str__(self) -> str:
        return self.type.name

    def __getattr__(self, name: str) -> Any:
        # Generated code calls static methods as attributes `m_x`; the first access binds them here.
        if name.startswith("m_"):
            method = self.type.find_method(name[2:])
            if method is not None and method.static:
                bound = method.function.__get__(method.declaring.type_object)
                self.__dict__[name] = bound
                return bound
        raise AttributeError(f"{self!r} has no attribute {name!r}", name=name, obj=self)

    def yaql_attribute(self, name: str, context: Any) -> Any:
        """A static property."""
        prop = self.type.find_property(name)
        if prop is None or prop.usage is not PropertyUsage.STATIC:
            raise PropertyNotFound(
                Text("class {name} has no static property '{name2}'", name=self.type.name, name2=name)
            )
        return prop.declaring.read_static(prop)

    def write_property(self, context: MuranoContext, name: str, value: Any) -> None:
        """Sets a static property."""
        write_static(self.type, name, value)

    def yaql_method(self, name: str, context: Any) -> Callable[..., Any] | None:
        """A static method."""
        method = self.type.find_method(name)
        if method is None or not method.static:
            return None
        if self.type.session.mocking:
            mock = mock_of(self, name)
            if mock is not None:
                return mock

        def call(*args: Any, **kwargs: Any) -> Any:
            return method.invoke(None, args, kwargs)

        return call


def _lowest(declarers: tuple[MuranoType, ...]) -> tuple[MuranoType, ...]:
    """Those that no other one derives from."""
    return tuple(d for d in declarers if not any(o is not d and o.derives_from(d) for o in declarers))


def _merge(parents: tuple[MuranoType, ...], own: set[str], table: str) -> dict[str, tuple[MuranoType, ...]]:
    """For each inherited name the classes whose declarations survive (SEMANTICS 4.4)."""
    merged: dict[str, tuple[MuranoType, ...]] = dict(getattr(parents[0], table)) if parents else {}
    for parent in parents[1:]:
        for name, declarers in getattr(parent, table).items():
            known = merged.get(name)
            if known is None:
                merged[name] = declarers
            elif known != declarers:
                merged[name] = tuple(dict.fromkeys(known + declarers))
    if len(parents) > 1:
        for name, declarers in merged.items():
            if len(declarers) > 1:
                merged[name] = _lowest(declarers)
    for name in own:
        merged.pop(name, None)
    return merged


class MuranoType:
    """One class in one version, linked in one session. Equal by ``key`` (name and version, SEMANTICS 3.8)."""

    def __init__(
        self, decl: ClassDecl, package: Any, session: Runtime, parents: tuple[MuranoType, ...], native: Any = None
    ) -> None:
        self.decl = decl
        self.name = decl.name
        self.package = package
        self.version = package.version
        self.session = session
        self.parents = parents
        self.native = native
        self.key = f"{decl.name}/{package.version}"
        self.qualified = f"{self.key}@{package.name}"
        self.is_meta = decl.usage is ClassUsage.META
        self.type_object = TypeObject(self)
        self.ancestors = self._linearize()
        self._keys: frozenset[str] = frozenset({self.key}).union(*(parent._keys for parent in parents))
        self.own_properties: dict[str, Property] = {n: Property(d, self) for n, d in decl.properties.items()}
        self.own_methods: dict[str, Method] = {n: Method(n, self, d) for n, d in decl.methods.items()}
        if native is not None:
            for name, implementation in native.methods.items():
                declared = self.own_methods.get(name)
                self.own_methods[name] = Method(name, self, declared.decl if declared else None, implementation)
        self.property_owners = _merge(parents, set(self.own_properties), "property_owners")
        self.property_owners.update((n, (self,)) for n in self.own_properties)
        self.method_owners = _merge(parents, set(self.own_methods), "method_owners")
        self.method_owners.update((n, (self,)) for n in self.own_methods)
        self._statics: dict[str, Any] = {}
        self._extensions: dict[str, tuple[LinkedMethod, ...]] = {}
        self._resolved: dict[tuple[str, str | None], LinkedClass] = {}

    def __repr__(self) -> str:
        return f"<MuranoType {self.qualified}>"

    def _linearize(self) -> tuple[MuranoType, ...]:
        """Self first, every ancestor once, a class always before its bases."""
        if len(self.parents) == 1:  # as most classes have it
            return (self, *self.parents[0].ancestors)
        seen: set[str] = set()
        order: list[MuranoType] = []

        def visit(current: MuranoType) -> None:
            if current.key in seen:
                return
            seen.add(current.key)
            for parent in current.parents:
                visit(parent)
            order.append(current)

        for parent in self.parents:
            visit(parent)
        return (self, *reversed(order))

    # -- look-up -------------------------------------------------------------------------------------------------------

    def derives_from(self, other: LinkedClass) -> bool:
        """True when ``other`` is this class or an ancestor."""
        return other.key in self._keys

    def find_property(self, name: str) -> Property | None:
        """The property by the look-up rule; None when undeclared. Raises `AmbiguousPropertyName`."""
        owners = self.property_owners.get(name)
        if owners is None:
            return None
        if len(owners) > 1:
            names = ", ".join(sorted(o.name for o in owners))
            raise AmbiguousPropertyName(
                Text("property '{name}' of {name2} is declared by {names}", name=name, name2=self.name, names=names)
            )
        return owners[0].own_properties[name]

    def find_method(self, name: str) -> Method | None:
        """The method by the look-up rule; None when there is none. Raises `AmbiguousMethodName`."""
        owners = self.method_owners.get(name)
        if owners is None:
            return None
        if len(owners) > 1:
            names = ", ".join(sorted(o.name for o in owners))
            raise AmbiguousMethodName(
                Text("method '{name}' of {name2} is declared by {names}", name=name, name2=self.name, names=names)
            )
        return owners[0].own_methods[name]

    @cached_property
    def properties(self) -> dict[str, Property]:
        """All properties, inherited ones included; raises `AmbiguousPropertyName` when one is ambiguous."""
        result: dict[str, Property] = {}
        for name in self.property_owners:
            prop = self.find_property(name)
            assert prop is not None
            result[name] = prop
        return result

    @cached_property
    def methods(self) -> dict[str, Method]:
        """All methods that are not ambiguous, inherited ones included."""
        return {n: o[0].own_methods[n] for n, o in self.method_owners.items() if len(o) == 1}

    def property_chain(self, name: str) -> tuple[Property, ...]:
        """Every declaration of the property in the hierarchy, the effective one first (SEMANTICS 5.3)."""
        effective = self.properties[name]
        rest = [a.own_properties[name] for a in self.ancestors if name in a.own_properties]
        return (effective, *(p for p in rest if p is not effective))

    def method_names(self) -> Iterator[str]:
        """Names of all methods, ambiguous ones included."""
        return iter(self.method_owners)

    def ambiguous(self, name: str) -> bool:
        """True when calling the method would be ambiguous."""
        return len(self.method_owners.get(name, ())) > 1

    def declared_names(self) -> frozenset[str]:
        """Names of all properties that this class or an ancestor declares."""
        return frozenset(self.property_owners)

    def resolve_class(self, name: str, version_spec: str | None = None) -> LinkedClass:
        """The class that ``name``, as written in this class's file, means (SEMANTICS 2.2, 3.5)."""
        found = self._resolved.get((name, version_spec))
        if found is None:
            full = self.decl.namespaces.resolve(name)
            found = self.session.types.find_from(self.package, full, version_spec)
            self._resolved[name, version_spec] = found
        return found

    def extensions(self, name: str) -> tuple[LinkedMethod, ...]:
        """Extension methods ``name`` that this class's code sees: own and inherited, then imported (SEMANTICS 8.3)."""
        found = self._extensions.get(name)
        if found is None:
            result: list[LinkedMethod] = []
            own = self.method_owners.get(name, ())
            result.extend(o.own_methods[name] for o in own)
            for imported in self.decl.imports:
                other = self.resolve_class(imported)
                result.extend(o.own_methods[name] for o in other.method_owners.get(name, ()))
            found = self._extensions[name] = tuple(m for m in result if m.extension)
        return found

    @cached_property
    def _extension_names(self) -> frozenset[str]:
        names = {n for n, o in self.method_owners.items() if any(x.own_methods[n].extension for x in o)}
        for imported in self.decl.imports:
            other = self.resolve_class(imported)
            names |= {n for n, o in other.method_owners.items() if any(x.own_methods[n].extension for x in o)}
        return frozenset(names)

    def extension_names(self) -> frozenset[str]:
        """Names of all extension methods visible to this class's code."""
        return self._extension_names

    # -- run time ------------------------------------------------------------------------------------------------------

    @cached_property
    def context(self) -> MuranoContext:
        """The ``cx`` of this class's code."""
        core = self.package.name.startswith("io.murano")
        dialect = self.session.dialects.get(self.package.format, core)
        return MuranoContext(rt=self.session.rt, dialect=dialect, session=self.session, type=self)

    @cached_property
    def pyclass(self) -> Any:
        """The flat Python class of this class's objects."""
        return build_class(self)

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """Values of the class configuration file (SEMANTICS 5.7)."""
        return self.session.class_config(self.name, self.version)

    def restart(self) -> None:
        """Static properties have no values yet."""
        self._statics.clear()

    def read_static(self, prop: LinkedProperty) -> Any:
        """Value of a static property; its contract is applied on each read (SEMANTICS 8.2)."""
        value = self._statics.get(prop.name, MISSING)
        if value is MISSING:
            value = prop.default(self.type_object) if prop.has_default else None
            return self._set_static(prop, value)
        return prop.apply(value, self.type_object)

    def write_static(self, prop: LinkedProperty, value: Any) -> None:
        """Sets a static property through its contract."""
        self._set_static(prop, value)

    def _set_static(self, prop: LinkedProperty, value: Any) -> Any:
        value = prop.apply(value, self.type_object)
        if not self._statics:
            self.session.types.has_values(self)
        self._statics[prop.name] = value
        return value
