"""Shows a tree with its owners moved to another range of ids: an id-mapped mount of the kernel (5.12, overlay 5.19).

So one image on disk serves servers that have a range of ids each. A program that uses the standard library only, since
it forks and runs in a supervisor's mount namespace: ``idmap.py TREE FROM TO TARGET [writable]``; without TARGET it only
tries.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

#: Identities of a guest.
RANGE = 65536
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_OPEN_TREE_CLONE, _CLOEXEC = 0x1, 0o2000000
_MOVE_MOUNT_F_EMPTY_PATH, _AT_EMPTY_PATH, _AT_FDCWD = 0x4, 0x1000, -100
_RDONLY, _IDMAP = 0x1, 0x100000
_NEWUSER = 0x10000000


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = int(libc.syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _namespace(first: int, to: int) -> int:
    """A user namespace in which ids from ``first`` on are ids from ``to`` on here. Raises `OSError`."""
    told, tell = os.pipe()
    wait, done = os.pipe()
    child = os.fork()
    if child == 0:
        made = ctypes.CDLL(None).unshare(_NEWUSER) == 0
        os.close(done)
        os.write(tell, b"y" if made else b"n")
        os.read(wait, 1)  # until the parent is through with us, or gone
        os._exit(0)
    try:
        os.close(tell)
        os.close(wait)
        if os.read(told, 1) != b"y":
            raise OSError("user namespaces cannot be made here")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{name}", "w", encoding="ascii") as file:
                file.write(f"{first} {to} {RANGE}")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(done)
        os.close(told)
        os.waitpid(child, 0)


def mapped(tree: str, first: int, to: int, *, writable: bool = False) -> int:
    """A mount of ``tree``, attached nowhere, that shows owners from ``first`` on as from ``to`` on, or `OSError`."""
    mount = _call(_OPEN_TREE, _AT_FDCWD, os.fsencode(tree), _OPEN_TREE_CLONE | _CLOEXEC)
    try:
        user = _namespace(first, to)
        try:
            attributes = struct.pack("QQQQ", _IDMAP | (0 if writable else _RDONLY), 0, 0, user)
            _call(_MOUNT_SETATTR, mount, b"", _AT_EMPTY_PATH, attributes, len(attributes))
        finally:
            os.close(user)
    except BaseException:
        os.close(mount)
        raise
    return mount


if __name__ == "__main__":
    handle = mapped(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), writable="writable" in sys.argv[5:])
    if len(sys.argv) > 4:
        _call(_MOVE_MOUNT, handle, b"", _AT_FDCWD, os.fsencode(sys.argv[4]), _MOVE_MOUNT_F_EMPTY_PATH)
