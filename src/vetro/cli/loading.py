"""Packages named on a command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def load_packages(paths: Iterable[str]) -> list[Any]:
    """All packages of the paths (folders, archives, folders of packages). Raises `PackageError`."""
    from vetro.packages import load_path

    found: list[Any] = []
    for path in paths:
        found.extend(load_path(path))
    return found


def source_finder(packages: Iterable[Any]) -> Callable[[str], str | None]:
    """Text of a class file by its file id, over ``packages``."""
    known = list(packages)

    def find(file: str) -> str | None:
        for package in known:
            for name, file_id in package.classes.items():
                try:
                    class_text = package.read_class(name)
                except Exception:
                    continue
                if file in (file_id, class_text[1]):
                    return str(class_text[0])
        return None

    return find
