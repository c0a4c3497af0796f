"""The files of one package, wherever they are: a folder, an archive or memory.

Formats read packages through a `FileTree`, so an archive need not be unpacked. Plug-ins that want a folder get one
from `directory`.
"""

from __future__ import annotations

import os
import stat
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from vetro.diagnostics import Text
from vetro.packages.errors import PackageError
from vetro.packages.paths import inner_path
from vetro.packages.regular import LARGEST_TOTAL, MOST_FILES, read_regular


class FileTree(ABC):
    """Read-only files by inner path (``Classes/App.yaml``). Paths are cleaned by `inner_path` before anything else."""

    #: How messages and code objects name the place; file ids begin with it.
    location: str

    def file_id(self, path: str) -> str:
        """The name of a file in messages, profiles and debuggers."""
        return f"{self.location}/{path}"

    @abstractmethod
    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises `FileNotFoundError`, and `ValueError` for paths that leave the package."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether there is such a file (no folder)."""

    @abstractmethod
    def paths(self) -> list[str]:
        """All files, sorted."""

    def directory(self) -> str:
        """A folder on disk with the files; a private temporary one where there is none yet."""
        holder = getattr(self, "_holder", None)
        if holder is None:
            holder = tempfile.TemporaryDirectory(prefix="vetro-package-")
            self._holder = holder
            # Removed with the tree, silently: a garbage collected package is no leak worth a warning.
            weakref.finalize(self, holder.cleanup)
            for path in self.paths():
                target = Path(holder.name, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(self.read(path))
        return str(holder.name)


class DirectoryTree(FileTree):
    """A folder. Symbolic links may point inside it only.

    `read` and `paths` raise `PackageError` for pipes, devices and sockets, for too large files, and for too many.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.location = os.path.abspath(root)
        #: Bytes of the files that were read.
        self._sizes: dict[str, int] = {}
        self._total = 0
        #: Folders that were looked at and are no symbolic links: a package has hundreds of files in one.
        self._folders: set[str] = set()

    def _path(self, path: str) -> tuple[str, int | None]:
        """Where an inner path leads, and the mode of what is there: None where links lead there, or nothing is."""
        folder, slash, name = inner_path(path).rpartition("/")
        linked = bool(slash) and folder not in self._folders and self._linked(folder)
        full = f"{self.location}/{folder}{slash}{name}"
        try:
            mode = None if linked else os.lstat(full).st_mode
        except OSError:
            return full, None
        if mode is not None and not stat.S_ISLNK(mode):
            return full, mode
        root = os.path.realpath(self.location)
        if os.path.commonpath((os.path.realpath(full), root)) != root:
            raise ValueError(Text("a symbolic link leads out of the package"))
        return full, None

    def _linked(self, folder: str) -> bool:
        """Whether a part of the inner path ``folder`` is a symbolic link."""
        full = self.location
        for part in folder.split("/"):
            full = f"{full}/{part}"
            if os.path.islink(full):
                return True
        if os.path.isdir(full):
            self._folders.add(folder)
        return False

    def read(self, path: str) -> bytes:
        try:
            full, mode = self._path(path)
            data = read_regular(full, mode=mode)
        except (IsADirectoryError, NotADirectoryError):
            raise FileNotFoundError(path) from None
        self._total += len(data) - self._sizes.get(path, 0)
        self._sizes[path] = len(data)
        self._check(len(self._sizes), self._total)
        return data

    def exists(self, path: str) -> bool:
        try:
            # What is no regular file counts: whoever reads it is told what it is.
            full, mode = self._path(path)
            return not stat.S_ISDIR(os.stat(full).st_mode if mode is None else mode)
        except (ValueError, OSError):
            return False

    def paths(self) -> list[str]:
        found: list[str] = []
        count = size = 0
        for folder, _, names in os.walk(self.location):
            inner = os.path.relpath(folder, self.location).replace(os.sep, "/")
            for name in names:
                path = name if inner == "." else f"{inner}/{name}"
                if not self.exists(path):
                    continue
                found.append(path)
                if not any(part.startswith(".") for part in path.split("/")):  # those are the author's tools' own
                    count += 1
                    size += os.stat(os.path.join(folder, name)).st_size
            self._check(count, 0)
        self._check(count, size, found)
        return sorted(found)

    def _check(self, count: int, size: int, paths: Sequence[str] = ()) -> None:
        if count > MOST_FILES:
            raise PackageError(
                Text(
                    "{location}: there are more than {most_files:,} files in the package",
                    location=self.location,
                    most_files=MOST_FILES,
                )
            )
        if size > LARGEST_TOTAL:
            largest = max(paths or self._sizes, key=lambda path: os.stat(self._path(path)[0]).st_size)
            raise PackageError(
                Text(
                    "{location}: the package has more than {largest_total:,} bytes, its largest file is {largest}",
                    location=self.location,
                    largest_total=LARGEST_TOTAL,
                    largest=largest,
                ),
                hint=Text("keep large data elsewhere, and let the package fetch it"),
            )

    def directory(self) -> str:
        return self.location


class MemoryTree(FileTree):
    """Files given as a mapping; text is stored as UTF-8."""

    def __init__(self, files: Mapping[str, str | bytes], location: str) -> None:
        self.location = location
        self._files: dict[str, bytes] = {}
        for path, data in files.items():
            self._files[inner_path(path)] = data if isinstance(data, bytes) else data.encode("utf-8")

    def read(self, path: str) -> bytes:
        try:
            return self._files[inner_path(path)]
        except KeyError:
            raise FileNotFoundError(path) from None

    def exists(self, path: str) -> bool:
        try:
            return inner_path(path) in self._files
        except ValueError:
            return False

    def paths(self) -> list[str]:
        return sorted(self._files)


def decode(data: bytes, file: str) -> str:
    """Text of a package file: UTF-8, with or without a byte order mark. Raises `PackageError` naming file and line."""
    try:
        return data.decode().removeprefix("\ufeff")  # a fifth of the time of "utf-8-sig", which is Python code
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise PackageError(
            Text("{file}:{line}: not valid UTF-8", file=file, line=line), hint=Text("save the file as UTF-8")
        ) from None
