"""Which driver this machine can run, and why not a better one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from vetro.clouds.drivers.base import DriverError
from vetro.clouds.drivers.tools import which
from vetro.clouds.images.store import ImageStore
from vetro.clouds.nspawn.cgroups import Cgroups

#: Bytes that must be free for servers.
LEAST_ROOM = 1 << 30
_TOOLS = ("systemd-nspawn", "ip", "nft", "nsenter", "unshare", "setsid", "mount")


class Choice(NamedTuple):
    """The driver to use, and one line for a person that says why it and no better one."""

    name: str
    reason: str


def nspawn_missing(images: ImageStore | None = None) -> str | None:
    """What this machine lacks for nspawn servers; None when it has it all. Without ``images`` those do not count."""
    if os.geteuid() != 0:
        return "it needs root"
    tools = [tool for tool in _TOOLS if which(tool) is None]
    if tools:
        return f"these programs are not installed: {', '.join(tools)}"
    if not Cgroups().hierarchies():
        return "no control groups are mounted under /sys/fs/cgroup"
    try:
        filesystems = Path("/proc/filesystems").read_text("ascii").split()
    except OSError:
        filesystems = []
    if "overlay" not in filesystems:
        return "the kernel has no overlay file system"
    for words, lack in (
        (["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "true"], "namespaces cannot be made"),
        (["nft", "list", "tables"], "the packet filter (nft) cannot be used"),
    ):
        if subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True).returncode != 0:
            return f"{lack} here (is this itself a container?)"
    if images is not None and not any(image.shifted.is_dir() for image in images.list()):
        return "there is no image yet: vetro image build debian-12"
    return None


def proot_missing(images: ImageStore | None = None) -> str | None:
    """What this machine lacks for proot servers; None when it has it all."""
    if os.geteuid() == 0:
        return "it protects nothing from root: as root use nspawn"
    if which("proot") is None:
        return "proot is not installed"
    if images is not None and not images.list():
        return "there is no image yet: vetro image build debian-12, or vetro image import FILE"
    return None


def choose_driver(
    directory: Path | None = None, *, wanted: str | None = None, images: ImageStore | None = None
) -> Choice:
    """The best driver that works here: nspawn as root, proot as another user, else record.

    ``directory`` is where the cloud is to be kept, ``wanted`` names a driver; raises `DriverError` with the reason when
    that one does not work here.
    """
    store = images if images is not None else ImageStore()
    lacks = {"nspawn": nspawn_missing(store), "proot": proot_missing(store), "record": None}
    for name in ("nspawn", "proot"):
        if lacks[name] is None and directory is not None:
            lacks[name] = _room_missing(directory)
    if wanted is not None:
        if wanted not in lacks:
            raise DriverError(f"there is no driver '{wanted}'; there are nspawn, proot and record")
        if lacks[wanted] is not None:
            raise DriverError(f"the driver '{wanted}' does not work here: {lacks[wanted]}")
        return Choice(wanted, "as wanted")
    name = next(name for name, lack in lacks.items() if lack is None)
    why = "; ".join(f"no {other}: {lack}" for other, lack in lacks.items() if lack is not None)
    does = {
        "nspawn": "servers are containers that run what the packages say",
        "proot": "servers are folders, without an init system and without protection from their scripts",
        "record": "nothing is executed, everything is written down",
    }[name]
    return Choice(name, f"{does}; {why}" if name != "nspawn" else does)


def _room_missing(directory: Path) -> str | None:
    place = next(folder for folder in (directory, *directory.absolute().parents) if folder.is_dir())
    free = shutil.disk_usage(place).free
    return None if free >= LEAST_ROOM else f"{place} has only {free >> 20} MiB of free space"
