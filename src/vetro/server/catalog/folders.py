"""Packages as folders, for formats that want one: made once, with what the format prepares, and read-only after."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from vetro.packages.directory import open_tree
from vetro.packages.formats import default_registry
from vetro.packages.manifest import MURANOPL, parse_manifest
from vetro.packages.paths import MANIFEST
from vetro.server.setup import config

#: Digests of archives that are loaded as they are. Content never changes, so neither does this.
_plain: set[str] = set()


def folder_of(digest: str, archive: Path) -> Path | None:
    """The unpacked package, or None when its format reads archives in place (MuranoPL).

    Raises `PackageError` when the archive cannot be read or its format refuses it.
    """
    if digest in _plain:
        return None
    target = config().data / "cache" / "unpacked" / digest
    if target.is_dir():
        return target
    tree = open_tree(archive)
    manifest = parse_manifest(tree.read(MANIFEST), tree.file_id(MANIFEST))
    if manifest.format.name == MURANOPL:
        _plain.add(digest)
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=target.parent))
    try:
        files = draft / "files"
        for path in tree.paths():
            file = files / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(tree.read(path))
        default_registry().load(tree, manifest).plugin.prepare(str(files))
        try:
            os.rename(files, target)
        except OSError:
            if not target.is_dir():  # somebody else was faster otherwise
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target
