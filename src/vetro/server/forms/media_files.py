"""Files that UI definitions name in ``widgetMedia``: of an operator's folders, else our replacements of the old ones.

Knows nothing of Django: `vetro check` looks here, too. A file of a package is never served.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

#: Replacements of the scripts and style sheets that came with Murano's dashboard, under their old names.
BUILT_IN = Path(__file__).parent / "builtin_media"
#: Kinds of files that are served, by the end of the name.
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".gif": "image/gif",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
_LONGEST = 512


def find_in(folders: Iterable[Path | str], name: str) -> tuple[Path, str] | None:
    """The file ``name`` of the first folder that has it, else our own, and its type; None where there is none.

    Names are relative to a folder: nothing outside of it is found, also not through a link, and nothing whose type
    is not in `TYPES`.
    """
    kind = TYPES.get(Path(name).suffix.lower()) if len(name) <= _LONGEST else None
    parts = name.split("/")
    if kind is None or "\\" in name or "\0" in name or any(part in ("", ".", "..") for part in parts):
        return None
    for folder in (*map(Path, folders), BUILT_IN):
        try:
            root = folder.resolve(strict=True)
            found = root.joinpath(*parts).resolve(strict=True)
        except (OSError, RuntimeError):  # not there, not to be read, or links that lead to each other
            continue
        if found.is_relative_to(root) and found.is_file():
            return found, kind
    return None
