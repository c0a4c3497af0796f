"""Rows of packages as `vetro.muranopl.package_resolver` sees them, read a few queries at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from django.db.models import Q

from vetro.muranopl.declarations.versions import Version, parse_version
from vetro.muranopl.package_resolver import Skipped, with_implicit_requirements
from vetro.packages.manifest import MURANOPL, parse_format
from vetro.server.catalog.models import Package
from vetro.server.catalog.standard_packages import installed

#: More names in one query than this are asked for in several.
_MANY = 400


class PackageRow:
    """One package as far as choosing versions goes: name, version, classes, requirements."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.name = package.fqn
        self.version: Version = parse_version(package.version)
        self.classes: Mapping[str, str] = dict.fromkeys(package.class_names, "")
        self.requirements: Mapping[str, str] = package.required
        self.location = f"package {package.fqn} {package.version}"

    @cached_property
    def effective_requirements(self) -> Mapping[str, str]:
        """With the implicit ones, in look-up order."""
        return with_implicit_requirements(self.name, self.version, self.requirements)

    @cached_property
    def format(self) -> tuple[int, int]:
        """The language version its code is written for."""
        parsed = parse_format(self.package.format)
        if parsed.name != MURANOPL:
            return (1, 0)
        return (parsed.version.major, parsed.version.minor)


class Rows:
    """A `PackageSource` of the packages that one project sees. Of equal name and version its own comes first.

    What has to be known next is announced by `prepare`, so that a whole level of requirements costs one query.
    """

    def __init__(self, project_id: str, added: Iterable[Package] = ()) -> None:
        self._project = project_id
        self._added = [PackageRow(package) for package in added]
        self._by_name: dict[str, list[PackageRow]] = {}
        self._skipped: dict[str, list[Skipped]] = {}
        self._with_class: dict[str, set[str]] = {}

    def prepare(self, names: Iterable[str], classes: Iterable[str] = ()) -> None:
        """Reads all versions of these packages, and of the packages that have these classes."""
        classes = [c for c in dict.fromkeys(classes) if c not in self._with_class]
        wanted = [n for n in dict.fromkeys(names) if n not in self._by_name]
        for part in _parts(classes):
            found = (
                Package.objects.filter(scope_of(self._project), classes__name__in=part)
                .values_list("classes__name", "fqn")
                .distinct()
            )
            for name in part:
                self._with_class[name] = {row.name for row in self._added if name in row.classes}
                self._with_class[name] |= {p.fqn for p in installed() if name in p.class_names}
            for name, fqn in found:
                self._with_class[name].add(fqn)
        wanted += [n for c in classes for n in self._with_class[c] if n not in self._by_name]
        for part in _parts(list(dict.fromkeys(wanted))):
            for name in part:
                self._by_name[name] = [row for row in self._added if row.name == name]
            rows = Package.objects.filter(scope_of(self._project), fqn__in=part).defer(
                "description", "findings", "author", "compat", "texts"
            )
            for package in sorted(rows, key=lambda p: p.project_id != self._project):
                self._take(package)
            for package in installed():  # whatever the catalog says, tasks have the standard packages
                if package.fqn in part:
                    self._take(package)

    def _take(self, package: Package) -> None:
        rows = self._by_name[package.fqn]
        if any(row.package.version == package.version for row in rows):
            return
        if package.usable:
            rows.append(PackageRow(package))
        else:
            text = "it was imported although something that it requires was missing, or its classes cannot be read"
            self._skipped.setdefault(package.fqn, []).append(
                Skipped(
                    f"{package.fqn} {package.version}", text, package.fqn, package.version,
                    frozenset(package.class_names),
                )
            )  # fmt: skip

    def packages(self, name: str) -> Sequence[Any]:
        """All usable versions of a package."""
        if name not in self._by_name:
            self.prepare([name])
        return self._by_name[name]

    def packages_with_class(self, class_name: str) -> Sequence[Any]:
        """All usable package versions that define the class."""
        if class_name not in self._with_class:
            self.prepare([], [class_name])
        names = sorted(self._with_class[class_name])
        return [row for name in names for row in self.packages(name) if class_name in row.classes]

    def skipped(self) -> Sequence[Skipped]:
        """What it leaves out, and why."""
        return [item for items in self._skipped.values() for item in items]


def scope_of(project_id: str) -> Q:
    """The enabled packages that the project sees."""
    return Q(enabled=True) & seen_by(project_id)


def seen_by(project_id: str) -> Q:
    """The packages that the project sees, disabled ones with them."""
    return Q(is_public=True) | Q(project_id=project_id)


def _parts(items: list[str]) -> Iterable[list[str]]:
    for start in range(0, len(items), _MANY):
        yield items[start : start + _MANY]
