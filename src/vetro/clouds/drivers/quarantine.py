"""Servers that the cloud does not know, although they have a disk: stopped and kept for a day before they are removed.

A cloud that lost its last moments, or was restored from an older backup, would else take the data of servers for
leftovers. As soon as the cloud knows such a server again, it is one as before.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vetro.clouds.drivers.spec_files import load, save

#: Seconds until it is removed.
KEPT = 86_400.0
_MARK = "quarantine.json"


def put(folder: Path) -> None:
    """Puts the server kept in this folder there; nothing when it is there already. The caller stops it."""
    if not held(folder):
        save(folder / _MARK, {"since": time.time(), "wanted": load(folder / "wanted.json")})


def held(folder: Path) -> bool:
    """Whether the server is there."""
    return (folder / _MARK).exists()


def over(folder: Path) -> bool:
    """Whether its time there is over."""
    return time.time() >= until(folder)


def until(folder: Path) -> float:
    """When it will be removed."""
    mark = load(folder / _MARK)
    return float(mark["since"]) + KEPT if isinstance(mark, Mapping) else 0.0


def lift(folder: Path) -> None:
    """Takes it out again: it counts as ended, and is started as any such server, unless somebody had stopped it."""
    mark: Any = load(folder / _MARK)
    if isinstance(mark, Mapping):
        save(folder / "wanted.json", mark["wanted"])
        (folder / "ended.json").unlink(missing_ok=True)
    (folder / _MARK).unlink(missing_ok=True)
