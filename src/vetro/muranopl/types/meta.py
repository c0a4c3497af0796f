"""Meta objects (SEMANTICS 14): checked when a class is built, created when first read, inherited by declaration.

A *slot* is one attached meta declaration; its object is created once and shared by everything that inherits it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Literal, MetaDecl
from vetro.muranopl.errors import DeclarationError, MuranoError
from vetro.muranopl.runtime.protocol import LinkedClass
from vetro.muranopl.types.members import Method, Property
from vetro.muranopl.types.murano_type import MuranoType
from vetro.muranopl.types.reflection import ArgumentInfo
from vetro.yaql.values import MISSING, freeze

#: Places meta may be attached to, as ``Applies`` names them.
PLACES = ("Package", "Type", "Property", "Method", "Argument")
#: Where metadata stands -> what it is attached to.
_ARTICLE = {
    "Package": Text("a package"),
    "Type": Text("a type"),
    "Property": Text("a property"),
    "Method": Text("a method"),
    "Argument": Text("an argument"),
}


class MetaConflict(DeclarationError):
    """Two unrelated classes hand down different instances of a meta-class of cardinality One."""

    code = "MPL131"


class InvalidMeta(DeclarationError):
    """A meta attachment that is not allowed: no meta-class, wrong place, or twice."""

    code = "MPL130"


class Slot:
    """One meta declaration where it stands: its meta-class, values and (later) its object."""

    __slots__ = ("decl", "declaring", "object", "type")

    def __init__(self, decl: MetaDecl, meta_type: LinkedClass, declaring: LinkedClass | None) -> None:
        self.decl = decl
        self.type = meta_type
        #: The class whose declaration carries it; None for packages.
        self.declaring = declaring
        self.object: Any = MISSING


# -- checks ------------------------------------------------------------------------------------------------------------


def check_declarations(decls: Iterable[MetaDecl], place: str, resolve: Callable[[str], LinkedClass]) -> None:
    """Raises `InvalidMeta` unless every declaration names a meta-class that applies to ``place``, One ones once."""
    seen: set[str] = set()
    for decl in decls:
        try:
            meta_type = resolve(decl.name)
        except MuranoError as error:
            error.position = error.position or decl.position
            raise
        if not meta_type.is_meta:
            raise InvalidMeta(
                Text("class {name} is used as Meta but is no meta-class", name=meta_type.name),
                position=decl.position,
                hint=Text("declare it with 'Usage: Meta'"),
            )
        applies = meta_type.decl.applies
        if "All" not in applies and place not in applies:
            raise InvalidMeta(
                Text("meta-class {name} cannot be attached to {article}", name=meta_type.name, article=_ARTICLE[place]),
                position=decl.position,
                hint=Text("it applies to: {applies}", applies=", ".join(sorted(applies))),
            )
        if meta_type.decl.cardinality == "One" and meta_type.key in seen:
            raise InvalidMeta(
                Text("meta-class {name} is attached twice, its cardinality is One", name=meta_type.name),
                position=decl.position,
            )
        seen.add(meta_type.key)


def check_class(type_: LinkedClass) -> None:
    """Checks every meta declaration of a class, its properties, methods and arguments. Raises `InvalidMeta`."""
    decl = type_.decl
    if decl.meta:
        check_declarations(decl.meta, "Type", type_.resolve_class)
    for prop in decl.properties.values():
        if not getattr(prop, "bare", False) and prop.meta:
            check_declarations(prop.meta, "Property", type_.resolve_class)
    for method in decl.methods.values():
        if getattr(method, "bare", False):
            continue
        if method.meta:
            check_declarations(method.meta, "Method", type_.resolve_class)
        for argument in method.arguments:
            if argument.meta:
                check_declarations(argument.meta, "Argument", type_.resolve_class)


# -- reading -----------------------------------------------------------------------------------------------------------


class MetaObjects:
    """The meta objects of one session."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._slots: dict[tuple[Any, ...], tuple[Slot, ...]] = {}
        self._collected: dict[tuple[Any, ...], tuple[Slot, ...]] = {}

    def of(self, thing: Any) -> list[Any]:
        """The meta objects of a `MuranoType`, `Property`, `Method`, `ArgumentInfo` or package, inherited ones too.

        Raises `MetaConflict` (14.2), and what the contracts of the meta-class's properties raise.
        """
        return [self.object_of(slot) for slot in self.slots(thing)]

    def declared(self, thing: Any) -> list[tuple[Any, LinkedClass | None]]:
        """The same, each with the class whose declaration carries it."""
        return [(self.object_of(slot), slot.declaring) for slot in self.slots(thing)]

    def slots(self, thing: Any) -> tuple[Slot, ...]:
        """The declarations behind `of`; no object is created."""
        if isinstance(thing, MuranoType):
            slots = self._collect(thing, ("type",))
        elif isinstance(thing, Property):
            slots = self._collect(thing.declaring, ("property", thing.name))
        elif isinstance(thing, Method):
            slots = self._collect(thing.declaring, ("method", thing.name))
        elif isinstance(thing, ArgumentInfo):
            decls: tuple[MetaDecl, ...] = getattr(thing.argument, "meta", ())
            key = ("argument", thing.method.name, thing.argument.name)
            slots = self._own(thing.method.declaring, key, decls)
        else:
            slots = self._of_package(thing)
        return slots

    def _own(self, type_: LinkedClass, key: tuple[Any, ...], decls: tuple[MetaDecl, ...]) -> tuple[Slot, ...]:
        full = (type_.key, *key)
        slots = self._slots.get(full)
        if slots is None:
            slots = self._slots[full] = tuple(Slot(d, type_.resolve_class(d.name), type_) for d in decls)
        return slots

    def _declared(self, type_: LinkedClass, key: tuple[Any, ...]) -> tuple[MetaDecl, ...]:
        if key[0] == "type":
            return type_.decl.meta
        members: Mapping[str, Any] = type_.decl.properties if key[0] == "property" else type_.decl.methods
        member = members.get(key[1])
        return () if member is None else member.meta

    def _collect(self, type_: LinkedClass, key: tuple[Any, ...]) -> tuple[Slot, ...]:
        """Own slots and those handed down (14.2), ancestors before their derived classes are visited once."""
        full = (type_.key, *key)
        found = self._collected.get(full)
        if found is not None:
            return found
        own = self._own(type_, key, self._declared(type_, key))
        replaced = {slot.type.key for slot in own if slot.type.decl.cardinality == "One"}
        handed: dict[str, list[Slot]] = {}
        for parent in type_.parents:
            for slot in self._collect(parent, key):
                if slot.type.decl.inherited and slot.type.key not in replaced:
                    known = handed.setdefault(slot.type.key, [])
                    if slot not in known:
                        known.append(slot)
        result = list(own)
        for slots in handed.values():
            result.extend(slots if slots[0].type.decl.cardinality != "One" else self._nearest(slots, type_))
        self._collected[full] = tuple(result)
        return self._collected[full]

    @staticmethod
    def _nearest(slots: list[Slot], type_: LinkedClass) -> list[Slot]:
        """Of slots that come over several paths those not hidden by a class below their own; more than one clash."""
        left = [
            slot
            for slot in slots
            if not any(
                other is not slot
                and other.declaring is not slot.declaring
                and other.declaring is not None
                and slot.declaring is not None
                and other.declaring.derives_from(slot.declaring)
                for other in slots
            )
        ]
        if len(left) > 1:
            names = ", ".join(sorted(slot.declaring.name for slot in left if slot.declaring is not None))
            raise MetaConflict(
                Text(
                    "class {name} inherits different instances of meta-class {name2} from {names}",
                    name=type_.name,
                    name2=left[0].type.name,
                    names=names,
                ),
                hint=Text("attach {name} to {name2} itself", name=left[0].type.name, name2=type_.name),
            )
        return left

    def _of_package(self, package: Any) -> tuple[Slot, ...]:
        full = ("package", package.name, str(package.version))
        slots = self._slots.get(full)
        if slots is None:
            decls = package_declarations(package)

            def resolve(name: str) -> LinkedClass:
                found: LinkedClass = self._session.types.find_from(package, name)
                return found

            check_declarations(decls, "Package", resolve)
            slots = self._slots[full] = tuple(Slot(d, resolve(d.name), None) for d in decls)
        return slots

    def object_of(self, slot: Slot) -> Any:
        """The object of a declaration, made when it is first asked for. Raises what its contracts raise."""
        if slot.object is MISSING:
            # Who asks first may be the serialiser of a checkpoint: what comes later must not depend on it.
            with self._session.set_apart(f"meta:{slot.type.key}:{slot.decl.position}"):
                values = {name: self._value(slot, value) for name, value in slot.decl.properties.items()}
                slot.object = self._session.store.create(slot.type, values, None, None)
        return slot.object

    def _value(self, slot: Slot, template: Any) -> Any:
        if isinstance(template, Literal):
            return freeze(template.value)
        owner = slot.declaring or slot.type
        return self._session.evaluate(template, owner)


