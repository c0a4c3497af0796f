"""Places in packages as people know them: ``package version: file``, never where this machine keeps the file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import vetro.library

_STANDARD = os.path.dirname(str(vetro.library.__file__)) + os.sep


def told(error: Mapping[str, Any], packages: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """An error as tasks describe it (`vetro.engine.failure`), with such places; ``packages``: fqn, version, digest."""
    names = {package["digest"]: f"{package['fqn']} {package['version']}" for package in packages}
    found = dict(error)
    if isinstance(found.get("position"), Mapping):
        found["position"] = _placed(found["position"], names)
    if isinstance(found.get("frames"), list):
        found["frames"] = [_placed(f, names) if isinstance(f, Mapping) else f for f in found["frames"]]
    return found


def _placed(place: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {**place, "file": file_of(str(place.get("file") or ""), names)}


def file_of(file: str, names: Mapping[str, str]) -> str:
    """One file; ``names``: digest -> package."""
    if file.startswith(_STANDARD):
        package, _, inner = file.removeprefix(_STANDARD).partition(os.sep)
        return f"{package}: {inner}"
    for digest, name in names.items():
        _, found, inner = file.partition(digest)
        if found:
            return f"{name}: {inner.removeprefix('.zip').lstrip('/')}"
    return os.path.basename(file)
