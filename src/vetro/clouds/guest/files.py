"""Looking into a running guest's files from outside, without trusting a link or a file type in there."""

from __future__ import annotations

import ctypes
import os
import stat
import struct

_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_IN_ROOT = 0x10
_libc = ctypes.CDLL(None, use_errno=True)


def open_in_root(root: int, path: str, flags: int) -> int:
    """Opens ``path`` as if the folder opened as ``root`` were ``/``. Raises `OSError`."""
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS)
    handle = int(_libc.syscall(_OPENAT2, root, os.fsencode(path), how, len(how)))
    if handle < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return handle


def read_small(root: str, path: str, limit: int = 65536) -> bytes | None:
    """Content of a small ordinary file below the folder ``root``; None when it is not there or no such file."""
    try:
        folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # Without blocking: a guest may have put a pipe there.
        handle = open_in_root(folder, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return None
    finally:
        os.close(folder)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return os.read(handle, limit)
    except OSError:
        return None
    finally:
        os.close(handle)


def read_end(path: str, limit: int) -> bytes:
    """The last bytes of an ordinary file that a guest writes, however long it is; none when it is no such file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        found = os.fstat(handle)
        return os.pread(handle, limit, max(0, found.st_size - limit)) if stat.S_ISREG(found.st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(handle)
