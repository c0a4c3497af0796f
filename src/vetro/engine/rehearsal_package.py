"""The package of the rehearsal (`vetro.engine.task.rehearsal`): an application that reports, in an archive."""

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
FullName: io.vetro.rehearsal
Name: Rehearsal
Description: Performed before tasks are
Author: Vetro
Tags: []
Classes: {io.vetro.rehearsal.App: App.yaml}
"""
_CLASS = """\
Name: App
Namespaces: {=: io.vetro.rehearsal, std: io.murano}
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull(), Default: rehearsal}
  count: {Contract: $.int().notNull(), Default: 0, Usage: Out}
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'rehearsing')
      - If: not $.getAttr(rehearsed, false)
        Then:
          - $.count: $.count + 1
          - $.setAttr(rehearsed, true)
"""


@cache
def _archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.yaml", _MANIFEST)
        archive.writestr("Classes/App.yaml", _CLASS)
    return buffer.getvalue()


def package() -> LoadedPackage:
    """The package of the rehearsal, read anew."""
    tree = ArchiveTree(_archive())
    return default_registry().load(tree, read_manifest(tree))
