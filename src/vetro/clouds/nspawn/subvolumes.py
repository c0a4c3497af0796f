"""Makes and removes the subvolumes of a server's btrfs disk: ``subvolumes.py FOLDER [frozen]``.

A program of its own (`python -I -S`) that uses the standard library only, as the supervisor, which starts it whenever
it has mounted the disk; for a server that runs, the driver has it run in the supervisor's mount namespace.
``FOLDER/launch.json`` says which subvolumes there have to be and what each is a copy of (`supervisor.Subvolumes`). A
copy is one call of the kernel: it is there as a whole or not at all, so whatever was broken off is done by running this
again.

With ``frozen`` all processes of the server stand still while copies are made, and the seconds are written to standard
output. What ends this program in between is mended by the next run, and by whoever ends the server.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any

#: The subvolume that a new disk has; beginnings of the names of those that are written to, and of those that are kept.
FIRST, LIVE, KEPT = "live.1", "live.", "kept."
#: Requests of the kernel's file <linux/btrfs.h>.
_CREATE, _DESTROY, _SNAPSHOT, _SYNC = 0x5000940E, 0x5000940F, 0x50009417, 0x9408
_READ_ONLY = 2
#: Seconds: to freeze a server, to make room by what was removed, and how short writing has to be before it is frozen.
_FREEZING, _ROOM, _QUICK = 1.0, 20.0, 0.05
#: Rounds of writing what a server has not written to its disk yet, before it stands still.
_ROUNDS = 4


def arrange(folder: str, *, frozen: bool) -> float:
    """Seconds for which the server stood still. Raises OSError; what is there is complete then."""
    with open(os.path.join(folder, "launch.json"), encoding="utf-8") as file:
        launch = json.load(file)
    disk = os.path.join(folder, "disk")
    top = os.open(disk, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return _arrange(disk, top, launch, frozen=frozen)
    finally:
        os.close(top)
        if frozen:
            _thaw(launch["groups"])


def _arrange(disk: str, top: int, launch: dict[str, Any], *, frozen: bool) -> float:
    there = {name for name in os.listdir(disk) if name.startswith((LIVE, KEPT))}
    sources: dict[str, str] = launch.get("sources") or {}
    kept = {name for names in (launch.get("snapshots") or {}).values() for name in names}
    wanted = {launch.get("live") or FIRST, *kept}
    # By age: a copy may be of one that is itself not made yet.
    missing = sorted(wanted - there, key=lambda name: int(name.partition(".")[2]))
    needed = wanted | {sources[name] for name in missing if name in sources}
    _remove(top, there - needed)  # first of all: a disk that the undone has filled has room again
    if missing and frozen:
        for _ in range(_ROUNDS):
            began = time.monotonic()
            fcntl.ioctl(top, _SYNC)
            if time.monotonic() - began < _QUICK:
                break
    began = time.monotonic()
    with _standing(launch["groups"]) if missing and frozen else contextlib.nullcontext():
        for name in missing:
            _make(disk, top, name, sources.get(name))
    stood = time.monotonic() - began if missing else 0.0
    _remove(top, needed - wanted)
    return stood


def _make(disk: str, top: int, name: str, source: str | None) -> None:
    if source is None:
        fcntl.ioctl(top, _CREATE, _named(struct.pack("q", 0), name))
        return
    handle = os.open(os.path.join(disk, source), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        flags = _READ_ONLY if name.startswith(KEPT) else 0
        end = time.monotonic() + _ROOM
        while True:
            try:
                fcntl.ioctl(top, _SNAPSHOT, _named(struct.pack("qQQ4Q", handle, 0, flags, 0, 0, 0, 0), name))
                return
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT) or time.monotonic() > end:
                    raise
            fcntl.ioctl(top, _SYNC)  # what was removed makes room little by little
            time.sleep(0.05)
    finally:
        os.close(handle)


def _remove(top: int, names: set[str]) -> None:
    for name in sorted(names):
        with contextlib.suppress(FileNotFoundError):
            fcntl.ioctl(top, _DESTROY, _named(struct.pack("q", 0), name))
    if names:
        fcntl.ioctl(top, _SYNC)


def _named(head: bytes, name: str) -> bytearray:
    """An argument of the kernel's: 4096 bytes, at the end the name of a subvolume."""
    return bytearray(head + os.fsencode(name).ljust(4096 - len(head), b"\0"))


@contextlib.contextmanager
def _standing(groups: list[str]) -> Iterator[None]:
    """All processes of these control groups stand still meanwhile; after a second without that, it is done as it is:
    a copy is of one moment anyway, what standing still adds is what was written and is in no file yet.
    """
    try:
        for name, word, state, told in (
            ("freezer.state", "FROZEN", "freezer.state", "FROZEN"),
            ("cgroup.freeze", "1", "cgroup.events", "frozen 1"),
        ):
            taken = [group for group in groups if _write(os.path.join(group, name), word)]
            if taken:
                found = [os.path.join(group, state) for group in taken]
                end = time.monotonic() + _FREEZING
                while not all(told in _read(path) for path in found) and time.monotonic() < end:
                    time.sleep(0.001)
                break
        yield
    finally:
        _thaw(groups)


def _thaw(groups: list[str]) -> None:
    for group in groups:
        _write(os.path.join(group, "freezer.state"), "THAWED")
        _write(os.path.join(group, "cgroup.freeze"), "0")


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()


def _write(path: str, text: str) -> bool:
    try:
        with open(path, "r+", encoding="ascii") as file:
            file.write(text)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    print(arrange(sys.argv[1], frozen="frozen" in sys.argv[2:]))
