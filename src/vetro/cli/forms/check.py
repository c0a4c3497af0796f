"""The UI definitions of packages, for `vetro check`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from vetro.diagnostics import ERROR, Diagnostic
from vetro.forms.dynamic import check
from vetro.muranopl.declarations.tree import Position
from vetro.packages.checks.paths import check_paths, package_paths
from vetro.packages.directory import open_tree
from vetro.packages.errors import PackageError
from vetro.packages.index import read_manifest
from vetro.packages.paths import MANIFEST
from vetro.server.forms.media_files import find_in


def findings_of(paths: Sequence[str], others: Sequence[str], media: Sequence[str]) -> list[tuple[str, Diagnostic]]:
    """(path, finding) for packages, which may require ``others``, and for UI definitions, in them or by themselves."""
    packages = [path for path in paths if not is_definition(path)]
    return check_paths(packages, others) + check_definitions(paths, media)


def is_definition(path: str) -> bool:
    """Whether a path of the command line is a definition by itself."""
    return path.endswith((".yaml", ".yml")) and os.path.basename(path) != MANIFEST and os.path.isfile(path)


def check_definitions(paths: Iterable[str], media: Sequence[str] = ()) -> list[tuple[str, Diagnostic]]:
    """(path, finding) for the definition of every package at ``paths``, and for those that are named themselves.

    ``media``: folders with files for ``widgetMedia``, besides those that come with Vetro. What is wrong with a package
    itself is not told here.
    """

    def exists(name: str) -> bool:
        return find_in(media, name) is not None

    findings: list[tuple[str, Diagnostic]] = []
    for given in paths:
        for path in [given] if is_definition(given) else package_paths(given):
            try:
                found = _definition(path)
            except OSError as error:
                findings.append(
                    (path, Diagnostic("PKG101", ERROR, f"cannot be read: {error.strerror}", place=Position(path, 1, 1)))
                )
                continue
            if found is not None:
                findings += [(path, problem) for problem in check(found[0], found[1], media_exists=exists)]
    return findings


def _definition(path: str) -> tuple[bytes, str] | None:
    """Content and file id of the definition at a path; None where a package has none, or cannot be opened."""
    if is_definition(path):
        with open(path, "rb") as file:
            return file.read(), path
    try:
        tree: Any = open_tree(path)
    except (PackageError, OSError):
        return None
    try:
        name = read_manifest(tree).ui
    except (PackageError, OSError):  # a broken manifest is no reason to keep quiet about the definition
        name = None
    inner = f"UI/{name or 'ui.yaml'}"
    try:
        return tree.read(inner), tree.file_id(inner)
    except (PackageError, FileNotFoundError):
        return None
