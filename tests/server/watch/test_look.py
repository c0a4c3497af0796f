"""Environments that are looked at by who asks."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from tests.server.watch.world import TYPE, app, instance, made, states, whole, working
from vetro.clouds.interface import ServerState
from vetro.engine.outcome import Outcome
from vetro.engine.watching import probes
from vetro.engine.watching.watch import Watch
from vetro.server.ids import new_id
from vetro.server.setup import config
from vetro.server.tasks import clock, hooks
from vetro.server.tasks.models import Task
from vetro.server.watch import look as looking
from vetro.server.watch import service
from vetro.server.watch.models import Health, WatchMark
from vetro.server.watch.target_reader import TargetReader

pytestmark = pytest.mark.django_db


class Cloud:
    """One with two servers; ``slow``: seconds until it says so."""

    slow = 0.0

    def servers(self, owner: Any) -> list[ServerState]:
        time.sleep(self.slow)
        return [ServerState(f"c-{id}", "web", "", "", "ACTIVE", reachable=("10.0.0.1",)) for id in "ij"]

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> type[Cloud]:
    class Own(Cloud):
        pass

    monkeypatch.setattr(looking, "cloud_of", lambda settings, owner: Own())
    monkeypatch.setattr(looking, "Watch", partial(Watch, allowed=lambda *_: True))
    return Own


def test_declared_checks_are_probed_before_anything_is_told(
    ann: Any, cloud: type[Cloud], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the looks ended before the first probe: they had nothing to tell, and what was there was believed."""
    asked: list[int] = []

    async def run(probe: probes.Probe, addresses: Any, device: str = "") -> str | None:
        asked.append(probe.port)
        return None

    monkeypatch.setattr(probes, "run", run)
    health = [{"kind": "tcp", "port": n, "every": 60} for n in range(1, 6)]
    monkeypatch.setattr(TargetReader, "_declarations", lambda self, row, classes: {TYPE: {"health": health}})
    row = made(ann, app("a", instance("i")))
    begun = time.monotonic()
    looking.look(config(), row.id, None)  # type: ignore[arg-type]
    assert (whole(row), states(row), sorted(asked)) == ("running", ["running"], [1, 2, 3, 4, 5])
    assert time.monotonic() - begun < looking.SECONDS


def test_a_look_without_a_report_is_no_look_and_others_are_not_believed_by_it(
    ann: Any, cloud: type[Cloud], monkeypatch: pytest.MonkeyPatch
) -> None:
    row, other = made(ann, app("a", instance("i")), name="own"), made(ann, app("b", instance("j")), name="other")
    for one in (row, other):
        looking.look(config(), one.id, None)  # type: ignore[arg-type]
    assert (whole(row), whole(other)) == ("running", "running")
    monkeypatch.setattr(looking, "SECONDS", 0.2)
    cloud.slow = 1.0
    looking.look(config(), row.id, None)  # type: ignore[arg-type]
    assert (whole(row), states(row), whole(other)) == ("unknown", ["unknown"], "running")
    WatchMark.objects.update(until=clock.read() - timedelta(seconds=1))
    cloud.slow = 0.0
    monkeypatch.setattr(looking, "SECONDS", 8.0)
    looking.look(config(), row.id, None)  # type: ignore[arg-type]
    assert (whole(row), whole(other)) == ("running", "unknown")
    assert service.at_work() == set()


def test_what_a_look_found_before_a_task_is_not_told_after_it(ann: Any, cloud: type[Cloud]) -> None:
    row, other = made(ann, app("a", instance("i")), name="own"), made(ann, app("b", instance("j")), name="other")
    for one in (row, other):
        looking.look(config(), one.id, None)  # type: ignore[arg-type]
    hooks.ended(working(row, Task.RUNNING), Outcome("done"))
    assert (whole(row), states(row), whole(other)) == ("unknown", ["unknown"], "running")
    service.believe([other_mark := new_id()], "a worker", service.BELIEVED)
    Health.objects.filter(environment_id=other.id).update(label=other_mark)
    hooks.ended(working(other, Task.RUNNING), Outcome("done"))
    assert whole(other) == "running"  # a watcher tells what changes
