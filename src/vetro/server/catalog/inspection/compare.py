"""Two versions of a package compared, inside of the walls (`vetro.server.sandboxed_answers`)."""

from __future__ import annotations

from typing import Any

from vetro.diagnostics import encode_messages
from vetro.forms.compatibility import compare_versions
from vetro.packages.archive import ArchiveLimits, ArchiveTree
from vetro.packages.formats import default_registry
from vetro.packages.package import LoadedPackage
from vetro.server.catalog.inspection.read import opened
from vetro.yaql.errors import VetroError

#: What both versions are filed under while they are compared; places are named without it.
_OLD, _NEW = "old", "new"


def answer(question: dict[str, Any], blobs: list[bytes]) -> tuple[dict[str, Any], list[bytes]]:
    """({compared: what `Comparison.as_data` gives} or {failed: why it cannot be compared}, no blobs).

    ``blobs``: the old version, the new one, packages that come with it. ``others``: paths of packages that they
    require. ``seconds``: how long it may take, beyond reading the classes.
    """
    limits = ArchiveLimits(**question["limits"])
    try:
        old, new = _loaded(blobs[0], _OLD, limits), _loaded(blobs[1], _NEW, limits)
        mates = [_loaded(blob, f"package-{number}", limits) for number, blob in enumerate(blobs[2:])]
        done = compare_versions(old, new, [*mates, *opened(question["others"])], seconds=question["seconds"])
    except VetroError as error:
        return encode_messages({"failed": error.message}), []
    told = done.as_data()
    for finding in told["findings"]:
        for side, location in (("old", old.location), ("new", new.location)):
            if finding[side] is not None:
                finding[side]["file"] = finding[side]["file"].removeprefix(f"{location}/")
    return {"compared": encode_messages(told)}, []


def _loaded(data: bytes, location: str, limits: ArchiveLimits) -> LoadedPackage:
    return default_registry().load(ArchiveTree(data, location=location, limits=limits))
