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
    _check(path, os.stat(path).st_mode)
    # Should it become something else meanwhile: opening a pipe does not wait, and it is looked at once more.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        _check(path, os.fstat(handle).st_mode)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: str | os.PathLike[str], largest: int = LARGEST_FILE) -> bytes:
    """The bytes of a regular file. Raises like `open_regular`, and `PackageError` for a larger one."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(largest + 1) if size <= largest else b""
    if max(size, len(data)) > largest:
        raise PackageError(
            f"{os.fspath(path)}: it has {max(size, len(data)):,} bytes; a file of a package has at most {largest:,}",
            hint="keep large data elsewhere, and let the package fetch it",
        )
    return data


def _check(path: str | os.PathLike[str], mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(os.fspath(path))
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _KINDS if test(mode)), "no regular file")
        raise PackageError(f"{os.fspath(path)}: this is {kind}, not a file", hint="take it out of the package")
