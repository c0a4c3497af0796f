"""Which task comes next, and what happens to tasks that are cancelled, retried, decided about, or given up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.server.tasks import shop
from vetro.engine.outcome import Outcome
from vetro.engine.version import engine_version
from vetro.engine.worker.ports import LeaseLost
from vetro.server import setup
from vetro.server.config.config import Config
from vetro.server.environments.models import Environment
from vetro.server.errors import Invalid, NotFound
from vetro.server.notices.models import Rule, Target
from vetro.server.procedures.models import Procedure, ProcedureStep
from vetro.server.retention.sweep import sweep
from vetro.server.setup import config
from vetro.server.tasks import clock, hooks, labels, members, queue
from vetro.server.tasks.claim import SHORT, Lease, claim, renew
from vetro.server.tasks.completion import finish
from vetro.server.tasks.models import JournalEntry, JournalTask, Report, Task, WorkerProcess
from vetro.server.tasks.release import release
from vetro.server.watch.models import Health, WatchMark

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def task(id: str, environment: str = "", project: str = "p", **more: Any) -> Task:
    return Task.objects.create(
        id=id,
        project_id=project,
        user_id="u",
        environment_id=environment,
        spec={"id": id},
        **{"kind": "deploy", **more},
    )


def claimed(**options: Any) -> str | None:
    lease = claim("me", 60.0, **options)
    return None if lease is None else lease.task_id


def end(id: str, state: str = "done") -> None:
    Task.objects.filter(id=id).update(state=state)


def test_one_of_an_environment_at_a_time_in_order() -> None:
    task("1", "e")
    task("2", "e", priority=5)
    task("3", "f")
    assert [claimed(), claimed(), claimed()] == ["1", "3", None]
    end("1", "needs_person")
    assert claimed() is None
    end("1", "failed")
    assert claimed() == "2"


def test_who_claims_knows_whether_others_waited() -> None:
    task("1", "e")
    task("2", "f")
    first, second = claim("me", 60.0), claim("me", 60.0)
    assert first is not None and first.others
    assert second is not None and not second.others


def test_priority_then_the_project_with_least_then_age() -> None:
    for number in range(4):
        task(f"a{number}", f"ea{number}", "a")
    task("b0", "eb", "b")
    task("urgent", "", "a", priority=1)
    assert [claimed() for _ in range(6)] == ["urgent", "b0", "a0", "a1", "a2", "a3"]


def test_a_hundred_tasks_of_one_project_hold_nobody_up() -> None:
    for number in range(100):
        task(f"a{number:02}", f"ea{number}", "a", priority=100)
    task("b", "eb", "b")
    assert [claimed() for _ in range(4)] == ["a00", "b", "a01", "a02"]


def test_kinds_and_labels() -> None:
    task("1", label="north")
    task("2", kind="static")
    assert claimed(kinds=SHORT) == "2"
    assert claimed(labels=["south"]) is None
    assert claimed(labels=["north", "south"]) == "1"


def test_a_lease_that_lapsed_is_taken_over_and_the_first_one_fenced() -> None:
    task("1", "e")
    first = claim("me", 60.0)
    assert first is not None
    assert claim("other", 60.0) is None
    Task.objects.update(lease_until=datetime.now(UTC) - timedelta(seconds=1))
    renew([first])
    assert claim("other", 60.0) is None
    Task.objects.update(lease_until=datetime.now(UTC) - timedelta(seconds=1))
    second = claim("other", 60.0)
    assert second is not None
    assert (second.task_id, second.fence) == ("1", first.fence + 1)
    with pytest.raises(LeaseLost):
        first.hold()
    with pytest.raises(LeaseLost):
        finish(first.held, Outcome("done"))
    kept = Task.objects.get()
    assert renew([first]) == [first] and Task.objects.get().lease_until == kept.lease_until
    assert kept.state == "running"
    assert release("other", lease=replace(first, owner="other")) == 0  # a place of the same worker that lost it
    second.hold()
    assert release("other", lease=second, pause=60.0) == 1
    assert claim("third", 60.0) is None
    with pytest.raises(LeaseLost):
        second.hold()


def test_a_task_ends_by_the_clock_by_which_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    task("1", kind="static")
    lease = claim("me", 60.0)
    assert lease is not None
    later = clock.read() + timedelta(hours=1)  # the database's clock is ahead of this machine's
    monkeypatch.setattr(clock, "read", lambda: later)
    after = clock.after
    monkeypatch.setattr(clock, "after", lambda seconds=0.0: after(seconds + 3600.0))
    finished = finish(lease.held, Outcome("done")).finished
    assert finished is not None and finished >= later


def test_an_end_knows_what_changed_while_the_task_ran() -> None:
    row = task("1")
    lease = claim("me", 60.0)
    assert lease is not None
    changed = {"cancel": "no", "engine": "0.0.2", "failures": 2, "log_bytes": 7, "warnings": True, "errors": True}
    Task.objects.update(spec={"id": "other"}, **changed)
    assert lease.held(row) is row and row.spec == {"id": "1"}  # what it was to do is not read again
    assert {name: getattr(row, name) for name in changed} == changed
    with pytest.raises(LeaseLost):
        replace(lease, fence=lease.fence + 1).held(row)


def test_what_apps_have_to_do_with_an_end_is_asked_with_its_row() -> None:
    """A condition that is never true would lose what an app does; one that always is would cost its statement."""

    def concerned(id: str) -> list[str]:
        row = Task.objects.get(id=id)
        Lease(id, "me", row.fence, 60.0).held(row)
        every = {**hooks.changed.conditions(), **hooks.ended.conditions()}
        assert len(every) == 3
        return [where.partition(" WHERE ")[0].split()[4] for name, where in every.items() if getattr(row, name)]

    running = {"state": Task.RUNNING, "fence": 1}
    own = Environment.objects.create(project_id="p", name="own")
    task("1", own.id, **running)
    task("2", Environment.objects.create(project_id="q", name="other").id, "q", **running)
    assert concerned("1") == concerned("2") == []
    target = Target.objects.create(project_id="p", name="t", kind=Target.MAIL, settings={})
    Rule.objects.create(project_id="p", target=target, least="info")
    procedure = Procedure.objects.create(project_id="p", environment_id=own.id, record={}, about={}, before_state=0)
    ProcedureStep.objects.create(procedure=procedure, key="k", kind="deploy", task_id="1")
    for label, name in (("seen once", ""), ("watched", "a worker")):
        WatchMark.objects.create(label=label, worker=name, until=clock.read())
    health = Health.objects.create(environment=own, component="c", since=clock.read(), label="watched")
    assert concerned("1") == ["notices_rule", "procedures_procedurestep"]
    Health.objects.filter(id=health.id).update(label="seen once")
    assert concerned("1") == ["notices_rule", "watch_health", "procedures_procedurestep"]
    assert concerned("2") == []


def worker(id: str, version: str, seen: float = 0.0, **more: Any) -> None:
    WorkerProcess.objects.create(id=id, host="h", pid=1, version=version, seen=clock.after(-seen), **more)


def test_what_another_version_began_waits_for_a_worker_of_that_version() -> None:
    began = {"engine": "0.0.1", "state": "running"}
    task("1", lease_until=datetime.now(UTC) - timedelta(seconds=50), **began)
    worker("old", "0.0.1")
    assert claimed(version_wait=10.0) is None
    WorkerProcess.objects.update(draining=True)
    assert claimed(version_wait=100.0) is None
    assert claimed(version_wait=10.0) == "1"
    assert Task.objects.get().engine == "0.0.1"
    task("2", lease_until=datetime.now(UTC) - timedelta(seconds=50), **began)
    WorkerProcess.objects.update(draining=False, seen=clock.after(-170.0))
    assert claimed(version_wait=10.0) is None  # it may still live
    WorkerProcess.objects.update(seen=clock.after(-190.0))
    assert claimed(version_wait=10.0) == "2"


def test_workers_of_that_version_count_if_they_serve_its_label() -> None:
    task("1", engine="0.0.1", state="running", label="north", lease_until=datetime.now(UTC) - timedelta(seconds=50))
    worker("old", "0.0.1", labels=["south", "north"])
    assert claimed(version_wait=10.0) is None
    WorkerProcess.objects.update(labels=[])
    assert claimed(version_wait=10.0) is None
    WorkerProcess.objects.update(labels=["south"])
    assert claimed(version_wait=10.0) == "1"


def test_what_another_version_only_claimed_is_run(ann: Any, drain: Callable[..., int]) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    Task.objects.update(engine="0.0.1", state="running", lease_until=datetime.now(UTC) - timedelta(hours=1))
    assert drain() == 1
    made.refresh_from_db()
    assert (made.state, made.engine) == ("done", engine_version())


def test_a_worker_that_is_to_drain_gets_nothing_more() -> None:
    from vetro.server.tasks import drain as draining

    task("1")
    worker("me", "1")
    worker("mine", "1")
    for name in ("m", "nobody"):
        with pytest.raises(NotFound, match=name):
            draining.drain([name])
    assert draining.drain(["min"]) == ["mine"]
    assert claim("mine", 60.0) is None
    assert claimed() == "1"
    assert draining.drain([], within=0.0) == ["me", "mine"]
    (me, mine) = draining.workers(config())
    assert (me.state, me.tasks, mine.tasks) == ("draining", 1, 0)
    WorkerProcess.objects.update(seen=clock.after(-3600.0))
    assert {seen.state for seen in draining.workers(config())} == {"silent"}
    assert draining.wait_until_gone(config(), ["me", "mine"], 0.0, lambda seen: None) == []


def test_a_worker_hears_that_it_is_to_end_and_is_known_again_when_it_was_forgotten() -> None:
    member = members.join(["north"])
    assert members.beat(member) is members.Instruction.NOTHING
    WorkerProcess.objects.update(draining=True)
    assert members.beat(member) is members.Instruction.DRAIN
    WorkerProcess.objects.update(drain_until=clock.after(-1.0))
    assert members.beat(member) is members.Instruction.END
    WorkerProcess.objects.all().delete()
    assert members.beat(member) is members.Instruction.NOTHING
    assert WorkerProcess.objects.get().labels == ["north"]


def test_labels_follow_the_region(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"engine.home_region": "home", "dispatch.labels": {"eu-1": "cloud=west"}}
    monkeypatch.setattr(setup, "_current", Config.load(config().data, overrides=given))
    environment = shop.add_environment(ann.caller)
    for region, label in (("", "home"), ("eu-1", "cloud=west"), ("us-1", "us-1")):
        environment.region = region
        assert labels.label_of(config(), "deploy", environment) == label
        assert labels.label_of(config(), "static", environment) == ""
    made = task("1", label="cloud=west")
    assert labels.unserved(config()) == ["cloud=west"]
    # Without a label any worker will do, but there is none; later none of the version that took the task.
    other = task("2")
    assert "no worker lives" in labels.why_waiting(config(), other)
    assert "vetro worker --label cloud=west" in labels.why_waiting(config(), made)
    worker("other", "1", labels=["us-1"])
    assert labels.unserved(config()) == ["cloud=west"]
    worker("all", "1", labels=[])
    assert labels.unserved(config()) == [] and labels.why_waiting(config(), made) == ""
    assert labels.why_waiting(config(), other) == ""
    other.engine = "0.9"
    assert "version 0.9 of Vetro took it" in labels.why_waiting(config(), other)
    other.state, other.lease_until = Task.RUNNING, clock.read() + timedelta(seconds=60)
    assert labels.why_waiting(config(), other) == ""


def test_workers_that_died_here_are_found_at_once() -> None:
    task("1")
    member = members.join([])
    assert claimed() == "1"
    Task.objects.update(owner=member.id)
    assert members.take_over(config()) == 0
    WorkerProcess.objects.update(pid=(1 << 22) + 1)  # beyond what Linux gives
    assert members.take_over(config()) == 1
    assert not WorkerProcess.objects.exists()
    assert claimed() == "1"


def test_workers_of_another_user_live_though_nobody_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """`hidepid` and `ProtectProc=invisible` hide processes of others: their tasks were taken away again and again."""
    refused: dict[int, OSError] = {1: PermissionError(), 2: ProcessLookupError()}

    def kill(pid: int, signal: int) -> None:
        assert signal == 0
        if pid in refused:
            raise refused[pid]

    def hidden(*_: Any) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(members, "Path", lambda _: SimpleNamespace(read_text=hidden))
    monkeypatch.setattr(members.os, "kill", kill)
    assert [members.lives(pid) for pid in (1, 2, 3)] == [True, False, True]


def test_unknown_kinds_are_refused(ann: Any) -> None:
    with pytest.raises(Invalid, match="dance"):
        queue.enqueue(ann.caller, "dance")


def test_old_journals_and_events_are_dropped(ann: Any, drain: Callable[..., int]) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    drain()
    assert sweep(config()) == {"journals": 0, "events": 0, "audit": 0, "sessions": 0, "tokens": 0}
    assert JournalEntry.objects.filter(task=made).exists()
    found = sweep(config(), datetime.now(UTC) + timedelta(days=8))
    assert found["journals"] == 1
    assert found["events"] > 0
    assert not JournalTask.objects.exists()
    assert Report.objects.filter(task=made).exists()
    assert sweep(config(), datetime.now(UTC) + timedelta(days=400))["audit"] > 0


def test_what_is_old_or_unused_is_removed_beside_the_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.server.catalog import garbage
    from vetro.server.errors import Unavailable
    from vetro.server.retention import sweep as sweeping

    seen: list[str] = []

    def collect() -> int:
        seen.append(threading.current_thread().name)
        raise Unavailable("the store is away")

    monkeypatch.setattr(sweeping, "doubtful", lambda: False)  # the transaction of this test holds the database
    monkeypatch.setattr(sweeping, "sweep", lambda config: seen.append(threading.current_thread().name))
    monkeypatch.setattr(sweeping.packages, "drop_unused", lambda: 0)
    monkeypatch.setattr(garbage, "collect", collect)
    sweeping.begin(config()).join(20)
    assert seen == ["sweep", "sweep"]
