"""Disks of new servers: how large they are, and of which file system."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vetro.clouds.drivers.tools import attempt, which
from vetro.diagnostics import Text


def size(flavor: Mapping[str, Any]) -> int:
    """GiB of the server's disk; 0 where this machine has no loop devices to hold a disk file."""
    return max(1, int(flavor.get("disk") or 10)) if os.path.exists("/dev/loop-control") else 0


def type_of_new() -> str:
    """btrfs, which keeps a disk while its server runs, where this machine can make and mount that; else ext4."""
    return "ext4" if no_btrfs() or not os.path.exists("/dev/loop-control") else "btrfs"


def no_btrfs() -> str | None:
    """Why disks cannot be btrfs; None when they can."""
    if which("mkfs.btrfs") is None:
        return Text("mkfs.btrfs is not installed")
    try:
        known = "btrfs" in Path("/proc/filesystems").read_text("ascii").split()
    except OSError:
        known = False
    return None if known or attempt(["modprobe", "btrfs"]) else Text("the kernel has no btrfs")
