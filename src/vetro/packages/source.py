"""Package sources: lists, and several sources as one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from vetro.muranopl.declarations.versions import Version
from vetro.muranopl.package_resolver import Package, PackageSource, Skipped

log = logging.getLogger(__name__)


class _Index:
    """Packages by name and by class; of equal (name, version) the first stays."""

    def __init__(self) -> None:
        self.by_name: dict[str, dict[Version, Package]] = {}
        self.by_class: dict[str, list[Package]] = {}

    def add(self, package: Package) -> Package | None:
        """Adds it; or gives the one that is there already."""
        versions = self.by_name.setdefault(package.name, {})
        known = versions.get(package.version)
        if known is not None:
            return known
        versions[package.version] = package
        for name in package.classes:
            self.by_class.setdefault(name, []).append(package)
        return None


class PackageList:
    """A source that holds these packages; `Skipped` entries are reported only."""

    def __init__(self, items: Iterable[Package | Skipped] = ()) -> None:
        self._index = _Index()
        self._skipped: list[Skipped] = []
        for item in items:
            self.add(item)

    def add(self, item: Package | Skipped) -> None:
        """Adds a package. Of equal name and version the first stays, the other is reported as skipped."""
        if isinstance(item, Skipped):
            self._skipped.append(item)
            return
        known = self._index.add(item)
        if known is not None:
            message = f"{item.name} {item.version} is already there, from {getattr(known, 'location', 'elsewhere')}"
            location = str(getattr(item, "location", item.name))
            log.warning("%s is left out: %s", location, message)
            self._skipped.append(Skipped(location, message, item.name, str(item.version), frozenset(item.classes)))

    def packages(self, name: str) -> Sequence[Package]:
        """All versions of a package."""
        return list(self._index.by_name.get(name, {}).values())

    def packages_with_class(self, class_name: str) -> Sequence[Package]:
        """All package versions that define the class."""
        return list(self._index.by_class.get(class_name, ()))

    def skipped(self) -> Sequence[Skipped]:
        """What was left out."""
        return tuple(self._skipped)

    def all(self) -> list[Package]:
        """Every package, in the order of names as added."""
        return [package for versions in self._index.by_name.values() for package in versions.values()]

    def names(self) -> list[str]:
        """The names of all packages, sorted."""
        return sorted(self._index.by_name)


class CombinedSource:
    """Several sources as one. Their versions are put together; of equal (name, version) the earlier source wins."""

    def __init__(self, sources: Iterable[PackageSource]) -> None:
        self.sources = tuple(sources)

    def packages(self, name: str) -> Sequence[Package]:
        """All versions of a package."""
        found: dict[Version, Package] = {}
        for source in self.sources:
            for package in source.packages(name):
                found.setdefault(package.version, package)
        return list(found.values())

    def packages_with_class(self, class_name: str) -> Sequence[Package]:
        """All package versions that define the class; a version that an earlier source replaces does not count."""
        found: dict[tuple[str, Version], Package] = {}
        for position, source in enumerate(self.sources):
            for package in source.packages_with_class(class_name):
                key = (package.name, package.version)
                if key not in found and not self._hidden(package, position):
                    found[key] = package
        return list(found.values())

    def _hidden(self, package: Package, position: int) -> bool:
        return any(
            other.version == package.version
            for source in self.sources[:position]
            for other in source.packages(package.name)
        )

    def skipped(self) -> Sequence[Skipped]:
        """What all of them left out."""
        return tuple(item for source in self.sources for item in source.skipped())
