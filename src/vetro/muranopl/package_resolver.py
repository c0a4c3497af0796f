"""Which version of a package a session uses.

`PackageResolver` is the memory of one session: what was chosen once is chosen again (SEMANTICS 3.6). What it chooses
from is described in `package_protocols`, whose names are here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

from vetro.diagnostics import Text
from vetro.muranopl.declarations.versions import (
    ANY,
    Key,
    Version,
    VersionSpec,
    latest,
    parse_spec,
    parse_version,
    substitute,
    version_key,
)
from vetro.muranopl.errors import ClassNotFound, DeclarationError, PackageForClassNotFound, PackageNotFound
from vetro.muranopl.package_protocols import (
    CORE_LIBRARY,
    ClassText,
    Package,
    PackageSource,
    ResourceNotFound,
    Skipped,
    allows,
    with_implicit_requirements,
)

__all__ = [
    "CORE_LIBRARY",
    "ClassText",
    "Package",
    "PackageResolver",
    "PackageSource",
    "ResourceNotFound",
    "Skipped",
    "SpecLike",
    "allows",
    "with_implicit_requirements",
]

SpecLike = VersionSpec | str | int | float | None


FIXATIONS = Text("it maps names of packages to lists of the versions that earlier deployments used")


class _Versions:
    """All versions of one package, highest first, with their keys."""

    __slots__ = ("by_key", "packages")

    def __init__(self, packages: Iterable[Package]) -> None:
        keyed = [(version_key(p.version), p.version.build, p) for p in packages]
        self.by_key: list[tuple[Key, tuple[str, ...], Package]] = sorted(keyed, key=itemgetter(0, 1), reverse=True)
        self.packages = [package for _, _, package in self.by_key]

    def best(self, spec: VersionSpec, preferred: Iterable[Version] = ()) -> Package | None:
        """The highest preferred one that is allowed, else the highest allowed one."""
        if preferred:
            wanted = preferred if isinstance(preferred, set) else set(preferred)
            for key, build, package in self.by_key:
                # In this order: hashing a version costs more than matching it.
                if spec.match_key(key, build) and package.version in wanted:
                    return package
        for key, build, package in self.by_key:
            if spec.match_key(key, build):
                return package
        return None

    def __str__(self) -> str:
        return ", ".join(str(p.version) for p in self.packages)


class PackageResolver:
    """Chooses package versions for one session.

    ``fixations`` are the versions that earlier deployments used (``SystemData.Packages``, SEMANTICS 11.1): they are
    preferred to newer ones wherever a spec allows them. Every choice made here is preferred from then on, too.
    """

    def __init__(self, source: PackageSource, fixations: Mapping[str, Iterable[Any]] | None = None) -> None:
        self.source = source
        self._fixed: dict[str, set[Version]] = {}
        self._used: dict[str, set[Version]] = {}
        self._versions: dict[str, _Versions] = {}
        self._with_class: dict[str, dict[str, _Versions]] = {}
        #: The same for all classes that the same packages have, by the `id` of these, and what was chosen of it.
        self._of_packages: dict[tuple[int, ...], dict[str, _Versions]] = {}
        self._for_class: dict[tuple[int, str], Package] = {}
        self._found: dict[str, dict[VersionSpec, Package]] = {}
        self._from: dict[tuple[str, Version, str], Package] = {}
        self._bound: dict[str, Mapping[str, str]] = {}
        if fixations:
            self.load_fixations(fixations)

    # -- fixations ----------------------------------------------------------------------------------------------

    def load_fixations(self, table: Mapping[str, Iterable[Any]] | None) -> None:
        """Adds the versions of a stored table. Raises `DeclarationError` for what is no table or no version."""
        if table is not None and not isinstance(table, Mapping):
            raise DeclarationError(Text("SystemData.Packages of a model must be a mapping"), hint=FIXATIONS)
        for name, versions in (table or {}).items():
            listed = [versions] if isinstance(versions, str | int | float | Version) else versions
            if listed is not None and not isinstance(listed, list | tuple | set | frozenset):
                raise DeclarationError(
                    Text("SystemData.Packages.{name} of a model must be a list", name=name), hint=FIXATIONS
                )
            self._fixed.setdefault(name, set()).update(parse_version(v) for v in listed or ())
        self._found.clear()
        self._for_class.clear()

    def bind(self, requirements: Mapping[str, Mapping[str, str]]) -> None:
        """Has packages get what a lock says instead of a choice: NAME/VERSION -> the package (or, for one that states
        no requirements, the class) that its code asks for -> NAME/VERSION. What is not there is chosen as ever."""
        self._bound.update(requirements)
        self._from.clear()

    def find_required(self, package: Package, name: str, spec: SpecLike) -> Package:
        """What a package gets for its requirement ``name``: by `bind`, else the best. Raises `PackageNotFound`."""
        found = self._bound_to(package, name, parse_spec(spec))
        return self.use(self._pick(name, parse_spec(spec)) if found is None else found)

    def find_referenced(self, package: Package, class_name: str, spec: SpecLike) -> Package:
        """Where a package that states no requirements gets a class: by `bind`, else as `find_package_for_class` says.

        Raises `PackageForClassNotFound`."""
        found = self._bound_to(package, class_name, None)
        if found is None or class_name not in found.classes:
            return self.find_package_for_class(class_name, spec)
        return self.use(found)

    def _bound_to(self, package: Package, name: str, spec: VersionSpec | None) -> Package | None:
        """The version that a lock gives; None where it says nothing, or something that the requirement excludes."""
        chosen = self._bound.get(f"{package.name}/{package.version}", {}).get(name) if self._bound else None
        if chosen is None:
            return None
        wanted, _, version = chosen.rpartition("/")
        for found in self._all(wanted).packages:
            if str(found.version) == version and (spec is None or spec.match(found.version)):
                return found
        return None

    def used(self) -> dict[str, list[str]]:
        """The table to store: the versions that were chosen in this session, sorted, lowest first."""
        return {
            name: [str(v) for v in sorted(versions, key=lambda v: (version_key(v), v.build))]
            for name, versions in sorted(self._used.items())
        }

    def use(self, package: Package) -> Package:
        """Counts a version that the caller chose as used and gives it back; later choices prefer it."""
        used = self._used.setdefault(package.name, set())
        if package.version not in used:
            used.add(package.version)
            self._fixed.setdefault(package.name, set()).add(package.version)
            # A choice can change what other specs of the same package select.
            self._found.pop(package.name, None)
            self._for_class.clear()
        return package

    # -- look-up ------------------------------------------------------------------------------------------------

    def versions_of(self, name: str) -> list[Package]:
        """All versions of a package, highest first."""
        return list(self._all(name).packages)

    def _all(self, name: str) -> _Versions:
        versions = self._versions.get(name)
        if versions is None:
            versions = self._versions[name] = _Versions(self.source.packages(name))
        return versions

    def _all_with_class(self, class_name: str) -> dict[str, _Versions]:
        """Per package name the versions that have the class."""
        found = self._with_class.get(class_name)
        if found is None:
            packages = self.source.packages_with_class(class_name)
            key = tuple(map(id, packages))
            found = self._of_packages.get(key)
            if found is None:
                by_name: dict[str, list[Package]] = {}
                for package in packages:
                    by_name.setdefault(package.name, []).append(package)
                found = {name: _Versions(own) for name, own in sorted(by_name.items())}
                self._of_packages[key] = found
            self._with_class[class_name] = found
        return found

    def find_package(self, name: str, spec: SpecLike = None) -> Package:
        """The version of a package for a spec: one in use if allowed, else the highest allowed (SEMANTICS 3.3-3.6).

        An absent spec is ``0`` (3.4). Raises `PackageNotFound`, naming the versions there are and what was skipped.
        """
        return self.use(self._pick(name, parse_spec(spec)))

    def _pick(self, name: str, spec: VersionSpec) -> Package:
        """What `find_package` chooses, without counting it as used."""
        known = self._found.setdefault(name, {})
        found = known.get(spec)
        if found is None:
            found = self._all(name).best(spec, self._fixed.get(name, ()))
            if found is None:
                raise self._no_package(name, spec)
            known[spec] = found
        return found

    def find_package_for_class(self, class_name: str, spec: SpecLike = None) -> Package:
        """The package that has a class, for look-ups that start from no package (schemas, static actions).

        Where several packages define the class, one in use wins, then the higher version, then the name. Raises
        `PackageForClassNotFound`.
        """
        spec = parse_spec(spec)
        candidates = self._all_with_class(class_name)
        key = (id(candidates), spec.text)
        best = self._for_class.get(key)
        if best is None:
            best = self._best_of(candidates, lambda name, versions: versions.best(spec, self._fixed.get(name, ())))
            if best is None:
                raise self._no_class(class_name, Text("in version {spec}", spec=spec), candidates)
            self.use(best)
            self._for_class[key] = best
        return best

    def _best_of(self, candidates: Mapping[str, _Versions], pick: Any) -> Package | None:
        picked: list[Package] = [p for p in (pick(n, v) for n, v in candidates.items()) if p is not None]
        if len(picked) < 2:
            return picked[0] if picked else None
        return max(
            picked,  # by name, and of equals the first is taken
            key=lambda p: (p.version in self._used.get(p.name, ()), version_key(p.version), p.version.build),
        )

    def find_class_from(self, package: Package, class_name: str, spec: SpecLike = None) -> Package:
        """The package that gives ``class_name`` to code of ``package`` (SEMANTICS 3.5).

        The package itself, then its requirements in order. With ``spec`` the stated requirements give way to it
        (3.9, third argument of `class()`): the visible packages are asked first, then all. Raises `PackageNotFound`
        when a requirement that is reached cannot be satisfied, and `ClassNotFound` when none has the class.
        """
        if spec is not None:
            return self._find_with_spec(package, class_name, parse_spec(spec))
        key = (package.name, package.version, class_name)
        found = self._from.get(key)
        if found is not None:
            return found
        if class_name in package.classes:
            found = self.use(package)
        else:
            for name, text in package.effective_requirements.items():
                if name == package.name and name not in package.requirements:
                    continue  # the implicit one is satisfied by the package itself
                wanted = parse_spec(text)
                found = self._bound_to(package, name, wanted) or self._pick(name, wanted)
                if class_name in found.classes:
                    break
            else:
                found = self._undeclared(package, class_name)
            self.use(found)
        self._from[key] = found
        return found

    def _undeclared(self, package: Package, class_name: str) -> Package:
        """Where a package from before requirements existed finds its class: in whatever package has it.

        Formats before 1.3 were written without ``Require`` and saw every class of the catalog (USAGE 9, incubator).
        Raises `ClassNotFound`.
        """
        if tuple(package.format)[:2] < (1, 3) and not package.requirements and class_name.partition(".")[2]:
            try:
                return self.find_referenced(package, class_name, None)
            except PackageForClassNotFound:
                pass
        raise self._not_visible(package, class_name)

    def _find_with_spec(self, package: Package, class_name: str, spec: VersionSpec) -> Package:
        candidates = self._all_with_class(class_name)
        for name in package.effective_requirements:
            if name in candidates:
                best = candidates[name].best(spec, self._fixed.get(name, ()))
                if best is not None:
                    return self.use(best)
        return self.find_package_for_class(class_name, spec)

    def for_header(
        self, class_name: str, version_text: str | int | float | None = None, package_name: str | None = None
    ) -> Package:
        """The package for the class of an object header (SEMANTICS 3.4, 11.1).

        Without a version: one in use, else the latest release. An exact version that is gone is replaced by the
        latest with the same minor, then major; other specs get no replacement. Raises `PackageForClassNotFound`
        (`PackageNotFound` when ``package_name`` is given and unknown) and `DeclarationError` for a malformed spec.
        """
        absent = version_text is None or not str(version_text).strip()
        spec = ANY if absent else parse_spec(version_text)
        candidates = self._all_with_class(class_name)
        if package_name is not None:
            if not self._all(package_name).packages:
                raise self._no_package(package_name, spec)
            candidates = {n: v for n, v in candidates.items() if n == package_name}
            if not candidates:
                raise PackageForClassNotFound(
                    Text(
                        "package '{package_name}' has no class '{class_name}' (versions: {all})",
                        package_name=package_name,
                        class_name=class_name,
                        all=self._all(package_name),
                    ),
                    hint=Text("the header's type and package do not fit together"),
                )

        def pick(name: str, versions: _Versions) -> Package | None:
            fixed = self._fixed.get(name, ())
            chosen = versions.best(spec, fixed)
            if absent:
                in_use = [p for p in versions.packages if p.version in fixed]
                wanted = latest(p.version for p in in_use or versions.packages)
            elif chosen is None and spec.exact is not None:
                wanted = substitute(spec.exact, [p.version for p in versions.packages])
            else:
                return chosen
            return next((p for p in versions.packages if p.version == wanted), None)

        best = self._best_of(candidates, pick)
        if best is None:
            wanted = Text("in any version") if absent else Text("in version {spec}", spec=spec)
            raise self._no_class(class_name, wanted, candidates)
        return self.use(best)

    # -- errors -------------------------------------------------------------------------------------------------

    def _notes(self, name: str | None, class_name: str | None) -> str:
        notes = ""
        for s in self.source.skipped():
            if (name is not None and s.name == name) or (class_name is not None and class_name in s.classes):
                note = Text("; {location} is left out: {message}", location=s.location, message=s.message)
                notes = Text("{notes}{note}", notes=notes, note=note) if notes else note
        return notes

    def _no_package(self, name: str, spec: VersionSpec) -> PackageNotFound:
        versions = self._all(name)
        notes = self._notes(name, None)
        if not versions.packages:
            return PackageNotFound(Text("package '{name}' is not found{notes}", name=name, notes=notes))
        hint = None
        if spec.text == "0":
            hint = Text(
                "an absent or empty version spec means 0.x.y; to accept any version write {name}: '*'", name=name
            )
        return PackageNotFound(
            Text(
                "package '{name}' is not found in version {spec}; there is {versions}{notes}",
                name=name,
                spec=spec,
                versions=versions,
                notes=notes,
            ),
            hint=hint,
        )

    def _no_class(self, class_name: str, wanted: str, candidates: Mapping[str, _Versions]) -> PackageForClassNotFound:
        notes = self._notes(None, class_name)
        text = Text("no package has class '{class_name}'", class_name=class_name)
        if candidates:
            text = Text("{text} {wanted}", text=text, wanted=wanted)
        for name, versions in candidates.items():
            has = Text("package '{name}' has it in {versions}", name=name, versions=versions)
            text = Text("{text}; {has}", text=text, has=has)
        return PackageForClassNotFound(Text("{text}{notes}", text=text, notes=notes) if notes else text)

    def _not_visible(self, package: Package, class_name: str) -> ClassNotFound:
        error = ClassNotFound(class_name, list(package.effective_requirements))
        elsewhere = self._all_with_class(class_name)
        if elsewhere:
            name, versions = next(iter(elsewhere.items()))
            version = versions.packages[0].version
            error.hint = Text(
                "package '{name}' has it: add '{name}: {major}' to Require of '{name2}'",
                name=name,
                major=version.major,
                name2=package.name,
            )
        return error
