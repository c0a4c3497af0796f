"""A CSAR archive: where its topology begins, and what it may refer to."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

import yaml

from vetro.packages.archive import ArchiveTree
from vetro.packages.errors import PackageError

META = "TOSCA-Metadata/TOSCA.meta"
_YAML = (".yaml", ".yml")


class Csar:
    """The files of an archive. Raises `PackageError` when it is none, or refers to something outside of it."""

    def __init__(self, data: bytes, location: str) -> None:
        self.location = location
        self.tree = ArchiveTree(data, location=location)
        self.paths = self.tree.paths()
        #: Path of the main definitions file.
        self.entry = self._entry()
        for path in self.paths:
            if path.endswith(_YAML):
                self._check_imports(path)

    def read(self, path: str) -> bytes:
        """The bytes of a file of the archive."""
        return self.tree.read(path)

    def text(self, path: str) -> str | None:
        """The text of a file; None when it is no UTF-8."""
        try:
            return self.read(path).decode("utf-8-sig")
        except UnicodeDecodeError:
            return None

    def resolve(self, reference: str, origin: str) -> str | None:
        """The file that ``reference`` means in the file ``origin``; None when the archive has none."""
        for folder in (posixpath.dirname(origin), posixpath.dirname(self.entry), ""):
            path = posixpath.normpath(posixpath.join(folder, reference))
            if path in self.paths:
                return path
        return None

    def _entry(self) -> str:
        if META in self.paths:
            for line in (self.text(META) or "").splitlines():
                key, _, value = line.partition(":")
                if key.strip() == "Entry-Definitions" and value.strip() in self.paths:
                    return value.strip()
            raise PackageError(
                f"{self.location}/{META}: names no file as Entry-Definitions that the archive has",
                hint="write 'Entry-Definitions: Definitions/app.yaml'",
            )
        found = [path for path in self.paths if "/" not in path and path.endswith(_YAML)]
        if len(found) != 1:
            raise PackageError(
                f"{self.location}: it is unclear where the topology begins: {', '.join(found) or 'no definitions'}",
                hint=f"add {META} with Entry-Definitions, or have one YAML file at the root",
            )
        return found[0]

    def _check_imports(self, path: str) -> None:
        """The parser would fetch addresses and read files of this machine."""
        try:
            data = yaml.safe_load(self.text(path) or "")
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            raise PackageError(f"{self.location}/{path}: not valid YAML: {error}") from None
        for reference in _imports(data):
            if self.resolve(reference, path) is None or posixpath.isabs(reference):
                raise PackageError(
                    f"{self.location}/{path}: imports '{reference[:200]}', which is not in the archive",
                    hint="put the file into the archive and import it by its relative path",
                )


def _imports(data: Any) -> Iterator[str]:
    entries = data.get("imports") if isinstance(data, dict) else None
    for entry in entries if isinstance(entries, list) else [entries] if entries else []:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            named = entry.get("file")
            for value in [named] if named is not None else entry.values():
                yield str(value.get("file")) if isinstance(value, dict) else str(value)
            if "repository" in entry or any(isinstance(v, dict) and "repository" in v for v in entry.values()):
                yield f"{entry} from a repository"
