"""Goes into a guest and becomes a command there: ``python -I -S entrance.py LEADER GROUP… -- WORD…``.

A program of its own that uses the standard library only. It enters the control groups whose files are named, then all
namespaces of the process ``LEADER``, and becomes the guest's root; the first word is looked for in there.

The guest's root sees a process from the moment it is among those of the guest. ``nsenter`` still belongs to this
machine's root then, so that it can be traced, and made to write to this machine's files. This one is the guest's root
before it can be seen, and nobody may look into it until it is a program of the guest. That gets nothing of this
machine's environment and keys, and no more capabilities than the guest's first process may have.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys
from typing import NoReturn

_SET_DUMPABLE, _DROP_BOUND = 4, 24
#: Mounts, names of the machine, queues, users, processes, network.
_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
#: The system call `keyctl`, and its request for keys of one's own.
_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
_JOIN_SESSION_KEYRING = 1
_libc = ctypes.CDLL(None, use_errno=True)


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
    try:
        become(words)
    except OSError as error:
        os.write(2, f"{words[0]}: {error.strerror}\n".encode("utf-8", "surrogateescape"))
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
