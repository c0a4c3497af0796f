"""The system-call filter: a program for the kernel's classic BPF machine, made from the tables in `calls`.

For each call it looks at the machine, the number and, for some, the arguments, and answers: allowed, refused (EPERM),
or fatal. Arguments that are pointers cannot be looked at, which is why none of the decisions depends on one.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from vetro.engine.sandbox.calls import CHECKED, DEADLY, FREE, MACHINES
from vetro.engine.sandbox.kernel import MACHINE, syscall

_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
_LOAD, _RETURN, _EQUAL, _ANY_BIT, _AT_LEAST = 0x20, 0x06, 0x15, 0x45, 0x35
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
#: The x32 calls of x86_64 have this bit: a second set of numbers for the same kernel.
_X32 = 0x40000000
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER = 1

#: Opening for writing, making, cutting, appending; files without a name, and descriptors that are only places.
_WRITING = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20000000 | 0o10000000
_WRITE, _EXECUTE, _ANONYMOUS = 2, 4, 0x20
#: F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC; TCGETS, FIONCLEX, FIOCLEX.
_FCNTL, _IOCTL = (0, 1, 2, 3, 1030), (0x5401, 0x5450, 0x5451)
_RLIMIT_AS = 9

_Code = list[tuple[int, int, int, int]]


def _low(argument: int) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * argument)


def _high(argument: int) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * argument + 4)


def _verdict(value: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, value)


def _only_reading(argument: int) -> _Code:
    return [_low(argument), (_ANY_BIT, 0, 1, _WRITING), _verdict(_REFUSE), _verdict(_ALLOW)]


def _one_of(argument: int, values: tuple[int, ...]) -> _Code:
    tests = [(_EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    return [_low(argument), *tests, _verdict(_REFUSE), _verdict(_ALLOW)]


#: Memory that holds code comes from files: never writable, never anonymous.
_MMAP: _Code = [
    _low(2),
    (_ANY_BIT, 1, 0, _EXECUTE),
    _verdict(_ALLOW),
    (_ANY_BIT, 2, 0, _WRITE),
    _low(3),
    (_ANY_BIT, 0, 1, _ANONYMOUS),
    _verdict(_REFUSE),
    _verdict(_ALLOW),
]
_MPROTECT: _Code = [_low(2), (_ANY_BIT, 0, 1, _EXECUTE), _verdict(_REFUSE), _verdict(_ALLOW)]
#: Of this process only; reading any limit, setting that of the memory (which has a hard one).
_PRLIMIT: _Code = [
    _low(0),
    (_EQUAL, 0, 6, 0),
    _low(1),
    (_EQUAL, 5, 0, _RLIMIT_AS),
    _low(2),
    (_EQUAL, 0, 2, 0),
    _high(2),
    (_EQUAL, 1, 0, 0),
    _verdict(_REFUSE),
    _verdict(_ALLOW),
]
_CHECKS: dict[str, _Code] = {
    "open": _only_reading(1),
    "openat": _only_reading(2),
    "mmap": _MMAP,
    "mprotect": _MPROTECT,
    "fcntl": _one_of(1, _FCNTL),
    "ioctl": _one_of(1, _IOCTL),
    "prlimit64": _PRLIMIT,
}
assert set(_CHECKS) == CHECKED


def program(machine: str) -> bytes:
    """The filter for a machine as the kernel reads it. Raises `KeyError` for one that has no table."""
    architecture, numbers = MACHINES[machine]
    code: _Code = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), _verdict(_KILL), (_LOAD, 0, 0, _NUMBER)]
    if machine == "x86_64":
        code += [(_AT_LEAST, 0, 1, _X32), _verdict(_KILL)]
    # The most frequent calls come first; the kernel tests in this order.
    for name in sorted(FREE, key=lambda name: (name not in ("read", "write", "poll", "ppoll", "futex"), name)):
        if name in numbers:
            code += [(_EQUAL, 0, 1, numbers[name]), _verdict(_ALLOW)]
    for name, checks in _CHECKS.items():
        if name in numbers:
            code += [(_EQUAL, 0, len(checks), numbers[name]), *checks]
    for name in sorted(DEADLY):
        code += [(_EQUAL, 0, 1, numbers[name]), _verdict(_KILL)]
    code.append(_verdict(_REFUSE))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install(machine: str = MACHINE) -> None:
    """Puts this process under the filter, for ever. Needs `no_new_privs`. Raises `OSError`."""
    if machine not in MACHINES:
        raise OSError(errno.ENOSYS, f"there is no list of system calls for {machine}")
    code = program(machine)
    argument = _Program(len(code) // 8, code)
    syscall(_SECCOMP[machine], ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(0), ctypes.byref(argument))
