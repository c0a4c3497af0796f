"""The packages of examples/, as archives: what fills an empty catalog with one click."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import vetro


def folder() -> Path | None:
    """Where the examples are: beside the program as it is installed, else in the checkout; None without them."""
    program = Path(vetro.__file__).parent
    for place in (program / "examples", program.parent.parent / "examples"):
        if (place / "README.md").is_file():
            return place
    return None


@cache
def archives() -> tuple[bytes, ...]:
    """All of them, those of which there are several versions too."""
    from vetro.packages.checks.paths import package_paths
    from vetro.packages.load import open_package

    place = folder()
    return () if place is None else tuple(open_package(path).blob for path in package_paths(str(place)))
