"""Rows of class configurations (`Task.configs`): as settings give them, or out of a folder of files, as installations
of Murano have it (PACKAGES 5)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from vetro.muranopl.declarations.versions import Version
from vetro.packages.configs import ClassConfigs, ConfigError, MemoryConfigs
from vetro.yaql.errors import VetroError

#: ``<class>[-<version>].json`` or ``.yaml``; the version may be partial.
_FILE = re.compile(r"(?P<name>.+?)(?:-(?P<version>\d+(?:\.\d+){0,2}))?\.(?:json|yaml)")
#: In place of the parts that a partial version leaves open: no file names it, so the partial one is found.
_ANY = 1 << 30


def rows_of(given: Any, base: Path) -> list[dict[str, Any]]:
    """The rows that a setting means: itself (a list), or those in the folder that it names. Raises `ConfigError`."""
    if isinstance(given, str):
        return read_rows(base / given) if given else []
    for row in given:
        if not isinstance(row, dict) or not isinstance(row.get("class"), str):
            raise ConfigError("each row is a table with 'class', 'values' and, where it matters, 'version'")
        unknown = sorted(row.keys() - {"class", "version", "values"})
        if unknown:
            raise ConfigError(f"row {row['class']}: there is no '{unknown[0]}'; there are class, values, version")
        if not isinstance(row.get("values", {}), dict):
            raise ConfigError(f"the values of {row['class']} must be a table")
        if not isinstance(row.get("version", ""), str):
            raise ConfigError(f"the version of {row['class']} must be text")
    try:
        MemoryConfigs(given)
    except VetroError as error:
        raise ConfigError(error.message) from None
    return [dict(row) for row in given]


def read_rows(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """``{class, version?, values}`` of each file ``<class>[-<version>].json|yaml``, by name; leaves other files alone.

    Raises `ConfigError` when the folder or a file cannot be read.
    """
    try:
        names = sorted(entry.name for entry in Path(folder).iterdir() if entry.is_file())
    except OSError as error:
        raise ConfigError(f"the folder of class configurations {folder}: {error.strerror}") from None
    configs = ClassConfigs(folder)
    rows: dict[tuple[str, str | None], dict[str, Any]] = {}
    for file in names:
        found = _FILE.fullmatch(file)
        if found is None:
            continue
        name, version = found["name"], found["version"]
        parts = [int(part) for part in version.split(".")] if version else [0]
        major, minor, patch = (*parts, _ANY, _ANY)[:3]
        exact = Version(major=major, minor=minor, patch=patch)
        row = {"class": name, "values": dict(configs.get(name, exact))}
        rows[name, version] = row if version is None else {**row, "version": version}
    return list(rows.values())
