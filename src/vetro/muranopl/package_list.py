"""A package source over a list of packages, the core library included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from vetro.muranopl.catalog import Skipped
from vetro.muranopl.defaults import defaults


class PackageListSource:
    """Answers from packages held in memory; ``behind`` are other sources asked for what the list lacks."""

    def __init__(self, packages: Iterable[Any], behind: Sequence[Any] = ()) -> None:
        self._by_name: dict[str, list[Any]] = {}
        self._by_class: dict[str, list[Any]] = {}
        self._skipped: list[Skipped] = []
        self._behind = tuple(behind)
        for package in packages:
            if isinstance(package, Skipped):
                self._skipped.append(package)
                continue
            same = self._by_name.setdefault(package.name, [])
            if any(p.version == package.version for p in same):
                continue  # the first one wins
            same.append(package)
            for name in package.classes:
                self._by_class.setdefault(name, []).append(package)

    def packages(self, name: str) -> list[Any]:
        """All versions of a package."""
        found = list(self._by_name.get(name, ()))
        for source in self._behind:
            found += [p for p in source.packages(name) if all(p.version != f.version for f in found)]
        return found

    def packages_with_class(self, class_name: str) -> list[Any]:
        """All packages that define the class."""
        found = list(self._by_class.get(class_name, ()))
        for source in self._behind:
            known = {(p.name, p.version) for p in found}
            found += [p for p in source.packages_with_class(class_name) if (p.name, p.version) not in known]
        return found

    def skipped(self) -> list[Skipped]:
        """What was left out."""
        return [*self._skipped, *(s for source in self._behind for s in source.skipped())]

    def all(self) -> list[Any]:
        """Every package of the list, in the order given."""
        return [p for packages in self._by_name.values() for p in packages]


def source_of(packages: Any, core: Iterable[Any] | None) -> PackageListSource:
    """A source over packages or a source, with the core library added unless a package of that name is there."""
    if core is None:
        core = defaults().packages
    if hasattr(packages, "packages_with_class"):
        extra = [p for p in core if not packages.packages(p.name)]
        return PackageListSource(extra, [packages])
    given = list(packages)
    names = {p.name for p in given if not isinstance(p, Skipped)}
    return PackageListSource([*given, *(p for p in core if p.name not in names)])