def package_declarations(package: Any) -> tuple[MetaDecl, ...]:
    """The manifest's ``Meta`` as declarations; class names in it are full names."""
    raw = package.meta
    if not raw:
        return ()
    # The reader brings PyYAML along: 40 ms that a session with a warm cache does not have to spend.
    from vetro.muranopl.reader.files import read_manifest_meta

    return read_manifest_meta(raw)


def meta_of(session: Any, thing: Any) -> list[Any]:
    """Meta objects of ``thing``; see `MetaObjects.of`."""
    store: MetaObjects | None = getattr(session, "meta_objects", None)
    if store is None:
        store = session.meta_objects = MetaObjects(session)
    return store.of(thing)


def meta_values(session: Any, thing: Any) -> list[tuple[str, dict[str, Any]]]:
    """The same as plain values: (full class name, property values) for each meta object; for schemas and actions."""
    result: list[tuple[str, dict[str, Any]]] = []
    for obj in meta_of(session, thing):
        names = obj._type.properties
        result.append((obj._type.name, {n: getattr(obj, p.attr, None) for n, p in names.items()}))
    return result


__all__ = [
    "PLACES",
    "InvalidMeta",
    "MetaConflict",
    "MetaObjects",
    "Slot",
    "check_class",
    "check_declarations",
    "meta_of",
    "meta_values",
    "package_declarations",
]
