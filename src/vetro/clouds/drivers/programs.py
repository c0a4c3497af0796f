"""What a machine has for servers of its own: programs, room, rights."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from vetro.clouds.drivers.tools import which
from vetro.clouds.kind_protocols import Remark
from vetro.diagnostics import Text

#: Bytes that must be free for servers.
LEAST_ROOM = 1 << 30


def room_missing(directory: Path) -> str | None:
    """Why a cloud in this folder has no room for servers; None when it has."""
    place = next(folder for folder in (directory, *directory.absolute().parents) if folder.is_dir())
    free = shutil.disk_usage(place).free
    return (
        None if free >= LEAST_ROOM else Text("{place} has only {free} MiB of free space", place=place, free=free >> 20)
    )


def examine_programs(programs: Mapping[str, str], purpose: str, *, root: bool) -> Remark:
    """Whether these programs (with the packages of Debian that hold them) are there, and whether we may use them."""
    absent = {program: package for program, package in programs.items() if which(program) is None}
    install = Text("apt install {packages}", packages=" ".join(sorted(set(absent.values()))))
    if root and os.geteuid() != 0:
        become = Text("run Vetro as root")
        advice: str = Text("{one}; {other}", one=install, other=become) if absent else become
    elif absent:
        advice = install
    else:
        return Remark("ok", purpose)
    missing = Text("not found: {programs}", programs=", ".join(sorted(absent)))
    reason = missing if absent else Text("only for root")
    return Remark("warning", Text("{purpose}; {reason}", purpose=purpose, reason=reason), advice)
