"""The package of the warm-up (`vetro.engine.task.warm_up`): an application that reports, in an archive."""

from __future__ import annotations

import io
import zipfile
from functools import cache

from vetro.packages.archive import ArchiveTree
from vetro.packages.formats import default_registry
from vetro.packages.index import read_manifest
from vetro.packages.package import LoadedPackage

_MANIFEST = """\
Format: MuranoPL/1.3
Type: Application
FullName: io.vetro.warmup
Name: Warm-up
Description: Performed before tasks are
Author: Vetro
Tags: []
Classes: {io.vetro.warmup.App: App.yaml}
"""
_CLASS = """\
Name: App
Namespaces: {=: io.vetro.warmup, std: io.murano}
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull(), Default: warm-up}
  count: {Contract: $.int().notNull(), Default: 0, Usage: Out}
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'warming up')
      - If: not $.getAttr(warm, false)
        Then:
          - $.count: $.count + 1
          - $.setAttr(warm, true)
"""


@cache
def _archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.yaml", _MANIFEST)
        archive.writestr("Classes/App.yaml", _CLASS)
    return buffer.getvalue()


def package() -> LoadedPackage:
    """The package of the warm-up, read anew."""
    tree = ArchiveTree(_archive())
    return default_registry().load(tree, read_manifest(tree))
