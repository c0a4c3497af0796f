"""Packages that exist in memory only, for tests, notebooks and the conformance cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from vetro.muranopl.package_resolver import Skipped
from vetro.packages.errors import UnknownFormat
from vetro.packages.files import MemoryTree
from vetro.packages.formats import FormatRegistry, default_registry
from vetro.packages.manifest import parse_manifest
from vetro.packages.package import LoadedPackage
from vetro.packages.paths import MANIFEST
from vetro.packages.source import PackageList

_KEYS = frozenset(("name", "version", "format", "require", "type", "meta", "resources", "classes", "files"))


def memory_package(data: Mapping[str, Any], *, registry: FormatRegistry | None = None) -> LoadedPackage:
    """A package from a mapping.

    Keys: ``name``; ``version`` (0.0.0), ``format`` (1.0), ``require``, ``type`` (Library), ``meta``, ``resources``
    (path below Resources -> text or bytes), ``classes`` (full name -> text of the class file, or ``= other.Class``:
    in the same file as that, or the name of one of ``files``), ``files`` (name of a class file -> text). Raises like
    `FormatRegistry.load`, and `ValueError` for unknown keys.
    """
    unknown = sorted(set(data) - _KEYS)
    if unknown:
        raise ValueError(f"unknown keys of a package: {', '.join(unknown)}")
    classes: dict[str, str] = {}
    given = data.get("files") or {}
    files: dict[str, str | bytes] = {f"Classes/{name}": text for name, text in given.items()}
    for name, text in (data.get("classes") or {}).items():
        if text.startswith("= "):
            continue
        if text in given:
            classes[name] = text
            continue
        classes[name] = f"{name}.yaml"
        files[f"Classes/{name}.yaml"] = text
    for name, text in (data.get("classes") or {}).items():
        if text.startswith("= "):
            classes[name] = classes[text[2:].strip()]
    manifest = {
        "Format": _text(data.get("format"), "1.0"),
        "Type": data.get("type") or "Library",
        "FullName": data["name"],
        "Version": _text(data.get("version"), "0.0.0"),
        "Classes": classes,
        "Require": {name: _text(spec, None) for name, spec in (data.get("require") or {}).items()},
        "Meta": data.get("meta"),
    }
    files[MANIFEST] = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True)
    for path, content in (data.get("resources") or {}).items():
        files[f"Resources/{path}"] = content
    tree = MemoryTree(files, f"{manifest['FullName']}-{manifest['Version']}")
    parsed = parse_manifest(tree.read(MANIFEST), tree.file_id(MANIFEST))
    return (registry or default_registry()).load(tree, parsed)


def memory_source(packages: Iterable[Mapping[str, Any]], *, registry: FormatRegistry | None = None) -> PackageList:
    """A source with these packages; those of unknown formats are left out and reported, as every source does."""
    items: list[LoadedPackage | Skipped] = []
    for data in packages:
        try:
            items.append(memory_package(data, registry=registry))
        except UnknownFormat as error:
            version = _text(data.get("version"), "0.0.0")
            classes = frozenset(data.get("classes") or ())
            items.append(Skipped(f"{data['name']}-{version}", error.message, data["name"], version, classes))
    return PackageList(items)


def _text(value: Any, default: str | None) -> str | None:
    return default if value is None else str(value)
