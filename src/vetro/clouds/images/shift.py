"""Owners of an image's files moved once into the range of a user namespace (LOCAL_CLOUD.md 4, experiment 10)."""

from __future__ import annotations

import os
import stat
import struct

#: Identities of a guest.
RANGE = 65536
#: First identity here of guests: a multiple of `RANGE` below those that people and containers usually get.
BASE = 0x6F00_0000
_CAPABILITY = "security.capability"


def shift(root: str, base: int = BASE) -> int:
    """Adds ``base`` to the owners of everything under ``root``; gives how many files there are.

    Special bits and file capabilities, which the kernel drops with a new owner, are set again. Files of identities
    beyond the range become those of nobody.
    """
    count = 0
    _one(root, base)
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            _one(os.path.join(folder, name), base)
            count += 1
    return count


def _one(path: str, base: int) -> None:
    info = os.lstat(path)
    uid, gid = (number if number < RANGE else RANGE - 2 for number in (info.st_uid, info.st_gid))
    link = stat.S_ISLNK(info.st_mode)
    capability = None
    if stat.S_ISREG(info.st_mode) and info.st_mode & 0o111:
        try:
            capability = os.getxattr(path, _CAPABILITY, follow_symlinks=False)
        except OSError:
            pass
    os.lchown(path, uid + base, gid + base)
    if not link and info.st_mode & 0o6000:
        os.chmod(path, stat.S_IMODE(info.st_mode))
    if capability is not None and len(capability) >= 20:
        # Version 3 names the identity that is root in the namespace for which the capability is meant.
        flags = struct.unpack_from("<I", capability)[0] & 0x00FF_FFFF | 0x0300_0000
        os.setxattr(path, _CAPABILITY, struct.pack("<I", flags) + capability[4:20] + struct.pack("<I", base))
