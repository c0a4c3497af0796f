"""What its author wants nobody to use any more (`io.vetro.lifecycle.Deprecated`), read from declarations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from vetro.muranopl.declarations.tree import MetaDecl
from vetro.muranopl.types.meta import package_declarations
from vetro.packages.version_steps import lifecycle, text_in

#: The full name of the meta-class.
DEPRECATED: Final = "io.vetro.lifecycle.Deprecated"


class Deprecation(NamedTuple):
    """Why not, for people, and the class, property, method or package to use instead."""

    text: str
    replacement: str | None


def deprecation(kind: Any, metas: Iterable[MetaDecl]) -> Deprecation | None:
    """What ``metas`` say that are attached to the linked class ``kind`` or to one of its members; None: nothing."""
    return next((_read(decl) for decl in lifecycle(kind, metas, "Deprecated")), None)


def package_deprecation(package: Any) -> Deprecation | None:
    """The same of a package, by its manifest."""
    return next((_read(decl) for decl in package_declarations(package) if decl.name == DEPRECATED), None)


def _read(decl: MetaDecl) -> Deprecation:
    return Deprecation(text_in(decl, "text") or "", text_in(decl, "replacement"))
