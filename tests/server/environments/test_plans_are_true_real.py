"""A plan is true on real servers: histories by chance as on the recorder, and what was done is read off the servers.

Scripts write down in their server that they ran; starts are told by first processes; servers end by being killed, or
switch themselves off; and data in a server that a plan leaves is there afterwards. Needs root and systemd-nspawn.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.environments import test_plans_are_true as recorded
from tests.server.environments.test_plans_are_true import Town, live
from tests.support.servers import images_in, real_servers, traces
from vetro.clouds.nspawn.links import cloud_id
from vetro.clouds.overview import clean
from vetro.clouds.stacks.cloud import StackCloud

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(3600)]

#: Where scripts write down that they ran: when, and what they were to write.
NOTES = "/srv/notes"
SEEDS, STEPS = range(3), 4


class RealTown(Town):
    """An environment on real servers."""

    def __init__(self, caller: Any, drain: Callable[..., int], folder: Path) -> None:
        self.folder = folder
        #: What was put into servers, and comes with them as long as they are there.
        self.data: dict[str, bytes] = {}
        #: What servers had written down when they were last seen running: one that ended is not asked.
        self.notes: dict[str, list[tuple[str, str]]] = {}
        #: How many servers have ended by themselves.
        self.ended = 0
        super().__init__(caller, drain)

    def planned_and_done(self, session: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """As of others; applications are deployed in parallel, so there is an order of scripts within a server only."""
        found = super().planned_and_done(session)
        for one in found:
            one["scripts"].sort(key=lambda script: script[0])
        return found

    def scripts(self, cloud: StackCloud) -> dict[Any, tuple[str, str]]:
        driver: Any = cloud.driver
        ran = dict[tuple[str, str], tuple[str, str]]()
        for server in cloud.servers(self.owner):
            if server.status == "ACTIVE":
                said = driver.execute(server.id, ["sh", "-c", f"cat {NOTES} 2>/dev/null || true"]).stdout.decode()
                notes = [line.split(" ", 1) for line in said.splitlines()]
                self.notes[server.id] = [(at, text) for at, text in notes]
            for at, text in self.notes.get(server.id, ()):
                ran[at, server.id] = (server.name, f"Write {text}")
        return {key: ran[key] for key in sorted(ran)}

    def starts(self, cloud: StackCloud) -> dict[Any, str]:
        found = dict[Any, str]()
        for server in cloud.servers(self.owner):
            file = self.servers / server.id / "running.json"
            if server.status == "ACTIVE":
                found[server.id, *json.loads(file.read_text())["nspawn"]] = server.id
        return found

    @property
    def servers(self) -> Path:
        return self.folder / "nspawn" / "servers"

    def seen(self) -> dict[str, Any]:
        """As of others; data is looked at, and put into servers that have none."""
        found = super().seen()
        cloud = self.cloud()
        try:
            driver: Any = cloud.driver
            self.data = {id: data for id, data in self.data.items() if id in found["servers"]}
            for id, (_, status) in found["servers"].items():
                if status == "ACTIVE" and id in self.data:
                    assert driver.get_file(id, "/srv/data") == self.data[id]
                elif status == "ACTIVE":
                    self.data[id] = os.urandom(20)
                    driver.put_file(id, "/srv/data", self.data[id])
            return found
        finally:
            cloud.close()

    def end(self, number: int, status: str = "ERROR") -> None:
        cloud = self.cloud()
        try:
            driver: Any = cloud.driver
            servers = sorted(cloud.servers(self.owner), key=lambda server: server.id)
            server = servers[number % len(servers)]
            if server.status != "ACTIVE":
                return
            if status == "SHUTOFF":
                driver.execute(server.id, ["systemctl", "poweroff", "--no-block"])
            else:
                for pid, *_ in json.loads((self.servers / server.id / "running.json").read_text()).values():
                    os.kill(pid, signal.SIGKILL)
            self.ended += 1
            until = time.monotonic() + 120
            while driver.statuses([server.id])[server.id] != status:
                assert time.monotonic() < until, driver.statuses([server.id])
                time.sleep(0.1)
        finally:
            cloud.close()


@pytest.fixture
def town(ann: Any, drain: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealTown]:
    from vetro.server import setup
    from vetro.server.config.config import Config

    given = {"cloud.driver": "nspawn", "cloud.directory": str(tmp_path / "cloud")}
    monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))
    script = "echo $(date +%s%N) {0} >> " + NOTES
    monkeypatch.setattr(recorded, "SHOP", recorded.SHOP.replace("'echo {0}'", f"'{script}'"))
    try:
        with images_in(real_servers().folder):
            yield RealTown(ann.caller, drain, tmp_path / "cloud")
    finally:
        for _ in clean(tmp_path / "cloud"):
            pass
    assert not any(traces(cloud_id(tmp_path / "cloud" / "nspawn"), tmp_path).values())


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_planned_is_what_is_done_on_real_servers(town: RealTown, seed: int) -> None:
    live(town, random.Random(seed), STEPS)
    assert sum(map(len, town.notes.values())) >= 3 and town.ended >= 1, "or nothing was tried"
