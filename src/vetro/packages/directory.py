"""Folders of packages: packages anywhere below a root, as folders and as archives, versions side by side."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from functools import cached_property

from vetro.muranopl.code_cache import CodeCache
from vetro.muranopl.package_resolver import Package, Skipped
from vetro.packages.archive import ArchiveTree, require_manifest
from vetro.packages.errors import ManifestError, PackageError
from vetro.packages.files import DirectoryTree, FileTree
from vetro.packages.formats import FormatRegistry, default_registry
from vetro.packages.index import read_manifest
from vetro.packages.manifest import Manifest
from vetro.packages.package import LoadedPackage
from vetro.packages.paths import MANIFEST
from vetro.packages.source import PackageList

log = logging.getLogger(__name__)

#: Deeper folders hold no packages.
MAX_DEPTH = 32


def find_packages(root: str | os.PathLike[str], *, archives: bool = False) -> Iterator[str]:
    """Paths of all packages below ``root``, itself included, sorted within each folder.

    A folder with a manifest is a package and nothing below it is searched (PACKAGES 5); so ``App/1.0.0`` and
    ``App/2.0.0`` are two. With ``archives`` every ``*.zip`` is one as well. Hidden folders are left out.
    """
    seen: set[tuple[int, int]] = set()
    stack = [(os.path.abspath(root), 0)]
    while stack:
        folder, depth = stack.pop()
        try:
            info = os.stat(folder)
        except OSError as error:
            log.warning("%s is left out: %s", folder, error.strerror)
            continue
        # Links may lead back up: every folder is visited once.
        identity = (info.st_dev, info.st_ino)
        if identity in seen or depth > MAX_DEPTH:
            continue
        seen.add(identity)
        if DirectoryTree(folder).exists(MANIFEST):
            yield folder
            continue
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            log.warning("%s is left out: %s", folder, error.strerror)
            continue
        if archives:
            yield from (e.path for e in entries if e.name.lower().endswith(".zip") and e.is_file())
        below = [entry.path for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
        stack.extend((path, depth + 1) for path in reversed(below))


def open_tree(path: str | os.PathLike[str]) -> FileTree:
    """The files of the package at ``path``: a folder or a ZIP. Raises `PackageError` when it is neither."""
    if os.path.isdir(path):
        tree: FileTree = DirectoryTree(path)
        if not tree.exists(MANIFEST):
            raise PackageError(f"{tree.location}: there is no {MANIFEST}", hint="name the folder of one package")
        return tree
    if not os.path.exists(path):
        raise PackageError(f"{os.fspath(path)}: no such file or folder")
    tree = ArchiveTree(path)
    require_manifest(tree)
    return tree


class DirectorySource:
    """All packages below a folder; scanned once, when first asked.

    Packages that cannot be used are logged, left out, and listed by `skipped`. ``archives`` takes ``*.zip`` too.
    ``cache`` keeps parsed manifests by content.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        archives: bool = False,
        registry: FormatRegistry | None = None,
        cache: CodeCache | None = None,
    ) -> None:
        self.root = os.path.abspath(root)
        self._archives = archives
        self._registry = registry or default_registry()
        self._cache = cache

    @cached_property
    def index(self) -> PackageList:
        """What the scan found."""
        found = PackageList()
        for path in find_packages(self.root, archives=self._archives):
            found.add(self._load(path))
        return found

    def _load(self, path: str) -> Package | Skipped:
        manifest: Manifest | None = None
        try:
            tree = DirectoryTree(path) if os.path.isdir(path) else open_tree(path)
            manifest = read_manifest(tree, self._cache)
            return self._registry.load(tree, manifest)
        except (PackageError, OSError) as error:
            message = error.message if isinstance(error, PackageError) else f"{error.strerror}: {error.filename}"
            log.warning("%s is left out: %s", path, message)
            if manifest is None:
                return _guess(path, message, error)
            classes = frozenset(manifest.classes)
            return Skipped(path, message, manifest.full_name, str(manifest.version), classes)

    def packages(self, name: str) -> Sequence[Package]:
        """All versions of a package."""
        return self.index.packages(name)

    def packages_with_class(self, class_name: str) -> Sequence[Package]:
        """All package versions that define the class."""
        return self.index.packages_with_class(class_name)

    def skipped(self) -> Sequence[Skipped]:
        """What was left out, and why."""
        return self.index.skipped()

    def all(self) -> list[LoadedPackage]:
        """Every package."""
        return [package for package in self.index.all() if isinstance(package, LoadedPackage)]


def _guess(path: str, message: str, error: Exception) -> Skipped:
    """Without a manifest the name is what the file or folder is called; better than a silent gap in messages."""
    if isinstance(error, ManifestError):
        return Skipped(path, message, os.path.basename(path))
    name = os.path.basename(path)
    return Skipped(path, message, name[:-4] if name.lower().endswith(".zip") else name)
