"""`used`: what an installation takes on disks: its database, archives, cloud, images, caches; what can be removed."""

from __future__ import annotations

import os
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from django.db.models import Q, Sum

from vetro.clouds import overview
from vetro.clouds.images.store import ImageStore
from vetro.data_classes import dataclass
from vetro.server.catalog import blobs, garbage
from vetro.server.catalog.models import Package
from vetro.server.config.config import Config
from vetro.server.operations.doctor.growth import database_size
from vetro.server.tasks import clock
from vetro.server.tasks.models import JournalTask, Task

#: Seconds for counting a folder, and for which what was counted holds.
_COUNTING: Final = 5.0
_HOLDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class DiskUse:
    """Something that takes room. ``name``: database, archives, cloud, images or cache; ``path``: a folder, or the
    address of a store. ``bytes``: None where nobody counts. ``whole``: whether all of it was counted."""

    name: str
    path: str
    bytes: int | None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Disk:
    """What is used, and what is free beside it."""

    places: tuple[DiskUse, ...]
    #: Of the file system of the data directory.
    free: int
    size: int
    #: What the next cleaning removes: archives that nothing names, journals that are too old.
    archives: int
    journals: int
    at: datetime


_lock = threading.Lock()
#: Data directory -> what was counted there, and until when it holds.
_counted: dict[Path, tuple[Disk, float]] = {}


def used(config: Config, *, anew: bool = False) -> Disk:
    """What there is; counted at most once in a minute unless ``anew``, and each folder for some seconds at most."""
    with _lock:
        found, until = _counted.get(config.data, (None, 0.0))
        if found is None or anew or time.monotonic() > until:
            found = _count(config)
            _counted[config.data] = found, time.monotonic() + _HOLDS
        return found


def _count(config: Config) -> Disk:
    address = str(config["storage.blobs"])
    remote = "://" in address
    database = str(config["database.url"])
    own = "the database server" if database.startswith("postgres") else str(config.data)
    named = Package.objects.aggregate(all=Sum("size", filter=~Q(digest="")))["all"] or 0
    places = [
        DiskUse("database", own, database_size()),
        DiskUse("archives", address, int(named)) if remote else _folder("archives", config.path("storage.blobs")),
        _folder("cloud", config.path("cloud.directory")),
        _folder("images", ImageStore().folder),
        _folder("cache", config.data / "cache"),
    ]
    disk = os.statvfs(config.data)
    old = clock.after(-timedelta(days=int(config["retention.journal_days"])).total_seconds())
    journals = JournalTask.objects.filter(task__state__in=Task.FINAL, task__finished__lt=old).count()
    return Disk(
        places=tuple(places),
        free=disk.f_bavail * disk.f_frsize,
        size=disk.f_blocks * disk.f_frsize,
        archives=0 if remote else _unnamed(),
        journals=journals,
        at=clock.read(),
    )


def _folder(name: str, path: Path) -> DiskUse:
    until = time.monotonic() + _COUNTING
    count = overview.used(path, until)
    return DiskUse(name, str(path), count, time.monotonic() <= until)


def _unnamed() -> int:
    """Archives that the next cleaning removes."""
    store = blobs.store()
    old = store.now() - garbage.GRACE
    kept = garbage.used()
    return sum(1 for name, at in store.listed() if at < old and name not in kept)
