"""`users_of`: which classes of some packages extend a class, or ask for objects of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vetro.data_classes import dataclass
from vetro.muranopl.contracts.model import Contract, object_calls
from vetro.muranopl.contracts.resolver import class_name_of
from vetro.muranopl.declarations.tree import ClassDecl
from vetro.yaql.errors import VetroError


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """A use of a class. ``member``: the property, or the argument as ``method(argument)``; '' where it is extended."""

    by: str
    member: str


def users_of(session: Any, packages: Iterable[Any], name: str) -> list[Use]:
    """The uses of the class ``name``, sorted. Files that cannot be read use nothing.

    ``packages``: loaded ones. Only declarations are read; code of methods is not looked at.
    """
    found: set[Use] = set()
    for package in packages:
        for known in package.classes:
            try:
                declared: ClassDecl = session.types.declaration(package, known)
                found |= {Use(known, member) for member, wanted in _named(declared) if wanted == name}
            except VetroError:
                continue
    return sorted(found)


def _named(declared: ClassDecl) -> Iterator[tuple[str, str]]:
    """(member, full name of a class that it names)."""
    for parent in declared.extends:
        yield "", declared.namespaces.resolve(parent)
    for item in declared.properties.values():
        yield from ((item.name, wanted) for wanted in _of_contract(declared, item.contract))
    for method in declared.methods.values():
        for argument in method.arguments:
            member = f"{method.name}({argument.name})"
            yield from ((member, wanted) for wanted in _of_contract(declared, argument.contract))


def _of_contract(declared: ClassDecl, contract: Contract) -> Iterator[str]:
    for _, call in object_calls(contract):
        name = class_name_of(call.args[0]) if call.args else None
        if name is not None:
            yield declared.namespaces.resolve(name)
