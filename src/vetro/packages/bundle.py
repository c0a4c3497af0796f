"""What comes with Vetro besides the program: the examples, and the applications of its catalog."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from semantic_version import Version

import vetro


@cache
def bundled_folder(name: str) -> Path | None:
    """``examples`` or ``catalog``: beside the program as it is installed, else in the checkout; None without it."""
    program = Path(vetro.__file__).parent
    for place in (program / name, program.parent.parent / name):
        if (place / "README.md").is_file():
            return place
    return None


@cache
def applications() -> dict[str, tuple[Path, ...]]:
    """The applications of the catalog: name -> folders of its versions, oldest first. Empty where they are missing."""
    place = bundled_folder("catalog")
    found: dict[str, tuple[Path, ...]] = {}
    for folder in sorted(place.iterdir()) if place is not None else ():
        versions = [path for path in folder.iterdir() if path.name[0].isdigit()] if folder.is_dir() else []
        if versions:
            found[folder.name] = tuple(sorted(versions, key=lambda path: Version(path.name)))
    return found
