"""Ranges of user ids, one for each server of this machine, whichever cloud it belongs to.

A range is a file named after its number that says whose it is; it is free again once the server's folder is gone. What
is shared by all servers of one range (keys of the kernel's key store, files by owner) is then a server's own.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from vetro import file_lock
from vetro.clouds.drivers.errors import HostFailed
from vetro.clouds.drivers.tools import run
from vetro.clouds.images.shift import BASE, RANGE
from vetro.clouds.nspawn import idmap
from vetro.diagnostics import Text

#: Kept over restarts of the machine, as the disks of servers are.
FOLDER = Path("/var/lib/vetro/ids")
#: Ranges beyond the images' own one, up to what systemd keeps for itself.
_COUNT = (0x7FFE_0000 - BASE) // RANGE
_LEAST_KERNEL = (5, 19)


def take(server: Path, folder: Path = FOLDER) -> int:
    """The first id of the server kept in this folder: the one that it has, or that of a free range.

    Raises `HostFailed` when there is none.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    with file_lock.exclusive(folder / "lock"):
        holders = {path.name: path.read_text("utf-8") for path in folder.iterdir() if path.name != "lock"}
        mine = next((name for name, holder in holders.items() if holder == str(server)), None)
        free = (f"{BASE + number * RANGE:x}" for number in range(1, _COUNT))
        name = mine or next((one for one in free if not os.path.isdir(holders.get(one, ""))), None)
        if name is None:
            raise HostFailed(Text("all {count} ranges of user ids of this machine have servers", count=_COUNT - 1))
        if mine is None:
            (folder / name).write_text(str(server), "utf-8")
        return int(name, 16)


def lacking(tree: Path, first: int) -> str | None:
    """Why servers over the tree of an image cannot have ids of their own here; None when they can. Changes nothing."""
    release = platform.release()
    numbers = tuple(int(word) for word in release.split("-")[0].split(".")[:2] if word.isdigit())
    if numbers < _LEAST_KERNEL:
        return Text("the kernel is {release}, and 5.19 is needed", release=release)
    try:
        run([sys.executable, "-I", "-S", str(idmap.__file__), str(tree), str(first), str(first + RANGE)])
    except HostFailed as error:
        return Text("no id-mapped mount of {tree}: {message}", tree=tree, message=error.message)
    return None
