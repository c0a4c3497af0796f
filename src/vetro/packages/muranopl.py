"""The format MuranoPL: classes as files below ``Classes``, named by the manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from vetro.diagnostics import Text
from vetro.muranopl.declarations.versions import Version
from vetro.packages.errors import PackageError
from vetro.packages.files import FileTree, decode
from vetro.packages.paths import inner_path
from vetro.packages.plugin import PackageBase

#: The language versions there are (PACKAGES 3).
FORMAT_VERSIONS = ("1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0")


class MuranoPLPackage(PackageBase):
    """A package as Murano's own format has it. Reads files in place, also from archives."""

    needs_directory: ClassVar[bool] = False

    def __init__(
        self,
        format_name: str,
        runtime_version: Version,
        source_directory: str | FileTree,
        manifest: Mapping[str, Any],
    ) -> None:
        super().__init__(format_name, runtime_version, source_directory, manifest)
        self._classes: dict[str, str] = {
            str(name): "Classes/" + inner_path(str(path)) for name, path in (manifest.get("Classes") or {}).items()
        }

    @property
    def classes(self) -> Sequence[str]:
        return list(self._classes)

    @property
    def class_files(self) -> Mapping[str, str]:
        """Class name -> file id."""
        return {name: self._files.file_id(path) for name, path in self._classes.items()}

    def get_class(self, name: str) -> tuple[str, str]:
        path = self._classes[name]
        file = self._files.file_id(path)
        try:
            return decode(self._files.read(path), file), file
        except (FileNotFoundError, ValueError) as error:
            reason = Text("the file is not there") if isinstance(error, FileNotFoundError) else str(error)
            raise PackageError(
                Text(
                    "class '{name}' of package '{full_name}' cannot be read from {file}: {reason}",
                    name=name,
                    full_name=self.full_name,
                    file=file,
                    reason=reason,
                ),
                hint=Text("mend its entry under Classes in manifest.yaml"),
            ) from None

    @property
    def ui(self) -> str | None:
        stated = self._text("UI")
        path = f"UI/{stated or 'ui.yaml'}"
        try:
            return decode(self._files.read(path), self._files.file_id(path))
        except FileNotFoundError:
            # A missing file is a package without a form, also when it is named (PACKAGES 2).
            return None
