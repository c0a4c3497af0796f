"""What the language needs to know of a package and of a source of packages.

`vetro.packages` implements these protocols; the language knows packages by them only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from vetro.data_classes import dataclass
from vetro.muranopl.declarations.versions import Version, parse_spec
from vetro.muranopl.errors import MuranoError

CORE_LIBRARY = "io.murano"


class ResourceNotFound(MuranoError):
    """The package has no such resource."""

    kind = "key-error"
    code = "MPL304"
    aliases = ("KeyError",)


class ClassText(NamedTuple):
    """A class file, as a package hands it out."""

    text: str
    #: Names the file in messages, code objects and profiles; equal for classes of one file.
    file_id: str
    #: Hex SHA-256 of the file.
    digest: str


@runtime_checkable
class Package(Protocol):
    """One version of a package."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> Version: ...

    @property
    def format(self) -> tuple[int, int]:
        """The language version (1.0 to 1.4) that its code is written for."""
        ...

    @property
    def format_text(self) -> str:
        """Format name and version as the manifest means them, for example ``MuranoPL/1.4.0``."""
        ...

    @property
    def type(self) -> Literal["Library", "Application"]: ...

    @property
    def requirements(self) -> Mapping[str, str]:
        """`Require` as written; null specs are ''. Without the implicit ones."""
        ...

    @property
    def effective_requirements(self) -> Mapping[str, str]:
        """With the implicit ones, in look-up order (`with_implicit_requirements`)."""
        ...

    @property
    def classes(self) -> Mapping[str, str]:
        """Class name -> file id. Classes of one file have the same."""
        ...

    @property
    def meta(self) -> Any:
        """The manifest's `Meta` as plain data, or None."""
        ...

    @property
    def display_name(self) -> str: ...

    @property
    def description(self) -> str | None: ...

    @property
    def author(self) -> str | None: ...

    @property
    def tags(self) -> Sequence[str]: ...

    def read_class(self, name: str) -> ClassText:
        """Text, file id and digest of the file with the class. Raises `ClassNotFound`, `SourceError`."""
        ...

    def resource(self, path: str) -> bytes:
        """A file below ``Resources``. Raises `ResourceNotFound`, also for paths that lead out of it."""
        ...

    def resource_text(self, path: str) -> str:
        """A text resource with line ends ``\\n``. Raises `ResourceNotFound`; `SourceError` when it is no UTF-8."""
        ...


@dataclass(frozen=True, slots=True)
class Skipped:
    """A package that a source contains but cannot offer, and why. Name and classes as far as they could be read."""

    location: str
    message: str
    name: str | None = None
    version: str | None = None
    classes: frozenset[str] = frozenset()


class PackageSource(Protocol):
    """Where packages come from. Answers hold each (name, version) once, in any order."""

    def packages(self, name: str) -> Sequence[Package]:
        """All versions of a package."""
        ...

    def packages_with_class(self, class_name: str) -> Sequence[Package]:
        """All versions of all packages that define the class."""
        ...

    def skipped(self) -> Sequence[Skipped]:
        """What it had to leave out."""
        ...


def with_implicit_requirements(name: str, version: Version, requirements: Mapping[str, str]) -> dict[str, str]:
    """Requirements in look-up order (SEMANTICS 3.2, 3.5): itself, io.murano, then as declared.

    What the manifest states about the two wins over the implicit ``own major`` and ``0``.
    """
    effective = {name: requirements.get(name) or str(version.major)}
    if name != CORE_LIBRARY:
        effective[CORE_LIBRARY] = requirements.get(CORE_LIBRARY) or "0"
    for required, spec in requirements.items():
        effective.setdefault(required, spec or "0")
    return effective


def allows(package: Package, name: str, version: Version) -> bool:
    """Whether code of ``package`` may use that version of package ``name`` (SEMANTICS 3.9).

    False for packages that it does not require. Its own version is always allowed, whatever its number.
    """
    if name == package.name and version == package.version:
        return True
    spec = package.effective_requirements.get(name)
    return spec is not None and parse_spec(spec).match(version)
