"""`TypeRegistry`: finds, reads and links the classes of one session."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from vetro.diagnostics import Text
from vetro.muranopl.declarations.cache import DeclarationCache
from vetro.muranopl.declarations.tree import ClassDecl, ClassUsage, SourceFile
from vetro.muranopl.declarations.versions import parse_spec, version_key
from vetro.muranopl.errors import ClassNotFound, InvalidInheritance, MuranoError, PackageForClassNotFound
from vetro.muranopl.types import meta
from vetro.muranopl.types.murano_type import MuranoType

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import Runtime

ROOT = "io.murano.Object"
log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())  # silent unless the program that embeds us listens

#: Where classes of plug-ins were said to be before they had names of their own.
_EXTENSIONS = "io.murano.extensions."
#: Second names of core classes (CORE_LIBRARY.md, 5).
ALIASES = {"io.murano.metadata.Position": "io.murano.metadata.forms.Position"}


@lru_cache(maxsize=4096)
def _known(text: str, file: str, format_version: tuple[int, int], digest: str) -> dict[str | None, SourceFile]:
    """What was read of a file, by the name for classes without one; None: it has none such."""
    return {}


def read_source(
    text: str, file: str, format_version: tuple[int, int], default_name: str | None, digest: str
) -> SourceFile:
    """A file's declarations; memoised by content, because sessions of one process share packages.

    A file with hundreds of classes is looked into for each of them: it is read once.
    """
    known = _known(text, file, format_version, digest)
    found = known.get(None) or known.get(default_name)
    if found is None:
        found = _read(text, file, format_version, default_name, digest)
        known[default_name if found.nameless else None] = found
    return found


def _read(text: str, file: str, format_version: tuple[int, int], default_name: str | None, digest: str) -> SourceFile:
    # The reader brings PyYAML along: 40 ms that a session with a warm cache does not have to spend.
    from vetro.muranopl.reader.files import read_file

    return read_file(text, file, format_version=format_version, default_name=default_name, digest=digest)


def misnamed(package: Any, source: SourceFile, name: str) -> ClassDecl | None:
    """The only class of a file that the manifest knows by the name ``name`` and the file by another one.

    Old packages have it, and were used: the manifest decides (USAGE 10). None where it cannot be meant, and from format
    1.4 on.
    """
    if tuple(package.format)[:2] >= (1, 4) or len(source.classes) != 1:
        return None
    (decl,) = source.classes.values()
    return None if decl.name in package.classes else replace(decl, name=name)


class TypeRegistry:
    """Linked classes by name, package and version; a class is linked when first needed (SEMANTICS 4.3)."""

    def __init__(self, session: Runtime) -> None:
        self.session = session
        self._types: dict[tuple[Any, ...], MuranoType] = {}
        self._linking: list[tuple[Any, ...]] = []
        self._declared = None if session.code_cache is None else DeclarationCache(session.code_cache)
        self._broken: dict[tuple[Any, ...], MuranoError] = {}
        #: Those whose static properties have values.
        self._valued: list[MuranoType] = []
        #: The package that all linked classes are of, where nothing was linked since `keep`.
        self._kept: str | None = None

    def __iter__(self) -> Any:
        return iter(list(self._types.values()))

    def restart(self) -> None:
        """Forgets the values of static properties: the classes are for another run."""
        for linked in self._valued:
            linked.restart()
        self._valued = []

    def has_values(self, linked: MuranoType) -> None:
        """The static properties of a class begin to have values."""
        self._valued.append(linked)

    def keep(self, package: str) -> None:
        """Forgets the classes of all other packages, which are to be read with the session's present cache.

        The second time it looks at no class: a task process would have to copy the memory of each.
        """
        if self._kept != package:
            self._types = {key: linked for key, linked in self._types.items() if key[1] == package and not key[3]}
            self._kept = package
        self._broken.clear()
        self._declared = None if self.session.code_cache is None else DeclarationCache(self.session.code_cache)
        self.restart()

    # -- finding -------------------------------------------------------------------------------------------------------

    def find_from(self, package: Any, name: str, version_spec: str | None = None) -> MuranoType:
        """The class as code of ``package`` sees it (SEMANTICS 3.5)."""
        name = ALIASES.get(name, name)
        try:
            return self.in_package(self.session.resolver.find_class_from(package, name, version_spec), name)
        except (ClassNotFound, PackageForClassNotFound):
            plain = _without_extensions(name)
            if plain is None:
                raise
            try:
                found = self.in_package(self.session.resolver.find_class_from(package, plain, version_spec), plain)
            except (ClassNotFound, PackageForClassNotFound):
                found = None
            if found is None:
                raise  # by the name that was written
        log.warning("%s is the old name of class %s: write the new one in package %s", name, plain, package.name)
        return found

    def find(self, name: str, version_spec: str | None = None, package: str | None = None) -> MuranoType:
        """The class for look-ups from outside; an absent spec means 0 (SEMANTICS 3.4)."""
        name = ALIASES.get(name, name)
        resolver = self.session.resolver
        if package is not None:
            found = resolver.find_package(package, version_spec)
            if name not in found.classes:
                raise ClassNotFound(name, [package])
        else:
            found = resolver.find_package_for_class(name, version_spec)
        return self.in_package(found, name)

    def for_header(self, name: str, version: str | None = None, package: str | None = None) -> MuranoType:
        """The class of an object header."""
        return self.in_package(self.session.resolver.for_header(name, version, package), name)

    def core(self, name: str) -> MuranoType:
        """A class of the core library."""
        return self.in_package(self.session.resolver.find_package("io.murano", "*"), name)

    def in_package(self, package: Any, name: str) -> MuranoType:
        """The class ``name`` of exactly this package."""
        return self._get(package, name, {})

    # -- linking -------------------------------------------------------------------------------------------------------

    def declaration(self, package: Any, name: str) -> ClassDecl:
        """What the package's file declares for the class. Raises `ClassNotFound` when the file lacks it."""
        source = self._source(package, name)
        file_id = source.file
        decl = source.classes.get(name) or misnamed(package, source, name)
        if decl is None:
            raise ClassNotFound(
                name, [package.name], hint=Text("the manifest says that {file_id} defines it", file_id=file_id)
            )
        return decl

    def _source(self, package: Any, name: str) -> SourceFile:
        """The declarations of the file with class ``name``: from the cache where it has them."""
        text, file_id, digest = package.read_class(name)
        version = tuple(package.format)[:2]
        read = partial(read_source, text, file_id, version, name, digest)
        if self._declared is None or not digest:
            return read()
        return self._declared.source(package, name, file_id, digest, read)

    def store_declarations(self) -> None:
        """Puts the declarations that were read into the code cache, where it takes them."""
        if self._declared is not None:
            self._declared.store()

    def _get(self, package: Any, name: str, overrides: Mapping[str, Any]) -> MuranoType:
        instead = tuple(sorted((n, str(p.version)) for n, p in overrides.items())) if overrides else ()
        key = (name, package.name, str(package.version), instead)
        found = self._types.get(key)
        if found is None:
            if key in self._broken:
                raise _without_traceback(self._broken[key])
            if key in self._linking:
                raise ClassNotFound(name, [package.name], hint=Text("the class extends itself"))
            self._linking.append(key)
            try:
                found = self._link(package, name, overrides)
            except MuranoError as error:
                self._broken[key] = _without_traceback(error)
                raise
            finally:
                self._linking.pop()
            self._types[key] = found
            self._kept = None
            try:
                for imported in found.decl.imports:
                    found.resolve_class(imported)
                meta.check_class(found)
            except MuranoError as error:
                del self._types[key]
                self._broken[key] = _without_traceback(error)
                raise
        return found

    def _link(self, package: Any, name: str, overrides: Mapping[str, Any]) -> MuranoType:
        decl = self.declaration(package, name)
        parents = self._parents(package, decl, overrides)
        better = self._unify(package, parents, overrides)
        if better is not None:
            parents = self._parents(package, decl, better)
        native = self.session.natives.get(name) if self.session.natives is not None else None
        return MuranoType(decl, package, self.session, parents, native)

    def _parents(self, package: Any, decl: ClassDecl, overrides: Mapping[str, Any]) -> tuple[MuranoType, ...]:
        names = [decl.namespaces.resolve(n) for n in decl.extends]
        if not names:
            if decl.name == ROOT:
                return ()
            names = [ROOT]
        parents: list[MuranoType] = []
        for name in names:
            if name == decl.name and package.name not in package.requirements:
                raise ClassNotFound(
                    name, [package.name], position=decl.position, hint=Text("a class cannot extend itself")
                )
            home = self.session.resolver.find_class_from(package, name)
            home = overrides.get(home.name, home)
            if name not in home.classes:
                raise ClassNotFound(name, [home.name], position=decl.position)
            parent = self._get(home, name, overrides)
            if parent.is_meta and decl.usage is not ClassUsage.META:
                raise InvalidInheritance(
                    Text("class {name} cannot extend the meta-class {name2}", name=decl.name, name2=parent.name),
                    position=decl.position,
                    hint=Text("declare it with 'Usage: Meta', or extend an ordinary class"),
                )
            if parent not in parents:
                parents.append(parent)
        return tuple(parents)

    def _unify(
        self, package: Any, parents: tuple[MuranoType, ...], overrides: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """One version for packages that the hierarchy has in several (SEMANTICS 3.7); None: nothing to change."""
        if _one_version_each(parents):
            return None
        homes: dict[str, dict[str, Any]] = {}
        users: dict[tuple[str, str], Any] = {(package.name, str(package.version)): package}
        for parent in parents:
            for ancestor in parent.ancestors:
                home = ancestor.package
                homes.setdefault(home.name, {})[str(home.version)] = home
                users[home.name, str(home.version)] = home
        made = dict(overrides)
        changed = False
        for name, versions in homes.items():
            if len(versions) < 2 or name in made:
                continue
            stated = [parse_spec(u.requirements[name] or "0") for u in users.values() if name in u.requirements]
            candidates = sorted(
                self.session.resolver.versions_of(name), key=lambda p: version_key(p.version), reverse=True
            )
            chosen = next((p for p in candidates if all(s.match(p.version) for s in stated)), None)
            if chosen is not None:
                made[name] = self.session.resolver.use(chosen)
                changed = True
        return made if changed else None


def _without_extensions(name: str) -> str | None:
    """The name of a class whose old name puts it below `io.murano.extensions`; None for other names."""
    plain = name.removeprefix(_EXTENSIONS)
    return plain if plain != name else None


def _one_version_each(parents: tuple[MuranoType, ...]) -> bool:
    """True when no package is there in two versions, as nearly always."""
    homes: dict[str, Any] = {}
    for parent in parents:
        for ancestor in parent.ancestors:
            home = ancestor.package
            known = homes.setdefault(home.name, home)
            if known is not home and known.version != home.version:
                return False
    return True


def _without_traceback(error: MuranoError) -> MuranoError:
    """A copy that can be kept: a raised exception holds the frames it came through, and all their objects."""
    made = error.__class__.__new__(error.__class__)
    made.args = error.args
    made.__dict__.update(error.__dict__)
    return made
