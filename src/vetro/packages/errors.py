"""What can be wrong with packages themselves, before any of their code is read."""

from __future__ import annotations

from collections.abc import Iterable

from vetro.diagnostics import Diagnostic, Text
from vetro.muranopl.errors import MuranoError


class PackageError(MuranoError):
    """The package cannot be used."""

    kind = "package-not-found"
    code = "PKG100"


class ManifestError(PackageError):
    """The manifest is malformed. ``problems`` holds every finding, warnings included."""

    code = "PKG110"

    def __init__(self, problems: Iterable[Diagnostic]) -> None:
        self.problems = tuple(problems)
        errors = [p for p in self.problems if p.severity == "error"]
        first = errors[0]
        text = Text("{position}: {message}", position=first.place, message=first.message)
        if len(errors) > 1:
            text = Text("{text} (and {more} more)", text=text, more=len(errors) - 1)
        super().__init__(text, position=first.place, hint=first.hint)


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


class LockError(PackageError):
    """The document is no lock of an environment."""

    kind = "bad-argument"
    code = "PKG180"
