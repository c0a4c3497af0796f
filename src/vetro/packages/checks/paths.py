"""`check_paths`: all findings of the packages at some paths, as `vetro check` and the import of a catalog use them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from vetro.diagnostics import ERROR, Diagnostic
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.errors import MuranoError
from vetro.packages.checks.classes import check_classes
from vetro.packages.checks.package import check_tree
from vetro.packages.directory import open_tree
from vetro.packages.errors import PackageError
from vetro.packages.extensions.plugins import required_extensions
from vetro.packages.load import load_path, open_package
from vetro.packages.paths import MANIFEST


def package_paths(path: str) -> list[str]:
    """The packages below ``path``: itself, or every folder with a manifest and every archive, in order."""
    if not os.path.isdir(path) or os.path.isfile(os.path.join(path, MANIFEST)):
        return [path]
    found: list[str] = []
    for folder, folders, files in os.walk(path):
        folders.sort()
        if MANIFEST in files:
            found.append(folder)
            folders.clear()
            continue
        found.extend(os.path.join(folder, f) for f in sorted(files) if f.endswith(".zip"))
    return found


def check_paths(paths: Iterable[str], others: Iterable[str] = ()) -> list[tuple[str, Diagnostic]]:
    """(path, finding) for every package at ``paths``; they and ``others`` may require each other.

    Extensions that they require are imported when they are installed (PACKAGES 6).
    """
    findings: list[tuple[str, Diagnostic]] = []
    loaded: list[tuple[str, Any]] = []
    for given in paths:
        below = package_paths(given)
        if not below:
            text = "there is no package here"
            hint = f"a package is a folder with {MANIFEST}, or a ZIP of such a folder's contents"
            findings.append((given, Diagnostic("PKG101", ERROR, text, hint, Position(given, 1, 1))))
        for path in below:
            package = _load(path, findings)
            if package is not None:
                loaded.append((path, package))
    known = [package for _, package in loaded]
    for path in others:
        known += load_path(path)
    extensions = required_extensions(known)
    known += extensions.packages
    for path, package in loaded:
        mates = [p for p in known if p is not package]
        findings += [(path, p) for p in check_classes(package, mates, natives=extensions.natives)]
    return findings


def _load(path: str, findings: list[tuple[str, Diagnostic]]) -> Any:
    """The package, or None; what its manifest and files get wrong is added to ``findings``."""
    try:
        problems = check_tree(open_tree(path))
        findings += [(path, p) for p in problems]
        if any(p.severity == "error" for p in problems):
            return None
        return open_package(path)
    except (PackageError, MuranoError) as error:
        position = error.position or Position(path, 1, 1)
        findings.append((path, Diagnostic(error.code, ERROR, error.message, error.hint, position)))
    except OSError as error:
        findings.append(
            (path, Diagnostic("PKG101", ERROR, f"cannot be read: {error.strerror}", place=Position(path, 1, 1)))
        )
    return None
