"""How many more servers this machine can boot, as far as the kernel's watches of files (inotify) go.

Every guest's systemd watches files. The kernel counts the instances of all guests together, whatever their ranges of
ids: an instance counts for the guest's root, and again for whoever made the guest's user namespace, which is this
machine's root (`ucounts(7)` of the kernel: the creator's account in each outer namespace). The default limit of 128
ends that at about a dozen servers, and a guest that gets none does not fail: it hangs.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vetro.clouds.drivers.errors import HostFailed

SETTING = Path("/proc/sys/fs/inotify/max_user_instances")
#: What a server of Debian 12 holds once it runs (measured: docs/local-cloud.md), and enough for one that boots (9).
RUNNING, BOOTING = 7, 12
#: What the rest of the machine is left.
SPARE = 64
_CLOEXEC, _NONBLOCK = 0o2000000, 0o4000
_booting = 0
_guard = threading.Lock()


def limit() -> int:
    """The kernel's limit for one user."""
    return int(SETTING.read_text("ascii"))


def left(wanted: int) -> int:
    """How many of ``wanted`` instances this process's user still gets. None is kept."""
    libc = ctypes.CDLL(None, use_errno=True)
    made: list[int] = []
    try:
        while len(made) < wanted and (handle := libc.inotify_init1(_CLOEXEC | _NONBLOCK)) >= 0:
            made.append(handle)
        return len(made)
    finally:
        for handle in made:
            os.close(handle)


def enough_for(servers: int) -> int:
    """The limit with which so many servers run beside everything else."""
    return -(-(servers * RUNNING + 4 * BOOTING + SPARE) // 64) * 64


def servers_of(limit: int) -> int:
    """How many servers run beside everything else with a limit."""
    return max(0, (limit - SPARE - 4 * BOOTING) // RUNNING)


def remedy(servers: int) -> str:
    """The commands that let so many servers run, now and after a restart."""
    line = f"fs.inotify.max_user_instances={max(enough_for(servers), 512)}"
    return f"sysctl -w {line}; echo {line} > /etc/sysctl.d/60-vetro.conf"


@contextmanager
def room(servers: int) -> Iterator[None]:
    """Held while a server boots beside ``servers`` others. Raises `HostFailed` where it would hang for ever."""
    global _booting
    with _guard:
        wanted = BOOTING * (_booting + 1)
        found = left(wanted)
        if found < wanted:
            raise lacking(servers)
        _booting += 1
    try:
        yield
    finally:
        with _guard:
            _booting -= 1


def lacking(servers: int) -> HostFailed:
    """What is said of a server that cannot boot."""
    error = HostFailed(
        f"no further server can boot beside {servers}: the watches of files (inotify) that this machine has for all"
        f" servers together, {limit()}, are used up"
    )
    error.hint = remedy(servers + 16)
    return error
