"""Which packages a task needs: what its classes belong to and everything these require, in versions by seed 004.

The engine chooses again among what it is given, by the same rules (`vetro.muranopl.package_resolver`); here it is made
sure that it finds them all, and that versions of earlier deployments are among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vetro.diagnostics import Text
from vetro.model.header import parse_type_text, type_of
from vetro.model.tree import objects
from vetro.muranopl.errors import MuranoError, PackageForClassNotFound, PackageNotFound
from vetro.muranopl.package_resolver import CORE_LIBRARY, PackageResolver
from vetro.server.caller import Caller
from vetro.server.catalog.models import Package
from vetro.server.catalog.resolver import Row, Rows, scope_of
from vetro.server.catalog.storage import from_blob
from vetro.server.errors import Invalid
from vetro.yaql.errors import VetroError

#: Package name -> (version, digest of its archive) of the deployment before.
Pinned = Mapping[str, tuple[str, str]]


def packages_for(
    caller: Caller,
    names: Iterable[tuple[str, str | None]],
    pinned: Pinned | None = None,
    *,
    project_id: str | None = None,
) -> list[Package]:
    """The packages of these classes or packages, and all that they require.

    ``names``: (class or package, version spec; None: the version in use, else the latest release). ``pinned`` versions
    win wherever a spec allows them, even when they were deleted from the catalog since. ``project_id``: whose
    packages count (default: the caller's). The parts of the installation (io.murano…) are left out unless an
    administrator replaced them. Raises `Invalid`, with the versions there are.
    """
    chosen = _Choice(project_id or caller.project_id, pinned or {})
    wanted = list(names)
    chosen.rows.prepare([n for n, _ in wanted] + [CORE_LIBRARY], [n for n, _ in wanted])
    for name, spec in wanted:
        chosen.add_named(name, spec)
    return chosen.closure()


def packages_for_model(
    caller: Caller, model: Any, pinned: Pinned | None = None, *, project_id: str | None = None
) -> list[Package]:
    """The packages of all objects of a model, by their headers ``?/type``, ``?/classVersion`` and ``?/package``.

    Otherwise like `packages_for`.
    """
    chosen = _Choice(project_id or caller.project_id, pinned or {})
    headers = list(dict.fromkeys(_headers(model)))
    chosen.rows.prepare([CORE_LIBRARY, *(p for _, _, p in headers if p)], [c for c, _, _ in headers])
    for class_name, version, package in headers:
        chosen.add_header(class_name, version, package)
    return chosen.closure()


class _Choice:
    def __init__(self, project_id: str, pinned: Pinned) -> None:
        self.rows = Rows(project_id, _gone(project_id, pinned))
        self._resolver = PackageResolver(self.rows, {name: [version] for name, (version, _) in pinned.items()})
        self._found: dict[str, Row] = {}
        self._level: list[Row] = []

    def add_named(self, name: str, spec: str | None) -> None:
        """A class, or a package, from outside."""
        try:
            if self.rows.packages_with_class(name):
                self._add(self._resolver.for_header(name, spec))
            elif spec is None and self.rows.packages(name):
                self._add(self._resolver.find_package(name, "*"))
            elif self.rows.packages(name):
                self._add(self._resolver.find_package(name, spec))
            else:
                self._resolver.for_header(name, spec)  # says what was left out, and why
        except MuranoError as error:
            raise _refused(error) from None

    def add_header(self, class_name: str, version: str | None, package: str | None) -> None:
        """The class of an object."""
        try:
            self._add(self._resolver.for_header(class_name, version, package))
        except MuranoError as error:
            raise _refused(error) from None

    def _add(self, found: Any) -> None:
        row: Row = found
        if row.package.id not in self._found:
            self._found[row.package.id] = row
            self._level.append(row)

    def closure(self) -> list[Package]:
        """All that was added, with what it requires; what requires stands before what is required."""
        while self._level:
            level, self._level = self._level, []
            names = [n for row in level for n in row.effective_requirements]
            self.rows.prepare(names, [c for row in level for c in row.package.references])
            for row in level:
                self._require(row)
        return [row.package for row in self._found.values() if not row.package.embedded]

    def _require(self, row: Row) -> None:
        for name, spec in row.effective_requirements.items():
            if name == row.name and name not in row.requirements:
                continue
            try:
                self._add(self._resolver.find_package(name, spec))
            except PackageNotFound as error:
                if not _is_plugin(name):
                    text = Text(
                        "package '{name}' {version} cannot be used: {message}",
                        name=row.name,
                        version=row.package.version,
                        message=error.message,
                    )
                    raise Invalid(text, hint=error.hint) from None
        for name in row.package.references:
            try:
                self._add(self._resolver.find_package_for_class(name, "*"))
            except PackageForClassNotFound:
                continue


def _is_plugin(name: str) -> bool:
    """Whether an installed extension plug-in has this name (PACKAGES 6): task processes load those themselves."""
    from importlib.metadata import entry_points

    from vetro.packages.extensions.plugins import canonical

    points = entry_points(group="io.murano.extensions")
    return canonical(name) in {canonical(p.dist.name) for p in points if p.dist is not None}


def _refused(error: VetroError) -> Invalid:
    return Invalid(error.message, hint=error.hint)


def _gone(project_id: str, pinned: Pinned) -> list[Package]:
    """The pinned versions that are not in the catalog any more, or lie in it with other content: as they were used."""
    if not pinned:
        return []
    there = {
        (fqn, version): digest
        for fqn, version, digest in Package.objects.filter(scope_of(project_id), fqn__in=list(pinned)).values_list(
            "fqn", "version", "digest"
        )
    }
    found = []
    for fqn, (version, digest) in pinned.items():
        if there.get((fqn, version)) != digest:
            found.append(from_blob(project_id, fqn, version, digest))
    return [package for package in found if package is not None]


def _headers(model: Any) -> Iterator[tuple[str, str | None, str | None]]:
    """(class, version, package) of every object in a model."""
    return (parse_type_text(written) for written in map(type_of, objects(model)) if written)
