"""Rows of class configurations (`Task.configs`) out of a folder of files, as old installations have it (PACKAGES 5)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from vetro.muranopl.versions import Version
from vetro.packages.configs import ClassConfigs, ConfigError

#: ``<class>[-<version>].json`` or ``.yaml``; the version may be partial.
_FILE = re.compile(r"(?P<name>.+?)(?:-(?P<version>\d+(?:\.\d+){0,2}))?\.(?:json|yaml)")
#: In place of the parts that a partial version leaves open: no file names it, so the partial one is found.
_ANY = 1 << 30


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
