"""Which steps lie between the version that an object was stored with and the one that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from vetro.muranopl.declarations.versions import Version
from vetro.packages.version_steps import Migration, Rename, former_names, is_due, migrations, release, renames

#: The version of each package whose classes an object's class extends, its own included.
Versions = Mapping[str, Version]


class UpgradeStep(NamedTuple):
    """One step: a property gets another name, or a migration of ``kind`` runs."""

    what: Rename | Migration
    kind: Any


def steps(kind: Any, stored: Versions) -> list[UpgradeStep]:
    """The steps of an object that becomes one of class ``kind``.

    By release, and of one release renames before migrations and bases before what extends them. The classes of a
    package go together: releases of different packages say nothing about each other. A base that the object did not
    have before begins with nothing.
    """
    packages: dict[str, list[tuple[tuple[Any, ...], UpgradeStep]]] = {}
    for level, base in enumerate(reversed(kind.ancestors)):
        before, after = stored.get(base.package.name), base.package.version
        if before is None or release(before) >= release(after):
            continue
        mine = packages.setdefault(base.package.name, [])
        for order, found in ((0, renames(base)), (1, migrations(base))):
            due = (one for one in found if is_due(one.to, before, after))
            mine += [((release(one.to), order, level), UpgradeStep(one, base)) for one in due]
    return [step for found in packages.values() for _, step in sorted(found, key=lambda one: one[0])]


def former_classes(kind: Any, stored: Versions) -> dict[str, str]:
    """What the class and its bases were called when the object was stored -> what they are called now.

    What another class of the object is called was never the name of this one, whatever its package says.
    """
    found = {}
    names = {base.name for base in kind.ancestors}
    for base in kind.ancestors:
        before = stored.get(base.package.name)
        if before is not None:
            due = (one for one in former_names(base) if is_due(one.to, before, base.package.version))
            found.update({one.before: base.name for one in due if one.before not in names})
    return found


def successor(package: Any, classes: Any, name: str, stored: Version) -> Any | None:
    """The class of ``package`` that replaces the one that was called ``name``; None where there is none.

    ``classes(name)`` gives a class of the package. Raises what linking classes raises.
    """
    for candidate in package.classes:
        kind = classes(candidate)
        if any(one.before == name and is_due(one.to, stored, package.version) for one in former_names(kind)):
            return kind
    return None
