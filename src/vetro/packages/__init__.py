"""Packages: manifests, versions, formats and where packages come from.

The everyday names are here and are imported when first used, so that a program that only reads a cache does not pay
for archives, YAML and plug-ins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vetro.packages.archive import ArchiveLimits, ArchiveTree, archive_tree
    from vetro.packages.build import build_archive, build_tree
    from vetro.packages.cache import DiskCache
    from vetro.packages.checks.package import check_tree
    from vetro.packages.configs import ClassConfigs, MemoryConfigs
    from vetro.packages.directory import DirectorySource, find_packages, open_tree
    from vetro.packages.errors import (
        ArchiveError,
        BuildError,
        ManifestError,
        PackageError,
        PluginError,
        UnknownFormat,
    )
    from vetro.packages.formats import FormatRegistry, default_registry
    from vetro.packages.hot.package_files import build_template
    from vetro.packages.load import load_path, open_package
    from vetro.packages.manifest import Manifest, parse_manifest
    from vetro.packages.memory import memory_package, memory_source
    from vetro.packages.package import LoadedPackage
    from vetro.packages.repository import RepositorySource
    from vetro.packages.scaffold import skeleton
    from vetro.packages.source import CombinedSource, PackageList

_HOMES = {
    "archive": ("ArchiveLimits", "ArchiveTree", "archive_tree"),
    "build": ("build_archive", "build_tree"),
    "cache": ("DiskCache",),
    "checks.package": ("check_tree",),
    "configs": ("ClassConfigs", "MemoryConfigs"),
    "directory": ("DirectorySource", "find_packages", "open_tree"),
    "errors": (
        "ArchiveError",
        "BuildError",
        "ManifestError",
        "PackageError",
        "PluginError",
        "UnknownFormat",
    ),
    "formats": ("FormatRegistry", "default_registry"),
    "hot.package_files": ("build_template",),
    "load": ("load_path", "open_package"),
    "manifest": ("Manifest", "parse_manifest"),
    "memory": ("memory_package", "memory_source"),
    "package": ("LoadedPackage",),
    "repository": ("RepositorySource",),
    "scaffold": ("skeleton",),
    "source": ("CombinedSource", "PackageList"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ArchiveError",
    "ArchiveLimits",
    "ArchiveTree",
    "BuildError",
    "ClassConfigs",
    "CombinedSource",
    "DirectorySource",
    "DiskCache",
    "FormatRegistry",
    "LoadedPackage",
    "Manifest",
    "ManifestError",
    "MemoryConfigs",
    "PackageError",
    "PackageList",
    "PluginError",
    "RepositorySource",
    "UnknownFormat",
    "archive_tree",
    "build_archive",
    "build_template",
    "build_tree",
    "check_tree",
    "default_registry",
    "find_packages",
    "load_path",
    "memory_package",
    "memory_source",
    "open_package",
    "open_tree",
    "parse_manifest",
    "skeleton",
]


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
