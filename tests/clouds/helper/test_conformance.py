"""A driver behind the cloud helper passes what every driver has to pass, on real servers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clouds.nspawn.test_conformance import TestNspawn as Direct
from tests.support.cloud_helper import cloud_helper
from tests.support.servers import listed
from vetro.clouds.drivers.errors import HelperAway
from vetro.clouds.helper.driver import HelperDriver
from vetro.clouds.kind_protocols import Place
from vetro.clouds.nspawn import links
from vetro.clouds.nspawn.kind import KIND

pytestmark = pytest.mark.campaign


class TestHelped(Direct):
    """Each cloud has a helper of its own, which keeps what it makes elsewhere than the cloud its records."""

    @pytest.fixture(autouse=True)
    def _helpers(self, _machine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        self.helpers = ExitStack()
        self.room = tmp_path
        self.environment = monkeypatch
        with self.helpers:
            yield

    def place(self, directory: Path) -> Place:
        if directory not in self.folders:
            self.folders.add(directory)
            home, at = self.room / f"helper{len(self.folders)}", self.room / f"socket{len(self.folders)}"
            settings = 'plan_ipv4 = "10.192.0.0"\nmax_networks = 8192\nexternal_cidr = "198.18.0.0/15"\n'
            self.helpers.enter_context(cloud_helper(home, at, images=self.images, settings=settings))
            self.environment.setenv("VETRO_CLOUD_HELPER", str(at))
            assert HelperDriver(KIND.name, directory / KIND.name).networks() == []  # root asks it, too, from now on
        return replace(super().place(directory), images=None, agent=None)

    def test_another_cloud_is_left_alone(self) -> None:
        """A helper serves one cloud: another one gets nothing of it, until that one is removed."""
        with self._cloud() as mine, self._folder() as folder:
            mine.create(self._server(1))
            other = HelperDriver(KIND.name, folder / KIND.name)
            for ask in (other.clear, other.networks, lambda: other.sweep([], []), lambda: other.delete("server-1")):
                with pytest.raises(HelperAway, match="another cloud"):
                    ask()
            assert self._status(mine, self._server(1)) == "ACTIVE"
            mine.clear()
            assert other.networks() == []
            other.clear()

    def listing(self) -> Collection[str]:
        found = set[str]()
        for number in range(1, len(self.folders) + 1):
            home = self.room / f"helper{number}"
            found |= listed(links.cloud_id(home / "nspawn"), home / "nspawn" / "servers")
        return found


del Direct  # its tests are run where they are written
