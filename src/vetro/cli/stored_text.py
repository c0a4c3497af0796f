"""`stored_text`: the text of a file of a package, for messages about it."""

from __future__ import annotations

import os

from vetro.packages.archive import ArchiveTree

#: Files beyond this size are not shown in messages.
MAX_SHOWN = 4 * 1024 * 1024


def stored_text(file: str) -> str | None:
    """Text of a file on disk, or of one in an archive (``x.zip/Classes/A.yaml``); None when there is none."""
    try:
        if os.path.isfile(file):
            if os.path.getsize(file) > MAX_SHOWN:
                return None
            with open(file, "rb") as stream:
                data = stream.read()
            return None if b"\0" in data else data.decode("utf-8-sig", "replace")
        archive, found, inner = file.partition(".zip/")
        if found and os.path.isfile(archive + ".zip"):
            return ArchiveTree(archive + ".zip").read(inner).decode("utf-8-sig", "replace")
    except Exception:  # only decoration of another message
        return None
    return None
