"""What the sandbox asks of the kernel and Python does not offer: a few calls of the C library, with errors raised."""

from __future__ import annotations

import ctypes
import os
import platform

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 4, 8, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x40000000
CAP_DAC_READ_SEARCH, CAP_SYS_ADMIN = 2, 21
_CAPABILITY_VERSION_3 = 0x20080522

MACHINE = platform.machine()


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Capabilities(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def _checked(result: int) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(number: int, *arguments: object) -> int:
    """One system call by its number. Raises `OSError`."""
    return _checked(int(_libc.syscall(ctypes.c_long(number), *arguments)))


def prctl(option: int, value: int = 0, third: int = 0) -> int:
    """``prctl`` with up to three numbers. Raises `OSError`."""
    zero = ctypes.c_ulong(0)
    return _checked(int(_libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(third), zero, zero)))


def unshare(flags: int) -> None:
    """Gives this process new namespaces. Raises `OSError`."""
    _checked(int(_libc.unshare(flags)))


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mounts something, or changes a mount. Raises `OSError`."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    _checked(int(_libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])))


def unmount(target: str, flags: int) -> None:
    """Undoes a mount. Raises `OSError`."""
    _checked(int(_libc.umount2(os.fsencode(target), flags)))


def capabilities() -> int:
    """The capabilities that this process may use, a bit each. Raises `OSError`."""
    header = _Header(_CAPABILITY_VERSION_3, 0)
    values = (_Capabilities * 2)()
    _checked(int(_libc.capget(ctypes.byref(header), ctypes.byref(values))))
    return int(values[0].permitted) | int(values[1].permitted) << 32


def set_capabilities(*kept: int) -> None:
    """Gives up all capabilities but ``kept`` (numbers below 32). Raises `OSError`."""
    mask = 0
    for number in kept:
        mask |= 1 << number
    header = _Header(_CAPABILITY_VERSION_3, 0)
    values = (_Capabilities * 2)(_Capabilities(mask, mask, 0), _Capabilities(0, 0, 0))
    _checked(int(_libc.capset(ctypes.byref(header), ctypes.byref(values))))
