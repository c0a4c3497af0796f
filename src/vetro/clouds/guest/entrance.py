"""Goes into a guest and becomes a command there: ``python -I -S entrance.py LEADER GROUP… -- WORD…``.

A program of its own that uses the standard library only. It enters the control groups whose files are named, then all
namespaces of the process ``LEADER``, and becomes the guest's root; the first word is looked for in there.

The guest's root sees a process from the moment it is among those of the guest. ``nsenter`` still belongs to this
machine's root then, so that it can be traced, and made to write to this machine's files. This one is the guest's root
before it can be seen, and nobody may look into it until it is a program of the guest. That gets nothing of this
machine's environment and keys, no more capabilities than the guest's first process may have, and no more system calls
than systemd-nspawn leaves to it (docs: decision 0032).
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
import sys
from typing import NoReturn

_SET_DUMPABLE, _SET_SECCOMP, _DROP_BOUND = 4, 22, 24
#: Mounts, names of the machine, queues, users, processes, network.
_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
#: The system call `keyctl`, and its request for keys of one's own.
_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
_JOIN_SESSION_KEYRING = 1
#: How calls are made on a machine: the kernel's name of the convention (AUDIT_ARCH_*), and its column below.
MACHINES = {
    "x86_64": ((0xC000003E, 0), (0x40000003, 1)),
    "aarch64": ((0xC00000B7, 2), (0x40000028, 3)),
}
#: Calls that are refused with EPERM: their numbers on x86_64, i386, aarch64 and arm.
REFUSED = {
    # The machine itself: modules, kernels, ports, swap, quotas of its file systems, its log, its time.
    "acct": (163, 51, 89, 51),
    "delete_module": (176, 129, 106, 129),
    "finit_module": (313, 350, 273, 379),
    "init_module": (175, 128, 105, 128),
    "ioperm": (173, 101, None, None),
    "iopl": (172, 110, None, None),
    "kexec_file_load": (320, None, 294, 401),
    "kexec_load": (246, 283, 104, 347),
    "quotactl": (179, 131, 60, 131),
    "quotactl_fd": (443, 443, 443, 443),
    "swapoff": (168, 115, 225, 115),
    "swapon": (167, 87, 224, 87),
    "syslog": (103, 103, 116, 103),
    "adjtimex": (159, 124, 171, 124),
    "clock_adjtime": (305, 343, 266, 372),
    "clock_adjtime64": (None, 405, None, 405),
    "clock_settime": (227, 264, 112, 262),
    "clock_settime64": (None, 404, None, 404),
    "settimeofday": (164, 79, 170, 79),
    "stime": (None, 25, None, None),
    # What is in no namespace: keys, programs and events in the kernel, files by their handles.
    "add_key": (248, 286, 217, 309),
    "bpf": (321, 357, 280, 386),
    "fanotify_init": (300, 338, 262, 367),
    "fanotify_mark": (301, 339, 263, 368),
    "keyctl": (250, 288, 219, 311),
    "lookup_dcookie": (212, 253, 18, 249),
    "open_by_handle_at": (304, 342, 265, 371),
    "perf_event_open": (298, 336, 241, 364),
    "request_key": (249, 287, 218, 310),
    # Memory that nothing takes away, and what else nspawn leaves out.
    "memfd_secret": (447, 447, 447, None),
    "mlock": (149, 150, 228, 150),
    "mlock2": (325, 376, 284, 390),
    "mlockall": (151, 152, 230, 152),
    "munlock": (150, 151, 229, 151),
    "munlockall": (152, 153, 231, 153),
    "cachestat": (451, 451, 451, 451),
    "landlock_add_rule": (445, 445, 445, 445),
    "landlock_create_ruleset": (444, 444, 444, 444),
    "landlock_restrict_self": (446, 446, 446, 446),
    "modify_ldt": (154, 123, None, None),
    "pidfd_getfd": (438, 438, 438, 438),
    "pkey_alloc": (330, 381, 289, 395),
    "pkey_free": (331, 382, 290, 396),
    "pkey_mprotect": (329, 380, 288, 394),
    "process_mrelease": (448, 448, 448, 448),
    "sgetmask": (None, 68, None, None),
    "ssetmask": (None, 69, None, None),
    "sysfs": (139, 135, None, 135),
    "uselib": (134, 86, None, 86),
    "ustat": (136, 62, None, 62),
    "vm86": (None, 166, None, None),
    "vm86old": (None, 113, None, None),
}
#: What the filter answers.
_ALLOWED, _ERROR = 0x7FFF0000, 0x00050000
#: The newest call that is known here; what is newer is not there (ENOSYS), so that programs take an older one. So it is
#: with the x32 calls of x86_64, which have a bit of their own.
NEWEST = 452
#: By column: the first and last of some calls, and what holds for them: of debuggers on x86_64, and that only arm has.
_OTHERS = {0: (335, 423, _ERROR | errno.ENOSYS), 3: (0xF0001, 0xF0005, _ALLOWED)}
#: `socket`; of netlink (16) the kernel's audit (9) is absent, as it is for no namespace.
_SOCKET = (41, 359, 198, 281)
_NETLINK, _AUDIT = 16, 9
#: Instructions of the kernel's classic BPF machine, and what they look at.
_LOAD, _JUMP, _EQUAL, _ABOVE, _FROM, _ANSWER = 0x20, 0x05, 0x15, 0x25, 0x35, 0x06
_NUMBER, _CONVENTION, _FIRST, _THIRD = 0, 4, 16, 32
_libc = ctypes.CDLL(None, use_errno=True)


def call_filter(machine: str) -> bytes:
    """The filter of system calls for commands on a machine, as the kernel reads it; empty where there is no table."""
    code = [(_LOAD, 0, 0, _CONVENTION)]
    for convention, column in MACHINES.get(machine, ()):
        block = [(_LOAD, 0, 0, _NUMBER)]
        if column in _OTHERS:
            first, last, answer = _OTHERS[column]
            block += [(_FROM, 0, 2, first), (_ABOVE, 1, 0, last), (_ANSWER, 0, 0, answer)]
        block += [(_ABOVE, 0, 1, NEWEST), (_ANSWER, 0, 0, _ERROR | errno.ENOSYS)]
        for numbers in REFUSED.values():
            if (number := numbers[column]) is not None:
                block += [(_EQUAL, 0, 1, number), (_ANSWER, 0, 0, _ERROR | errno.EPERM)]
        block += [(_EQUAL, 0, 5, _SOCKET[column]), (_LOAD, 0, 0, _FIRST), (_EQUAL, 0, 3, _NETLINK)]
        block += [(_LOAD, 0, 0, _THIRD), (_EQUAL, 0, 1, _AUDIT), (_ANSWER, 0, 0, _ERROR | errno.EAFNOSUPPORT)]
        block += [(_ANSWER, 0, 0, _ALLOWED)]
        code += [(_EQUAL, 1, 0, convention), (_JUMP, 0, 0, len(block)), *block]
    code.append((_ANSWER, 0, 0, _ERROR | errno.EPERM))
    return b"".join(struct.pack("=HBBI", *one) for one in code) if machine in MACHINES else b""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def restrict() -> None:
    """Puts this process under the filter, for ever. Raises `OSError`."""
    code = call_filter(os.uname().machine)
    if code:
        argument = _Program(len(code) // 8, code)
        _done(_libc.prctl(_SET_SECCOMP, 2, ctypes.byref(argument), 0, 0))


def enter(leader: int, groups: list[str]) -> None:
    """Makes this process the guest's root; those that it starts are among the guest's processes. Raises `OSError`."""
    _done(_libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0))
    for path in groups:
        try:
            with open(path, "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
        except OSError:
            pass  # a controller that takes nobody
    keyctl = _KEYCTL.get(os.uname().machine)
    if keyctl is not None:
        _libc.syscall(keyctl, _JOIN_SESSION_KEYRING, None, 0, 0, 0)  # a kernel without keys has none to keep
    handle = os.pidfd_open(leader)
    extra = ~_bound(leader)
    _done(_libc.setns(handle, _NAMESPACES))
    os.close(handle)
    os.setgroups([])
    os.setgid(0)
    os.setuid(0)
    for number in range(64):
        if extra >> number & 1 and _libc.prctl(_DROP_BOUND, number, 0, 0, 0) != 0:
            if ctypes.get_errno() == errno.EINVAL:
                break  # there are no more
            _done(-1)
    _done(_libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0))  # another user may be another setting


def become(words: list[str]) -> None:
    """Becomes the command. Raises `OSError`."""
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)
    os.execvpe(words[0], words, {})


def follow(child: int) -> NoReturn:
    """Ends as the command does."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def main(argv: list[str]) -> NoReturn:
    """Runs the command."""
    end = argv.index("--")
    words = argv[end + 1 :]
    for number in (signal.SIGINT, signal.SIGQUIT):  # they are for the command, which decides how it ends
        signal.signal(number, signal.SIG_IGN)
    try:
        enter(int(argv[1]), argv[2:end])
        child = os.fork()
    except OSError as error:
        sys.exit(f"the server cannot be entered: {error.strerror}")
    if child:
        follow(child)
    where = "the server cannot be entered"
    try:
        restrict()
        where = words[0]
        become(words)
    except OSError as error:
        os.write(2, f"{where}: {error.strerror}\n".encode("utf-8", "surrogateescape"))
    finally:
        os._exit(127)


def _bound(process: int) -> int:
    """The capabilities that a process and what it starts can ever have."""
    with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as file:
        return next(int(line.split()[1], 16) for line in file if line.startswith("CapBnd:"))


def _done(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(sys.argv)
