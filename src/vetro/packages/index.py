"""Parsed manifests, kept by content: scanning a folder again costs reading the files and one hash each."""

from __future__ import annotations

import hashlib
import marshal
from typing import Any

from vetro.muranopl.code_cache import CodeCache, cache_key
from vetro.muranopl.declarations.versions import Version
from vetro.packages.files import FileTree
from vetro.packages.manifest import Format, Manifest, parse_manifest
from vetro.packages.paths import MANIFEST

#: Changes when `Manifest` or the rules for manifests do.
_RULES = "manifest-1"


def read_manifest(tree: FileTree, cache: CodeCache | None = None) -> Manifest:
    """The manifest of a package; raises `ManifestError`. Only manifests without any finding are kept in ``cache``."""
    content = tree.read(MANIFEST)
    file = tree.file_id(MANIFEST)
    if cache is None:
        return parse_manifest(content, file)
    key = cache_key(_RULES, hashlib.sha256(content).hexdigest())
    known = cache.get(key)
    if known is not None:
        return _unpack(known, file)
    manifest = parse_manifest(content, file)
    if not manifest.warnings:
        cache.put(key, _pack(manifest))
    return manifest


def _pack(m: Manifest) -> bytes:
    plain: list[Any] = [
        m.format.name, str(m.format.version), m.type, m.full_name, str(m.version), m.name, m.description, m.author,
        m.tags, dict(m.classes), dict(m.requirements), m.logo, m.supplier_logo, m.supplier, m.ui, m.meta, dict(m.raw),
    ]  # fmt: skip
    return marshal.dumps(plain)


def _unpack(data: bytes, file: str) -> Manifest:
    format_name, format_version, kind, full_name, version, *rest = marshal.loads(data)
    # Positions are not kept: they serve messages, and this manifest has nothing to complain about.
    return Manifest(file, Format(format_name, Version(format_version)), kind, full_name, Version(version), *rest)
