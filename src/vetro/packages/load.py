"""Packages from paths, as people name them on a command line."""

from __future__ import annotations

import os

from vetro.muranopl.code_cache import CodeCache
from vetro.packages.directory import open_tree
from vetro.packages.errors import PackageError
from vetro.packages.files import DirectoryTree
from vetro.packages.formats import FormatRegistry, default_registry
from vetro.packages.index import read_manifest
from vetro.packages.package import LoadedPackage
from vetro.packages.paths import MANIFEST
from vetro.packages.repository import RepositorySource


def open_package(
    path: str | os.PathLike[str], *, registry: FormatRegistry | None = None, cache: CodeCache | None = None
) -> LoadedPackage:
    """The one package in a folder or ZIP.

    Raises `PackageError`: `ManifestError`, `ArchiveError`, `UnknownFormat` or `PluginError` where it is one of these.
    """
    tree = open_tree(path)
    return (registry or default_registry()).load(tree, read_manifest(tree, cache))


def load_path(
    path: str | os.PathLike[str], *, registry: FormatRegistry | None = None, cache: CodeCache | None = None
) -> list[LoadedPackage]:
    """All packages at ``path``: a package folder, a ZIP, a folder of packages, or a repository folder.

    A package that is named itself must be sound (raises like `open_package`); what a folder merely contains and
    cannot be used is logged and left out. Raises `PackageError` when there is no usable package at all.
    """
    if not os.path.isdir(path) or DirectoryTree(path).exists(MANIFEST):
        return [open_package(path, registry=registry, cache=cache)]
    source = RepositorySource(path, registry=registry, cache=cache)
    packages = source.all()
    if not packages:
        skipped = source.skipped()
        reasons = "".join(f"\n  {item.location}: {item.message}" for item in skipped)
        raise PackageError(
            f"{os.fspath(path)}: no usable package{reasons}",
            hint=None if skipped else f"a package is a folder with {MANIFEST}, or a ZIP of such a folder's contents",
        )
    return packages
