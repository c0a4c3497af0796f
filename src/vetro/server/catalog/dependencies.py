"""Which packages a task needs: what its classes belong to and everything these require (SEMANTICS 3).

The engine chooses again among what it is given, by the same rules (`vetro.muranopl.package_resolver`); here it is made
sure that it finds them all, and that versions of earlier deployments are among them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any, cast

from django.db.models import Q

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.model.header import parse_type_text, type_of
from vetro.model.tree import objects
from vetro.muranopl.errors import MuranoError, PackageForClassNotFound, PackageNotFound
from vetro.muranopl.package_resolver import CORE_LIBRARY, PackageResolver
from vetro.packages.lock import ChosenVersion, LockedPackage
from vetro.server.caller import Caller
from vetro.server.catalog import blobs
from vetro.server.catalog.models import Package, PackageClass
from vetro.server.catalog.resolver import PackageRow, Rows, scope_of
from vetro.server.catalog.standard_packages import installed
from vetro.server.catalog.storage import from_blob
from vetro.server.errors import Invalid
from vetro.yaql.errors import VetroError

#: See `cached_choices`.
_known: ContextVar[dict[Any, Chosen] | None] = ContextVar("known choices", default=None)
#: The packages of the deployment before: versions are preferred, and archives are there, whatever the catalog has.
Pinned = Sequence[LockedPackage]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Rows of packages, and why each was chosen."""

    rows: list[Package]
    resolution: list[ChosenVersion]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is to be chosen otherwise than ever."""

    #: Archives that are there besides the pinned ones, without being preferred.
    beside: Pinned = ()
    #: What a lock says that packages get for what they require: `PackageResolver.bind`.
    requirements: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Packages that are chosen anew: neither pinned versions nor those in headers of objects hold them.
    lifted: Collection[str] = ()
    #: Versions that packages are to have, whatever headers say. Where a requirement excludes one, its package gets
    #: another one beside it.
    wanted: Mapping[str, str] = field(default_factory=dict)


def packages_for(
    caller: Caller,
    names: Iterable[tuple[str, str | None]],
    pinned: Pinned = (),
    *,
    project_id: str | None = None,
) -> list[Package]:
    """The packages of these classes or packages, and all that they require.

    ``names``: (class or package, version spec; None: the version in use, else the latest release). ``pinned`` versions
    win wherever a spec allows them, even when they were deleted from the catalog since. ``project_id``: whose
    packages count (default: the caller's). The parts of the installation (io.murano…) are left out unless an
    administrator replaced them. Raises `Invalid`, with the versions there are.
    """
    chosen = _Choice(project_id or caller.project_id, pinned)
    wanted = list(names)
    chosen.rows.prepare([n for n, _ in wanted] + [CORE_LIBRARY], [n for n, _ in wanted])
    for name, spec in wanted:
        chosen.add_named(name, spec)
    return chosen.closure().rows


def packages_for_model(
    caller: Caller, model: Any, pinned: Pinned = (), *, project_id: str | None = None
) -> list[Package]:
    """The packages of all objects of a model, by their headers ``?/type``, ``?/classVersion`` and ``?/package``.

    Otherwise like `packages_for`.
    """
    return choose_for_model(project_id or caller.project_id, model, pinned).rows


def choose_for_model(project_id: str, model: Any, pinned: Pinned = (), wishes: Wishes | None = None) -> Chosen:
    """The same, with the reasons. Raises `Invalid` also where a wanted version is not there."""
    headers = list(dict.fromkeys(_headers(model)))
    known, key = _known.get(), (project_id, repr((headers, pinned, wishes)))
    if known is None:
        return _chosen(project_id, headers, pinned, wishes)
    if key not in known:
        known[key] = _chosen(project_id, headers, pinned, wishes)
    return known[key]


@contextmanager
def cached_choices(known: dict[Any, Chosen]) -> Iterator[None]:
    """During the block what was chosen for one model is chosen for others with the same headers, whatever the catalog
    has got meanwhile: many environments are looked at beside each other. ``known``: what was chosen so far."""
    token = _known.set(known)
    try:
        yield
    finally:
        _known.reset(token)


def _chosen(
    project_id: str, headers: Sequence[tuple[str, str | None, str | None]], pinned: Pinned, wishes: Wishes | None
) -> Chosen:
    chosen = _Choice(project_id, pinned, wishes or Wishes())
    chosen.rows.prepare([CORE_LIBRARY, *(p for _, _, p in headers if p)], [c for c, _, _ in headers])
    for class_name, version, package in headers:
        chosen.add_header(class_name, version, package)
    return chosen.closure()


def library() -> dict[str, str]:
    """The standard packages that tasks have anyway: NAME/VERSION -> SHA-256."""
    return {f"{one.fqn}/{one.version}": one.digest for one in installed()}


def required_archives(caller: Caller, packages: Sequence[Package], besides: Collection[str] = ()) -> list[str]:
    """Paths of the archives of what these packages require, and of what that requires, as far as it is there.

    ``besides``: names of packages that are at hand.
    """
    wanted = [(n, spec or "0") for one in packages for n, spec in one.required.items() if n not in besides]
    wanted += [(n, "*") for n in _known_classes(caller, [n for one in packages for n in one.references])]
    found: dict[str, None] = {}
    for name, spec in dict.fromkeys(wanted):
        try:
            found.update(dict.fromkeys(p.digest for p in packages_for(caller, [(name, spec)])))
        except Invalid:  # missing, and allowed to be; or a plug-in
            continue
    return [str(blobs.local_path(digest)) for digest in found]


def _known_classes(caller: Caller, names: list[str]) -> list[str]:
    """Those of these names that are classes of packages which the project sees."""
    found: set[str] = set()
    for start in range(0, len(names), 400):
        rows = PackageClass.objects.filter(
            Q(package__is_public=True) | Q(package__project_id=caller.project_id), name__in=names[start : start + 400]
        )
        found.update(rows.values_list("name", flat=True))
    return sorted(found)


_NO_WISHES = Wishes()


class _Choice:
    def __init__(self, project_id: str, pinned: Pinned, wishes: Wishes = _NO_WISHES) -> None:
        self.rows = Rows(project_id, _gone(project_id, [*pinned, *wishes.beside]))
        preferred: dict[str, list[str]] = {}
        for package in pinned:
            if package.name not in wishes.lifted and package.name not in wishes.wanted:
                preferred.setdefault(package.name, []).append(package.version)
        preferred |= {name: [version] for name, version in wishes.wanted.items()}
        self._wishes = wishes
        self._resolver = PackageResolver(self.rows, preferred)
        self._resolver.bind(wishes.requirements)
        self._found: dict[str, PackageRow] = {}
        self._level: list[PackageRow] = []
        self._resolution: list[ChosenVersion] = []

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
            version = self._wished(class_name, version, package)
            found = self._resolver.for_header(class_name, version, package)
        except MuranoError as error:
            raise _refused(error) from None
        self._add(found, "", class_name, version or "")

    def _wished(self, class_name: str, version: str | None, package: str | None) -> str | None:
        """The version that the class of an object is to have. Raises `PackageNotFound`."""
        names = [package] if package else list(dict.fromkeys(r.name for r in self.rows.packages_with_class(class_name)))
        for name in names:
            if name in self._wishes.wanted:
                wanted = f"=={self._wishes.wanted[name]}"
                self._resolver.find_package(name, wanted)  # no other one takes its place
                return wanted
        return None if any(name in self._wishes.lifted for name in names) else version

    def _add(self, found: Any, who: str = "", name: str = "", spec: str = "") -> None:
        row: PackageRow = found
        if name:
            self._resolution.append(ChosenVersion(who, name, spec, f"{row.name}/{row.package.version}"))
        if row.package.id not in self._found:
            self._found[row.package.id] = row
            self._level.append(row)

    def closure(self) -> Chosen:
        """All that was added, with what it requires; what requires stands before what is required."""
        while self._level:
            level, self._level = self._level, []
            names = [n for row in level for n in row.effective_requirements]
            self.rows.prepare(names, [c for row in level for c in row.package.references])
            for row in level:
                self._require(row)
        rows = [row.package for row in self._found.values() if not row.package.embedded]
        return Chosen(rows, self._resolution)

    def _require(self, row: PackageRow) -> None:
        for name, spec in row.effective_requirements.items():
            if name == row.name and name not in row.requirements:
                continue
            try:
                found = self._resolver.find_required(cast(Any, row), name, spec)
                self._add(found, f"{row.name}/{row.package.version}", name, str(spec))
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
                found = self._resolver.find_referenced(cast(Any, row), name, "*")
            except PackageForClassNotFound:
                continue
            self._add(found, f"{row.name}/{row.package.version}", name, "*")


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
    names = {package.name for package in pinned}
    rows = Package.objects.filter(scope_of(project_id), fqn__in=names).values_list("fqn", "version", "digest")
    there = {(fqn, version): digest for fqn, version, digest in rows}
    found: dict[tuple[str, str], Package | None] = {}
    for package in pinned:
        key = (package.name, package.version)
        if key not in found and there.get(key) != package.digest:
            found[key] = from_blob(project_id, package.name, package.version, package.digest)
    return [package for package in found.values() if package is not None]


def _headers(model: Any) -> Iterator[tuple[str, str | None, str | None]]:
    """(class, version, package) of every object in a model."""
    return (parse_type_text(written) for written in map(type_of, objects(model)) if written)
