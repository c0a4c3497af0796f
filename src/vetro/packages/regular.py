"""Reading files that others wrote: regular ones only, and no more of them than a package may have.

A folder may hold anything. Opening a named pipe waits for ever, a device may do something, a sparse file of 20 GB takes
no room on the disk and all of the memory.
"""

from __future__ import annotations

import os
import stat
from typing import IO, Final

from vetro.packages.errors import PackageError

_MIB: Final = 1024 * 1024
#: Bytes of one file of a package, and of all that is read of it; files of a package, folders included in archives.
LARGEST_FILE: Final = 64 * _MIB
LARGEST_TOTAL: Final = 256 * _MIB
MOST_FILES: Final = 20_000
_KINDS: Final = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """A regular file, open for reading. Raises `OSError`, and `PackageError` for what is no regular file."""
    return os.fdopen(_open(path)[0], "rb")


def read_regular(path: str | os.PathLike[str], largest: int = LARGEST_FILE, *, mode: int | None = None) -> bytes:
    """The bytes of a regular file. Raises like `open_regular`, and `PackageError` for a larger one.

    ``mode``: that of the file, where the caller has looked and it is no link; it must not have become one since.
    """
    handle, size = _open(path, mode)
    try:
        data = _read(handle, size, largest + 1) if size <= largest else b""
    finally:
        os.close(handle)
    if max(size, len(data)) > largest:
        raise PackageError(
            f"{os.fspath(path)}: it has {max(size, len(data)):,} bytes; a file of a package has at most {largest:,}",
            hint="keep large data elsewhere, and let the package fetch it",
        )
    return data


def _open(path: str | os.PathLike[str], mode: int | None = None) -> tuple[int, int]:
    """Descriptor and size of a regular file."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    if mode is None:
        mode = os.stat(path).st_mode
    else:
        flags |= os.O_NOFOLLOW
    _check(path, mode)
    # Should it become something else meanwhile: opening a pipe does not wait, and it is looked at once more.
    handle = os.open(path, flags)
    try:
        info = os.fstat(handle)
        _check(path, info.st_mode)
        return handle, info.st_size
    except BaseException:
        os.close(handle)
        raise


def _read(handle: int, size: int, most: int) -> bytes:
    """What is in a file that had ``size`` bytes a moment ago, at most ``most``; a file object doubles the time."""
    data = os.read(handle, min(size + 1, most))
    if len(data) == size:
        return data
    while len(data) < most and (more := os.read(handle, min(_MIB, most - len(data)))):
        data += more
    return data


def _check(path: str | os.PathLike[str], mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(os.fspath(path))
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _KINDS if test(mode)), "no regular file")
        raise PackageError(f"{os.fspath(path)}: this is {kind}, not a file", hint="take it out of the package")
