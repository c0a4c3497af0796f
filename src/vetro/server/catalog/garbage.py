"""Removes blobs that nothing names any more: left by refused imports, deleted packages, ended environments."""

from __future__ import annotations

import shutil

from vetro.server.catalog import blobs, hooks
from vetro.server.catalog.models import Package, RetiredVersion
from vetro.server.setup import config

#: Younger blobs may belong to an import that has not committed yet.
GRACE = 3600.0


def used() -> set[str]:
    """Digests that packages, environments and unfinished tasks name."""
    found: set[str] = set()
    for digests in Package.objects.values_list("digest", "ui", "logo", "supplier_logo").iterator():
        found.update(d for d in digests if d)
    # What comes back under the name of a deployed version is compared with it.
    found.update(RetiredVersion.objects.values_list("digest", flat=True))
    return found.union(*hooks.used_digests())


def collect(grace: float = GRACE) -> int:
    """Removes what is not used and older than ``grace`` seconds; how many blobs.

    Of each the age is looked at last: an import makes what it finds young before it commits, and going through a large
    store takes a while.
    """
    store = blobs.store()
    old = store.now() - grace  # a machine with a wrong clock must not remove what is young
    kept = used()
    removed = 0
    for name, at in store.listed():
        if at < old and name not in kept:
            store.remove(name)
            removed += 1
            for folder in ("unpacked", "blobs", "facts"):
                _drop(folder, name)
    return removed


def _drop(folder: str, digest: str) -> None:
    place = config().data / "cache" / folder
    if folder == "blobs":
        blobs.Folder(place).remove(digest)
    elif folder == "facts":
        for path in place.glob(f"{digest}-*"):
            path.unlink(missing_ok=True)
    else:
        shutil.rmtree(place / digest, ignore_errors=True)
