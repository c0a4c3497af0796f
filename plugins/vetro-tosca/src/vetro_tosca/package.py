"""The package format TOSCA.CSAR: a CSAR archive, translated into a Heat template."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from vetro.packages.errors import PackageError
from vetro.packages.files import DirectoryTree, FileTree, MemoryTree
from vetro.packages.hot.package import HotPackage
from vetro.packages.plugin import PackageBase
from vetro_tosca.translate import translate

ARCHIVE = "csar.zip"
#: Folder with the translation, and the file in it that says of which archive it is.
PREPARED, RECORD = "translated", "translated.json"


class CsarPackage(PackageBase):
    """One class, made from the topology in ``csar.zip``. Raises `PackageError` when it cannot be translated."""

    def __init__(
        self, format_name: str, runtime_version: Any, source_directory: str, manifest: Mapping[str, Any]
    ) -> None:
        super().__init__(format_name, runtime_version, source_directory, manifest)
        try:
            with open(os.path.join(source_directory, ARCHIVE), "rb") as file:
                data = file.read()
        except OSError as error:
            raise PackageError(f"{ARCHIVE} cannot be read: {error.strerror}", hint="add the CSAR archive") from None
        digest = hashlib.sha256(data).hexdigest()
        tree, names = _read_prepared(source_directory, digest) or _translated(data)
        self._digest = digest
        self._tree = tree
        self._inner = _Translated(format_name, runtime_version, tree, manifest)
        self._inner.names = names

    def prepare(self, directory: str) -> None:
        """Writes the translation beside the archive: whoever loads that folder needs no translator and no new files."""
        target = Path(directory, PREPARED)
        for path in self._tree.paths():
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(self._tree.read(path))
        record = {"digest": self._digest, "names": dict(self._inner.names)}
        (target / RECORD).write_text(json.dumps(record), encoding="utf-8")

    @property
    def classes(self) -> Sequence[str]:
        return self._inner.classes

    @property
    def requirements(self) -> Mapping[str, Any]:
        return self._inner.requirements

    @property
    def ui(self) -> str:
        return self._inner.ui

    def get_class(self, name: str) -> tuple[str, str]:
        return self._inner.get_class(name)

    def get_resource(self, name: str) -> str:
        return self._inner.get_resource(name)


def _translated(data: bytes) -> tuple[FileTree, Mapping[str, str]]:
    made = translate(data, ARCHIVE)
    files: dict[str, str | bytes] = {"template.yaml": made.template}
    # Names that lead upwards cannot be paths: the files are numbered.
    names = {name: f"csar/{number}" for number, name in enumerate(sorted(made.files))}
    files.update({f"Resources/{path}": made.files[name] for name, path in names.items()})
    return MemoryTree(files, f"{ARCHIVE} as Heat template"), names


def _read_prepared(directory: str, digest: str) -> tuple[FileTree, Mapping[str, str]] | None:
    """What `CsarPackage.prepare` wrote for this very archive; None when it did not."""
    folder = os.path.join(directory, PREPARED)
    try:
        with open(os.path.join(folder, RECORD), encoding="utf-8") as file:
            record = json.load(file)
        if record["digest"] != digest:
            return None
        return DirectoryTree(folder), {str(k): str(v) for k, v in record["names"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


class _Translated(HotPackage):
    """The Heat template of an archive. Its outputs are properties of their own, as old models have them."""

    separate_outputs: ClassVar[bool] = True
    names: Mapping[str, str] = {}

    @property
    def heat_files(self) -> Mapping[str, str]:
        return self.names
