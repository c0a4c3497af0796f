"""Packages in ZIP archives, read in place and without trust.

Everything that the directory of the archive states is checked before any file is read; while a file is unpacked, what
was stated holds as a limit. Nothing is written to disk unless a format plug-in asks for a folder.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from vetro.diagnostics import Text
from vetro.packages.errors import ArchiveError
from vetro.packages.files import FileTree
from vetro.packages.paths import MANIFEST, inner_path
from vetro.packages.regular import LARGEST_FILE, LARGEST_TOTAL, MOST_FILES, open_regular

_MIB = 1024 * 1024
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_STORED, _DEFLATED = 0, 8


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What an archive may cost. Uploads are limited to less by the service."""

    #: Bytes of the archive itself.
    archive: int = 64 * _MIB
    #: Entries, folders included.
    entries: int = MOST_FILES
    #: Bytes of one file, unpacked.
    file: int = LARGEST_FILE
    #: Bytes of all files, unpacked.
    total: int = LARGEST_TOTAL
    #: Unpacked over packed size, for files larger than 1 MiB: text reaches 20, bombs 1000.
    ratio: int = 200


DEFAULT_LIMITS = ArchiveLimits()


class ArchiveTree(FileTree):
    """The files of a ZIP, from a path or from bytes. Raises `ArchiveError` for what is damaged or unsafe."""

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes,
        *,
        location: str | None = None,
        limits: ArchiveLimits = DEFAULT_LIMITS,
    ) -> None:
        self._data = source if isinstance(source, bytes) else None
        self._path = None if isinstance(source, bytes) else os.path.abspath(source)
        self.location = location or self._path or "<archive>"
        self._limits = limits
        with self._open() as file:
            self._size = file.seek(0, os.SEEK_END)
            if self._size > limits.archive:
                raise self._refuse(
                    Text("it has {size} bytes, {archive} are allowed", size=self._size, archive=limits.archive)
                )
            if _count_headers(file, self._size) > limits.entries:
                raise self._refuse(Text("it has more than {entries} entries", entries=limits.entries))
            self._entries = self._check(_directory(_Clipped(file, self._size), self.location))

    def _open(self) -> IO[bytes]:
        if self._data is not None:
            return io.BytesIO(self._data)
        assert self._path is not None
        try:
            return open_regular(self._path)
        except OSError as error:
            raise ArchiveError(
                Text("{location}: cannot be opened: {strerror}", location=self.location, strerror=error.strerror)
            ) from None

    def _refuse(self, reason: str, hint: str | None = None) -> ArchiveError:
        return ArchiveError(
            Text("{location}: the archive is refused: {reason}", location=self.location, reason=reason), hint=hint
        )

    # -- checks -------------------------------------------------------------------------------------------------

    def _check(self, infos: list[ZipInfo]) -> dict[str, ZipInfo]:
        limits = self._limits
        if len(infos) > limits.entries:
            raise self._refuse(Text("it has more than {entries} entries", entries=limits.entries))
        entries: dict[str, ZipInfo] = {}
        folders: set[str] = set()
        total = 0
        for info in infos:
            # `orig_filename` is what stands in the file; `filename` ends at a NUL.
            name = info.orig_filename
            try:
                path = inner_path(name)
            except ValueError as error:
                raise self._refuse(Text("entry {name}: {error}", name=repr(name[:80]), error=error)) from None
            self._check_entry(info, path)
            if name.endswith("/"):
                folders.add(path)
                continue
            if path in entries:
                raise self._refuse(Text("entry '{path}' is there twice", path=path))
            entries[path] = info
            total += info.file_size
            if total > limits.total:
                raise self._refuse(Text("its files have more than {total} bytes", total=limits.total))
        for path in entries:
            folders.update(_parents(path))
        clash = sorted(folders & entries.keys())
        if clash:
            raise self._refuse(Text("'{clash}' is a file and a folder", clash=clash[0]))
        return entries

    def _check_entry(self, info: ZipInfo, path: str) -> None:
        limits = self._limits
        mode = info.external_attr >> 16
        kind = stat.S_IFMT(mode)
        if stat.S_ISLNK(mode):
            raise self._refuse(Text("entry '{path}' is a symbolic link", path=path), Text("pack the file itself"))
        if kind and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise self._refuse(Text("entry '{path}' is no ordinary file", path=path))
        if info.flag_bits & 0x1:
            raise self._refuse(Text("entry '{path}' is encrypted", path=path))
        if info.compress_type not in (_STORED, _DEFLATED):
            raise self._refuse(
                Text("entry '{path}' is packed by a method other than 'deflate'", path=path),
                Text("pack it with plain zip"),
            )
        if info.file_size > limits.file:
            raise self._refuse(
                Text(
                    "entry '{path}' has {file_size} bytes, {file} are allowed",
                    path=path,
                    file_size=info.file_size,
                    file=limits.file,
                )
            )
        if info.compress_type == _STORED and info.file_size != info.compress_size:
            raise self._refuse(Text("entry '{path}' states two sizes", path=path))
        if info.compress_size > self._size or not 0 <= info.header_offset < self._size:
            raise self._refuse(Text("entry '{path}' lies outside of it", path=path))
        if info.file_size > max(_MIB, limits.ratio * info.compress_size):
            raise self._refuse(
                Text("entry '{path}' unpacks to more than {ratio} times its size", path=path, ratio=limits.ratio)
            )

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, path: str) -> bytes:
        clean = inner_path(path)
        info = self._entries.get(clean)
        if info is None:
            raise FileNotFoundError(path)
        with self._open() as file:
            data = _unpack(_Clipped(file, self._size), info)
        if data is None or len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise ArchiveError(
                Text(
                    "{file_id}: the archive is damaged, or was changed while it was in use", file_id=self.file_id(clean)
                )
            )
        return data

    def exists(self, path: str) -> bool:
        try:
            return inner_path(path) in self._entries
        except ValueError:
            return False

    def paths(self) -> list[str]:
        return sorted(self._entries)


