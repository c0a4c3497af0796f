"""What a worker does for tasks that others have now: it ends at once, also where it only waits."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.server.tasks import shop
from vetro.engine.host.heartbeat import Heartbeat, moment
from vetro.engine.host.process import HostProcess
from vetro.server import sandboxed_workers
from vetro.server.setup import config
from vetro.server.tasks import clock, effect_hosts, pool
from vetro.server.tasks.claim import Lease, claim, renew
from vetro.server.tasks.models import Task
from vetro.server.tasks.pool import WorkerPool
from vetro.server.tasks.task_runner import TaskRunner

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def steal() -> None:
    """Another worker claims the task: its lease had lapsed, say because the clock of the database was put right."""
    Task.objects.update(owner="other", fence=7)


def test_a_run_ends_when_its_lease_is_found_to_be_lost(ann: Any) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    shop.deploy(ann.caller, environment, package, wait=3600)
    lease = claim("me", 60.0)
    assert lease is not None
    hosts: list[HostProcess] = []
    pids: list[int | None] = []

    def step(name: str, key: str) -> None:
        if name == "before effect" and runner.running():
            (entry,) = Task.objects.get().entries.filter(place=None)[:1] or [None]
            if entry is not None and entry.kind == "sleep":
                pids.append(hosts[0].pid)
                assert renew(runner.held()) == []
                steal()
                runner.lose(renew(runner.held()))

    def host(given: Any) -> HostProcess:
        hosts.append(effect_hosts.host(given))
        return hosts[0]

    runner = TaskRunner(config(), sandboxed_workers.launcher(), host, step)
    assert runner.run(lease) is None
    (pid,) = pids
    assert pid is not None and not os.path.exists(f"/proc/{pid}")
    assert (runner.running(), runner.held(), runner._lost) == ([], [], set())
    assert Task.objects.get().state == "running"


def test_each_beat_tells_of_lost_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "connections", SimpleNamespace(close_all=lambda: None))
    for id in ("1", "2"):
        Task.objects.create(id=id, project_id="p", user_id="u", kind="static", spec={})
    leases = [claim("me", 60.0), claim("me", 60.0)]
    mine, theirs = (lease for lease in leases if isinstance(lease, Lease))
    Task.objects.filter(id=theirs.task_id).update(owner="other", fence=7)
    lost: list[Lease] = []
    renewed: list[Lease] = []
    runner: Any = SimpleNamespace(
        held=lambda: [mine, theirs],
        lose=lost.extend,
        heartbeat_folder=None,
        beat=lambda leases, at: renewed.extend(leases),
    )
    monkeypatch.setattr(pool.linking, "begin", threading.Thread)  # one that has not begun
    made = WorkerPool(config(), runner)
    rounds = iter([False, True])
    made.beat(SimpleNamespace(wait=lambda seconds: next(rounds)))  # type: ignore[arg-type]
    made.heartbeat_folder.rmdir()
    assert (lost, renewed) == ([theirs], [mine])


def test_a_task_that_is_claimed_again_by_its_own_worker_has_a_heartbeat_of_its_own(ann: Any, tmp_path: Path) -> None:
    """A worker that stood still claimed its lapsed task again; the host of its first run saw that the worker lived,
    and acknowledged the answer that the second run waited for."""
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    shop.deploy(ann.caller, environment, package, wait=3600)
    lease = claim("me", 60.0)
    assert lease is not None
    heartbeats: list[Heartbeat] = []
    again: list[Lease | None] = []

    def step(name: str, key: str) -> None:
        entry = Task.objects.get().entries.filter(place=None).first() if name == "before effect" else None
        if entry is None or entry.kind != "sleep" or again:
            return
        runner.beat(runner.held(), moment() - 59.0)
        assert heartbeats[0].lives() and heartbeats[0].silence() > 58.0
        Task.objects.update(lease_until=clock.after(-1.0))
        again.append(claim("me", 60.0))
        held = runner.held()
        runner.lose(renew(held))
        runner.beat(held, moment())
        assert not heartbeats[0].lives()

    def host(given: Any) -> HostProcess:
        found = Heartbeat.from_json(given["heartbeat"])
        assert found is not None
        heartbeats.append(found)
        assert found.lives()
        if len(heartbeats) == 2:  # it adopts what the first run has begun
            runner.cancel("enough")
        return effect_hosts.host(given)

    runner = TaskRunner(config(), sandboxed_workers.launcher(), host, step)
    runner.heartbeat_folder = tmp_path
    assert runner.run(lease) is None
    (second,) = again
    assert second is not None and second.fence > lease.fence
    ended = runner.run(second)
    assert ended is not None and ended.state == "cancelled"
    assert [heartbeat.path.name for heartbeat in heartbeats] == [
        f"{one.task_id}-{one.fence}" for one in (lease, second)
    ]
    assert list(tmp_path.iterdir()) == []
