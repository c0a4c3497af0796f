"""What takes the place of mmdebstrap in tests: processes that build images find it as they find any program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vetro.clouds import kinds
from vetro.clouds.drivers import tools
from vetro.clouds.images.store import ImageStore
from vetro.clouds.nspawn.kind import NspawnKind
from vetro.clouds.stacks.kind import NO_IMAGE
from vetro.server.config import cloud_settings

#: Writes the smallest tree that counts as a system.
SMALL = """#!/bin/sh
echo 'I: extracting archives...'
work=$(mktemp -d); mkdir -p "$work/usr/lib/systemd" "$work/usr/bin" "$work/bin" "$work/dev"
touch "$work/usr/lib/systemd/systemd" "$work/usr/bin/python3" "$work/bin/sh"
for last; do [ "${last##*.}" = tar ] && target=$last; done
tar -cf "$target" -C "$work" . && rm -r "$work"
"""


def image_tool(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """The place of the program, for processes that begin from now on, and for this one."""
    folder.mkdir()
    words = "import os, vetro.clouds.drivers.tools as tools\ntools.PATH = f\"{os.environ['TOOLS']}:{tools.PATH}\"\n"
    (folder / "sitecustomize.py").write_text(words)
    patch.setenv("TOOLS", str(folder))
    patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(Path(tools.__file__).parents[3])]))
    return folder / "mmdebstrap"


def becomes(program: Path, script: str) -> None:
    """The program is this script from now on."""
    program.write_text(script)
    program.chmod(0o755)


def image_lacks(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """A machine on which servers would run on nspawn if only there were an image; the program that builds one."""

    def missing(kind: NspawnKind, images: ImageStore | None = None) -> str | None:
        return None if images is None or images.list() else NO_IMAGE

    patch.setattr(NspawnKind, "missing", missing)
    patch.setattr(kinds, "ranked", lambda: [kinds.find("nspawn"), kinds.find("record")])
    patch.setattr("vetro.clouds.nspawn.kind._helped", lambda directory: False)
    patch.setattr("vetro.clouds.drivers.programs.room_missing", lambda directory: None)
    patch.setattr(cloud_settings, "named_kind", lambda config: ("", ""))
    patch.setattr(cloud_settings, "_chosen", {})
    patch.setattr(kinds, "named", lambda word, driver="": "")
    patch.setenv("VETRO_IMAGES", str(folder / "images"))
    return image_tool(folder / "bin", patch)