def _parents(path: str) -> Iterable[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


class _Clipped:
    """A file of known size that never asks for more than is left: readers allocate what they are asked for."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._size = size
        self.seek = file.seek
        self.tell = file.tell

    def seekable(self) -> bool:
        return True

    def read(self, count: int = -1) -> bytes:
        left = max(0, self._size - self._file.tell())
        return self._file.read(left if count < 0 else min(count, left))


def _count_headers(file: IO[bytes], size: int) -> int:
    """How many directory entries there can be. A megabyte cannot hold too many; more is counted before it is parsed."""
    if size <= _MIB:
        return 0
    file.seek(0)
    count, tail = 0, b""
    while chunk := file.read(_MIB):
        count += (tail + chunk).count(b"PK\x01\x02")
        tail = chunk[-3:]
    return count


def _directory(file: Any, location: str) -> list[ZipInfo]:
    try:
        with ZipFile(file) as archive:
            return archive.infolist()
    except (BadZipFile, ValueError, OSError, NotImplementedError, struct.error, IndexError, OverflowError) as error:
        raise ArchiveError(
            Text("{location}: no readable ZIP archive: {error}", location=location, error=error)
        ) from None


def _unpack(file: _Clipped, info: ZipInfo) -> bytes | None:
    """The bytes of an entry, at most one more than stated; None when the archive is damaged.

    The own reader keeps no handle open between calls and never unpacks more than the directory promised.
    """
    try:
        file.seek(info.header_offset)
        header = file.read(_LOCAL_HEADER.size)
        if len(header) != _LOCAL_HEADER.size or header[:4] != b"PK\x03\x04":
            return None
        *_, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        name = file.read(name_length)
        encoding = "utf-8" if info.flag_bits & 0x800 else "cp437"
        if name.decode(encoding) != info.orig_filename:
            return None
        file.seek(extra_length, os.SEEK_CUR)
        packed = file.read(info.compress_size)
        if len(packed) != info.compress_size:
            return None
        if info.compress_type == _STORED:
            return packed
        inflater = zlib.decompressobj(-15)
        return inflater.decompress(packed, info.file_size + 1)
    except (OSError, ValueError, zlib.error, struct.error, OverflowError):
        return None


def require_manifest(tree: FileTree) -> None:
    """Raises `ArchiveError` when there is no manifest at the root, with what to do about it."""
    if tree.exists(MANIFEST):
        return
    nested = [path for path in tree.paths() if path.endswith("/" + MANIFEST)]
    hint = (
        Text("it is in '{nested}': pack the folder's contents, not the folder", nested=nested[0].rpartition("/")[0])
        if nested
        else None
    )
    raise ArchiveError(
        Text("{location}: there is no {manifest} at its root", location=tree.location, manifest=MANIFEST), hint=hint
    )


def archive_tree(tree: FileTree) -> bytes:
    """The files of a package as a ZIP: sorted, without times, all with one mode.

    Hidden files and Python's caches stay out: they belong to the author's tools.
    """
    target = io.BytesIO()
    with ZipFile(target, "w") as archive:
        for path in tree.paths():
            if not any(part.startswith(".") or part == "__pycache__" for part in path.split("/")):
                add_file(archive, path, tree.read(path))
    return target.getvalue()


def add_file(archive: ZipFile, path: str, data: bytes) -> None:
    """Adds a file without its time, and with the one mode that all have."""
    # The oldest time that ZIP can express; the system byte says which world the mode is from.
    info = ZipInfo(path, (1980, 1, 1, 0, 0, 0))
    info.create_system = 3
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    info.compress_type = ZIP_DEFLATED
    archive.writestr(info, data, compresslevel=6)
