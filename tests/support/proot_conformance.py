"""The tests of drivers for proot: `VETRO_IMAGES=FOLDER python -m unittest -v tests.support.proot_conformance`.

A program of its own because tests may run as root, which the kind refuses.
"""

from __future__ import annotations

import os
import shutil
import sys
import unittest
from collections.abc import Collection
from functools import partial
from pathlib import Path

from vetro.agent.sockets import SocketChannel
from vetro.clouds.drivers.conformance import DriverConformance
from vetro.clouds.images.store import ImageStore
from vetro.clouds.kind_protocols import Place
from vetro.clouds.proot.kind import KIND

if not os.access(sys.executable, os.X_OK):  # Python of a folder that this test's user may not enter
    sys.executable = shutil.which("python3", path="/usr/bin:/bin") or sys.executable


class Proot(DriverConformance, unittest.TestCase):
    kind = KIND

    def setUp(self) -> None:
        self.folders: set[Path] = set()

    def place(self, directory: Path) -> Place:
        self.folders.add(directory)
        channels = partial(SocketChannel, directory)
        return Place(directory=directory, images=ImageStore(), channels=channels)

    def listing(self) -> Collection[str]:
        """Folders of servers, and whether processes run in one."""
        found = []
        for folder in self.folders:
            found += [str(path) for path in (folder / "proot" / "servers").glob("*")]
            for entry in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    words = entry.read_bytes().decode("utf-8", "replace")
                except OSError:
                    continue
                found += [f"processes of {folder}"] * (f"{folder}/proot/servers/" in words)
        return found
