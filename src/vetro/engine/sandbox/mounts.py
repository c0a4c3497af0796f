"""A file system of its own for this process, in which there are some folders and files, read-only, and nothing else.

It takes the place of Landlock where the kernel has none or a container forbids it (systemd-nspawn does), and the
process is root still. What is shown keeps its path, whatever the modes of the folders above it are: so the tasks' user
reads a program that root installed below ``/root``.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from vetro.engine.sandbox import kernel

_READ_ONLY, _NO_SUID, _NO_DEVICES, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
#: What another mount of the same may not leave out, where a container's owner set it.
_KEPT: Final = os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME
_DETACH: Final = 2
_PIVOT_ROOT: Final = {"x86_64": 155, "aarch64": 41}
#: Folders that most systems have: the new root stands on one of them, until it is the root.
_PLACES: Final = ("/mnt", "/media", "/srv", "/opt", "/tmp", "/run")


def enter(readable: Iterable[str]) -> str:
    """Leaves this process with these paths; those that do not exist are left out. What is in force, for people.

    Raises `OSError` where that cannot be done; the process still sees what it saw then, in mounts of its own perhaps.
    """
    if os.geteuid() != 0 or kernel.MACHINE not in _PIVOT_ROOT:
        raise OSError(1, "only root can have a file system of its own")
    paths = list(_outermost(readable))
    place = next((path for path in _PLACES if os.path.isdir(path) and not _covers(path, paths)), None)
    if place is None:
        raise OSError(2, "there is no folder for another root")
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount(None, "/", None, _RECURSIVE | _PRIVATE)
    kernel.mount("vetro", place, "tmpfs", _NO_SUID | _NO_DEVICES, "mode=755,size=64k")
    mask = os.umask(0o022)
    try:
        for path in paths:
            _show(path, place + path)
        os.chdir(place)
        kernel.mount(None, place, None, _REMOUNT | _BIND | _READ_ONLY | _NO_SUID | _NO_DEVICES)
    finally:
        os.umask(mask)
    here = ctypes.c_char_p(b".")
    kernel.syscall(_PIVOT_ROOT[kernel.MACHINE], here, here)
    kernel.unmount(".", _DETACH)
    os.chdir("/")
    return "a file system of its own"


def _show(path: str, target: str) -> None:
    try:
        folder = stat.S_ISDIR(os.stat(path).st_mode)
    except OSError:
        return  # whoever wants to read it says better what is wrong
    if folder:
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    kernel.mount(path, target, None, _BIND)
    kept = os.statvfs(target).f_flag & _KEPT
    kernel.mount(None, target, None, _REMOUNT | _BIND | _READ_ONLY | _NO_SUID | _NO_DEVICES | kept)


def _outermost(readable: Iterable[str]) -> Iterator[str]:
    """The paths without those below another one: nothing is ever made inside of what is shown."""
    found: list[str] = []
    for path in sorted({os.path.abspath(path) for path in readable}, key=len):
        if not any(path == above or path.startswith(above.rstrip("/") + "/") for above in found):
            found.append(path)
            yield path


def _covers(place: str, paths: Iterable[str]) -> bool:
    """Whether one of the paths would be hidden by what is mounted at the place, also through links."""
    real = [found for path in paths for found in (path, os.path.realpath(path))]
    places = {place, os.path.realpath(place)}
    return any(path == one or path.startswith(one + "/") for path in real for one in places)
