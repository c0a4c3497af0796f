"""What comes with Vetro besides the program: the examples, and the applications of its catalog."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import vetro
from vetro.muranopl.declarations.version import Version
from vetro.muranopl.declarations.versions import allows

#: What the packages of the catalog's applications are called, in small letters, up to the name of the application.
_CATALOG = "io.vetro.catalog."


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


def application_folder(name: str, spec: str = "") -> Path | None:
    """The folder of an application of the catalog, by its name whatever its case or by that of its package; of its
    newest version that ``spec`` allows (a version, or what a manifest requires). None where there is none."""
    short = name.lower().removeprefix(_CATALOG)
    folders = next((folders for known, folders in applications().items() if known.lower() == short), ())
    exact = [path for path in folders if path.name == spec]
    fitting = exact or [path for path in folders if allows(spec, path.name)]
    return fitting[-1] if fitting else None


@cache
def categories() -> dict[str, tuple[str, ...]]:
    """Full name of a package that comes with Vetro -> the categories it belongs to: packages name none themselves."""
    found: dict[str, tuple[str, ...]] = {}
    for place in filter(None, map(bundled_folder, ("examples", "catalog"))):
        found |= {name: tuple(row) for name, row in json.loads((place / "categories.json").read_text("utf-8")).items()}
    return found


def behind_required(found: Mapping[str, Sequence[Any]]) -> list[str]:
    """The names of these packages, each behind those that one of its versions requires."""
    full = {packages[0].name: name for name, packages in found.items()}
    order: dict[str, None] = {}

    def add(name: str) -> None:
        for package in found[name]:
            for required in package.requirements:
                if (other := full.get(required, name)) != name and other not in order:
                    add(other)
        order[name] = None

    for name in found:
        add(name)
    return list(order)
