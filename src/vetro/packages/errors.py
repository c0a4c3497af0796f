"""What can be wrong with packages themselves, before any of their code is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.errors import MuranoError


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding in a package file, as `vetro check` lists it."""

    message: str
    position: Position
    hint: str | None = None
    severity: Literal["error", "warning"] = "error"
    code: str = "PKG110"
    #: The manifest key it is about, dotted for nested ones.
    key: str | None = None

    def __str__(self) -> str:
        text = f"{self.position}: {self.message}"
        return f"{text} ({self.hint})" if self.hint else text


class PackageError(MuranoError):
    """The package cannot be used."""

    kind = "package-not-found"
    code = "PKG100"


class ManifestError(PackageError):
    """The manifest is malformed. ``problems`` holds every finding, warnings included."""

    code = "PKG110"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        errors = [p for p in self.problems if p.severity == "error"]
        first = errors[0]
        text = Text("{position}: {message}", position=first.position, message=first.message)
        if len(errors) > 1:
            text = Text("{text} (and {more} more)", text=text, more=len(errors) - 1)
        super().__init__(text, position=first.position, hint=first.hint)


class UnknownFormat(PackageError):
    """No installed format plug-in reads the package."""

    code = "PKG120"


class ArchiveError(PackageError):
    """The archive is damaged, or holds what an archive of a package may not hold."""

    code = "PKG130"


class PluginError(PackageError):
    """A format plug-in failed or breaks its interface; only the package is refused."""

    code = "PKG140"


class BuildError(PackageError):
    """The package cannot be built from these files."""

    code = "PKG150"
