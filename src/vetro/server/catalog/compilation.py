"""Compiled code of packages that were imported on another machine, or by another version of the program.

An import leaves compiled code in the cache of its own machine. A worker with a data directory of its own, or after an
upgrade, finds none there, and each of its tasks would compile all packages anew. `compile_missing` makes what this
machine lacks, as an import does: processes behind the walls compile it, this one signs it, and tasks only read it.
"""

from __future__ import annotations

from collections.abc import Iterable

from vetro.server.caller import Caller
from vetro.server.catalog import blobs
from vetro.server.catalog.dependencies import required_archives
from vetro.server.catalog.inspection.client import check_archives, compiled_here, compiles
from vetro.server.catalog.models import Package


def compile_missing(digests: Iterable[str]) -> int:
    """Compiles those of these archives whose code this machine lacks; how many.

    Left out are archives that are in no catalog any more, and those that several projects have without one of them
    being public: code that one project's process made is nothing for the others. Raises what reading or examining an
    archive raises.
    """
    done = 0
    for digest in digests if compiles() else ():
        if compiled_here(str(blobs.location_of(digest))):
            continue
        package = _owned(digest)
        if package is not None:
            _compile(package)
            done += 1
    return done


def _owned(digest: str) -> Package | None:
    """The package with this archive whose owner answers for what it compiles to."""
    rows = list(Package.objects.filter(digest=digest, embedded=False).order_by("-is_public")[:2])
    return rows[0] if rows and (rows[0].is_public or len(rows) == 1) else None


def _compile(package: Package) -> None:
    owner = Caller("system", "system", package.project_id, "", ())
    paths = required_archives(owner, [package], {package.fqn})
    archive = blobs.get(package.digest), str(blobs.location_of(package.digest))
    check_archives(package.project_id, [archive], paths, fresh=package.is_public)
