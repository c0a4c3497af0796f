"""What a class says of the versions before it: its former names, those of its properties, its migrations.

Read from the metadata of ``io.vetro.lifecycle`` in declarations; nothing of the package runs. What can never work is
left out here: `vetro check` tells it (`vetro.packages.checks.version_steps`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from vetro.muranopl.declarations.tree import Literal, MetaDecl
from vetro.muranopl.declarations.versions import Version, parse_version
from vetro.muranopl.errors import DeclarationError, MuranoError

_PACKAGE = "io.vetro"
_NAMESPACE = "io.vetro.lifecycle"


class Rename(NamedTuple):
    """A class or property that is called ``after`` from version ``to`` on."""

    before: str
    after: str
    to: Version
    decl: MetaDecl


class Migration(NamedTuple):
    """The static method ``name`` makes the properties of version ``to`` of those of any version before."""

    name: str
    to: Version
    decl: MetaDecl


def release(version: Version) -> tuple[int, int, int]:
    """What a version counts as among steps: a pre-release stores what the release will, so it is that release."""
    return version.major, version.minor, version.patch


def is_due(to: Version, old: Version, new: Version) -> bool:
    """Whether a step belongs to the way from one version to another."""
    return release(old) < release(to) <= release(new)


def former_names(kind: Any) -> list[Rename]:
    """What a class was called, oldest first."""
    found = _steps(lifecycle(kind, kind.decl.meta, "Replaces"), "name")
    return [Rename(before, kind.name, to, decl) for before, to, decl in found]


def renames(kind: Any) -> list[Rename]:
    """What the properties that a class itself declares were called, oldest first.

    A property that was renamed twice goes from its first name to the second, and then to the third.
    """
    made = []
    for name, prop in kind.own_properties.items():
        steps = _steps(lifecycle(kind, prop.decl.meta, "Renamed"), "from")
        later = [*(before for before, _, _ in steps[1:]), name]
        made += [Rename(before, after, to, decl) for (before, to, decl), after in zip(steps, later, strict=False)]
    return sorted(made, key=lambda one: release(one.to))


def migrations(kind: Any) -> list[Migration]:
    """The migrations that a class itself declares, oldest first."""
    made = [
        Migration(name, to, decl)
        for name, method in kind.own_methods.items()
        if method.decl is not None
        for _, to, decl in _steps(lifecycle(kind, method.decl.meta, "Migration"), None)
    ]
    return sorted(made, key=lambda one: release(one.to))


def lifecycle(kind: Any, metas: Iterable[MetaDecl], name: str) -> Iterator[MetaDecl]:
    """Those of the attached ``metas`` that are of the class ``io.vetro.lifecycle.NAME`` of the standard package."""
    for decl in metas:
        try:
            if kind.decl.namespaces.resolve(decl.name) != f"{_NAMESPACE}.{name}":
                continue
            if kind.resolve_class(decl.name).package.name == _PACKAGE:
                yield decl
        except MuranoError:  # its own error
            continue


def text_in(decl: MetaDecl, name: str) -> str | None:
    """A text that stands in metadata; None where it is computed, or something else."""
    value = decl.properties.get(name)
    found = value.value if isinstance(value, Literal) else None
    return found if isinstance(found, str) else None


def release_in(decl: MetaDecl) -> Version | None:
    """The release that ``to`` names; None where it is none."""
    text = text_in(decl, "to")
    try:
        version = None if text is None else parse_version(text)
    except DeclarationError:
        return None
    return (
        version if version is not None and str(version) == text and not (version.prerelease or version.build) else None
    )


def _steps(decls: Iterable[MetaDecl], named: str | None) -> list[tuple[str, Version, MetaDecl]]:
    found = []
    for decl in decls:
        to, text = release_in(decl), "" if named is None else text_in(decl, named)
        if to is not None and text is not None:
            found.append((text, to, decl))
    return sorted(found, key=lambda one: release(one[1]))
