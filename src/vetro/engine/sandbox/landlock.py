"""Landlock: from now on the process can read below some folders, and nothing else of the file system.

Also, where the kernel is new enough: no TCP, no abstract sockets and no signals of processes outside, and no tracing of
them (reading their memory is that, too). Root and capabilities make no difference to it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable

from vetro.engine.sandbox.kernel import syscall

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
#: Rights over files that each version of the interface knows: so many bits, from the lowest.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_ALL_TCP = 0b11
_ALL_SCOPES = 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """The version of the kernel's interface; 0 when it has none, or it is switched off."""
    try:
        return syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            return 0
        raise


def ruleset(readable: Iterable[str]) -> int:
    """A descriptor of rules that allow reading below these paths; those that do not exist are left out.

    Raises `OSError` where there is no Landlock. The caller closes it.
    """
    abi = version()
    if not abi:
        raise OSError(errno.EOPNOTSUPP, "the kernel has no Landlock, or it is switched off")
    attributes = _Ruleset((1 << _FILE_RIGHTS.get(abi, 16)) - 1, _ALL_TCP, _ALL_SCOPES)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    rules = syscall(_CREATE, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in readable:
            _allow(rules, path)
    except BaseException:
        os.close(rules)
        raise
    return rules


def _allow(rules: int, path: str) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # whoever wants to read it says better what is wrong
    try:
        folder = stat.S_ISDIR(os.fstat(fd).st_mode)
        rule = _Beneath(_READ_FILE | _READ_DIR if folder else _READ_FILE, fd)
        syscall(_ADD, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(fd)


def restrict(rules: int) -> None:
    """Puts this process under the rules, for ever. Needs `no_new_privs`. Raises `OSError`."""
    syscall(_RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0))
