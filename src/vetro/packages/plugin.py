"""The interface of package formats (PACKAGES 7).

A distribution registers a class under the entry point group ``io.murano.plugins.packages`` with the name
``<Format name>/<Version>``. For each package of that format the class is called with ``(format_name, runtime_version,
source_directory, manifest)``; it answers with MuranoPL text, made up if need be. MuranoPL itself is such a format.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from vetro.diagnostics import Text
from vetro.muranopl.declarations.versions import Version, parse_version
from vetro.packages.archive import archive_tree
from vetro.packages.errors import PackageError
from vetro.packages.files import DirectoryTree, FileTree
from vetro.packages.paths import inner_path
from vetro.packages.pictures import check_picture

ENTRY_POINT_GROUP = "io.murano.plugins.packages"


class Package(ABC):
    """What a format has to tell of one package. Implementations call this initialiser."""

    #: False: the loader may hand over a `FileTree` in place of the path of a folder.
    needs_directory: ClassVar[bool] = True

    def __init__(self, format_name: str, runtime_version: Version, source_directory: str | FileTree) -> None:
        self._format_name = format_name
        self._runtime_version = runtime_version
        self._files = source_directory if isinstance(source_directory, FileTree) else DirectoryTree(source_directory)
        self._blob: bytes | None = None

    @property
    def files(self) -> FileTree:
        """The package's files."""
        return self._files

    @property
    def source_directory(self) -> str:
        """A folder with the package's files."""
        return self._files.directory()

    @property
    def format_name(self) -> str:
        """Name part of the format."""
        return self._format_name

    @property
    def runtime_version(self) -> Version:
        """Version part of the format: the language version that the classes are written for."""
        return self._runtime_version

    def prepare(self, directory: str) -> None:  # noqa: B027 - nothing to do is the usual case
        """Writes into ``directory``, a copy of the package's files, what loading that copy would make files for.

        Called once when a package is kept for deployments. Tasks load the copy where no file can be written.
        """

    @property
    def blob(self) -> bytes:
        """The package as a ZIP archive; made once."""
        if self._blob is None:
            self._blob = archive_tree(self._files)
        return self._blob

    @property
    def meta(self) -> Any:
        """Metadata attached to the package, as plain data; None for none."""
        return None

    @property
    @abstractmethod
    def full_name(self) -> str:
        """Dotted name of the package."""

    @property
    @abstractmethod
    def version(self) -> Version:
        """Version of the package."""

    @property
    @abstractmethod
    def classes(self) -> Sequence[str]:
        """Full names of its classes."""

    @property
    @abstractmethod
    def requirements(self) -> Mapping[str, Any]:
        """Package name -> version spec (text, or any object whose text is one)."""

    @property
    @abstractmethod
    def package_type(self) -> str:
        """``Application`` or ``Library``."""

    @property
    @abstractmethod
    def display_name(self) -> str:
        """Its name for people."""

    @property
    @abstractmethod
    def description(self) -> str | None:
        """What it is, for people."""

    @property
    @abstractmethod
    def author(self) -> str | None:
        """Who wrote it."""

    @property
    @abstractmethod
    def supplier(self) -> Any:
        """Who supplies it: the manifest's mapping."""

    @property
    @abstractmethod
    def tags(self) -> Sequence[str]:
        """Words to find it by."""

    @property
    @abstractmethod
    def logo(self) -> bytes | None:
        """Its picture."""

    @property
    @abstractmethod
    def supplier_logo(self) -> bytes | None:
        """The supplier's picture."""

    @property
    @abstractmethod
    def ui(self) -> str | None:
        """Text of the form definition, if it has one."""

    @abstractmethod
    def get_class(self, name: str) -> str | tuple[str, str]:
        """MuranoPL text of the file with the class; or the text and a file id for messages."""

    @abstractmethod
    def get_resource(self, name: str) -> str:
        """Path on disk of a resource."""


class PackageBase(Package):
    """Answers from the manifest; subclasses add `ui`, `classes` and `get_class`."""

    def __init__(
        self,
        format_name: str,
        runtime_version: Version,
        source_directory: str | FileTree,
        manifest: Mapping[str, Any],
    ) -> None:
        super().__init__(format_name, runtime_version, source_directory)
        self._manifest = manifest

    @property
    def full_name(self) -> str:
        return str(self._manifest["FullName"])

    @property
    def version(self) -> Version:
        return parse_version(self._text("Version"))

    @property
    def requirements(self) -> Mapping[str, Any]:
        return self._manifest.get("Require") or {}

    @property
    def package_type(self) -> str:
        return str(self._manifest["Type"])

    @property
    def display_name(self) -> str:
        return self._text("Name") or self.full_name

    @property
    def description(self) -> str | None:
        return self._text("Description")

    @property
    def author(self) -> str | None:
        return self._text("Author")

    @property
    def supplier(self) -> Any:
        return self._manifest.get("Supplier")

    @property
    def tags(self) -> Sequence[str]:
        tags = self._manifest.get("Tags") or ()
        return [tags] if isinstance(tags, str) else [str(tag) for tag in tags]

    @property
    def logo(self) -> bytes | None:
        return self._picture(self._text("Logo"), "logo.png")

    @property
    def supplier_logo(self) -> bytes | None:
        supplier = self.supplier
        stated = supplier.get("Logo") if isinstance(supplier, Mapping) else None
        return self._picture(str(stated) if stated else None, "supplier_logo.png")

    @property
    def meta(self) -> Any:
        return self._manifest.get("Meta")

    def get_resource(self, name: str) -> str:
        return os.path.join(self.source_directory, "Resources", *resource_path(name).split("/"))

    def _text(self, key: str) -> str | None:
        value = self._manifest.get(key)
        return None if value is None else str(value)

    def _picture(self, stated: str | None, default: str) -> bytes | None:
        path = stated or default
        try:
            data = self._files.read(path)
        except (FileNotFoundError, ValueError) as error:
            if stated is None:
                return None
            reason = Text("it is not there") if isinstance(error, FileNotFoundError) else str(error)
            raise PackageError(
                Text(
                    "{location}: picture '{stated}' cannot be read: {reason}",
                    location=self._files.location,
                    stated=stated,
                    reason=reason,
                )
            ) from None
        check_picture(data, self._files.file_id(path))
        return data


def resource_path(name: str) -> str:
    """Cleans a path below ``Resources``; raises `ValueError` when it leads out."""
    return inner_path(name)
