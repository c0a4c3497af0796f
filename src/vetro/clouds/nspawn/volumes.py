"""Data volumes of a server: file systems in files of this machine, which the server sees below `/run/vetro-volumes`.

A kernel lets no user namespace mount disks, so it is done for the server: a volume is mounted in the mount namespace of
its supervisor, with owners moved to the server's own range of ids, and a copy of that mount goes into the server. On
the volume owners are as without any range, so the next server, with another one, finds its files again.

A program that uses the standard library only, run in the supervisor's mount namespace: ``volumes.py mount FOLDER``
mounts those of ``FOLDER/launch.json``, ``attach FOLDER NAME LEADER`` brings one into a running server. Each may run
again. Nothing takes a volume away from a running server: what a server had when it started is locked in its
namespace, also for us. The server is started again without it.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
import sys
import time
from typing import Any

#: Where servers see their volumes, by the name of the device.
PLACE = "/run/vetro-volumes"
#: Seconds until the kernel has let go of the file of a volume that was unmounted everywhere.
PATIENCE = 10.0
_OPEN_TREE, _MOVE_MOUNT = 428, 429
_OPEN_TREE_CLONE, _CLOEXEC, _MOVE_MOUNT_F_EMPTY_PATH, _AT_FDCWD = 0x1, 0o2000000, 0x4, -100
_NEWNS = 0x00020000


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _tool(*argv: str) -> str:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise OSError(f"'{' '.join(argv[:4])}' ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def _let_go(image: str, why: str) -> None:
    """Waits until nobody has the file mounted any more. Raises OSError: two who write to it would destroy it."""
    end = time.monotonic() + PATIENCE
    while _tool("losetup", "-j", image).strip():
        if time.monotonic() > end:
            raise OSError(why)
        time.sleep(0.05)


def _format(image: str, owner: int) -> None:
    """Gives a file that never held anything a file system, as a whole or not at all."""
    if os.stat(image).st_blocks:
        return
    new = image + ".new"
    with open(new, "wb") as file:
        file.truncate(os.stat(image).st_size)
    options = f"root_owner={owner}:{owner},lazy_itable_init=1,lazy_journal_init=1"
    _tool("mkfs.ext4", "-q", "-F", "-m", "0", "-E", options, new)
    os.replace(new, image)


def _grow(image: str) -> None:
    """Has the file system fill a file that has become larger. Not while it is mounted: not every kernel allows that."""
    with open(image, "rb") as file:
        file.seek(1024)
        head = file.read(28)
        blocks, size = struct.unpack_from("<I", head, 4)[0], 1024 << struct.unpack_from("<I", head, 24)[0]
    if os.stat(image).st_size - blocks * size < size:
        return
    done = subprocess.run(["e2fsck", "-f", "-p", image], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: something was mended
        raise OSError(f"the file system of the volume is damaged: {(done.stdout + done.stderr).strip()[-300:]}")
    _tool("resize2fs", image)


def mount(folder: str, launch: dict[str, Any], volume: dict[str, Any]) -> str:
    """Mounts a volume here with the server's owners; where. Nothing when it is mounted already."""
    image, uid, base = volume["image"], launch["uid"], volume["base"]
    seen = os.path.join(folder, "volumes", volume["name"])
    raw = os.path.join(folder, "volumes", f".{volume['name']}")
    if os.path.ismount(seen):
        return seen
    for path in (seen, raw):
        os.makedirs(path, mode=0o700, exist_ok=True)
    if not os.path.ismount(raw):
        _let_go(image, f"the volume {volume['title']} is still in use by another server")
        _format(image, base)
        _grow(image)
        _tool("mount", "-t", "ext4", "-o", "loop,nosuid,nodev", image, raw)
    if base == uid:
        _tool("mount", "--bind", raw, seen)
    else:
        idmap = os.path.join(os.path.dirname(os.path.abspath(__file__)), "idmap.py")
        _tool(sys.executable, "-I", "-S", idmap, raw, str(base), str(uid), seen, "writable")
    if volume.get("read_only"):
        _tool("mount", "-o", "remount,bind,ro", seen)
    return seen


def _mounts(pid: str) -> list[str]:
    """Where a process sees mounts."""
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        rows = [line.split() for line in table]
    return [row[4] for row in rows]


def _enter(leader: str) -> None:
    """Goes into the server's mount namespace, with its root as ours: no link of it leads out."""
    root = os.open(f"/proc/{leader}/root", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    space = os.open(f"/proc/{leader}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    _checked(_libc().setns(space, _NEWNS))
    os.fchdir(root)
    os.chroot(".")


def attach(folder: str, launch: dict[str, Any], volume: dict[str, Any], leader: str) -> None:
    """Brings a volume into a running server, which has made the folder for it."""
    seen, target = mount(folder, launch, volume), f"{PLACE}/{volume['name']}"
    if target in _mounts(leader):
        return
    tree = _checked(_libc().syscall(_OPEN_TREE, _AT_FDCWD, os.fsencode(seen), _OPEN_TREE_CLONE | _CLOEXEC))
    _enter(leader)
    _checked(_libc().syscall(_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH))


def main(argv: list[str]) -> None:
    """See the module."""
    what, folder = argv[:2]
    with open(os.path.join(folder, "launch.json"), encoding="utf-8") as file:
        launch = json.load(file)
    volumes = {volume["name"]: volume for volume in launch.get("volumes") or ()}
    if what == "mount":
        for volume in volumes.values():
            mount(folder, launch, volume)
    else:
        attach(folder, launch, volumes[argv[2]], argv[3])


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as error:
        sys.exit(str(error))
