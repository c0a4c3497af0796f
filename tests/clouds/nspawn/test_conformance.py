"""Containers of systemd-nspawn pass what every driver has to pass."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

import pytest

from tests.support.servers import free_block, listed, real_servers
from vetro.agent.sockets import SocketChannel
from vetro.clouds.drivers.conformance import DriverConformance
from vetro.clouds.images.store import ImageStore
from vetro.clouds.kind_protocols import Place
from vetro.clouds.nspawn import links
from vetro.clouds.nspawn.kind import KIND

pytestmark = pytest.mark.campaign  # each test has a cloud of its own: half a minute on a machine of one's own


class TestNspawn(DriverConformance):
    kind = KIND

    @pytest.fixture(autouse=True)
    def _machine(self) -> None:
        self.images: ImageStore = real_servers()
        self.blocks = [first := free_block(), free_block((first,))]
        self.folders: set[Path] = set()

    def block(self) -> str:
        return self.blocks[0]

    def other_block(self) -> str:
        return self.blocks[1]

    def place(self, directory: Path) -> Place:
        self.folders.add(directory)
        channels = partial(SocketChannel, directory)
        return Place(directory=directory, images=self.images, channels=channels)

    def listing(self) -> Collection[str]:
        """What this machine has of all clouds of this test; of processes only whether there are some."""
        found = set[str]()
        for folder in self.folders:
            found |= listed(links.cloud_id(folder / "nspawn"), folder)
        return found
