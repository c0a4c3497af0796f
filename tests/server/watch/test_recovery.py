"""What does not run when a worker begins to watch is started, once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.watch.world import (
    app,
    instance,
    made,
    off,
    round_of,
    whole,
    working,
)
from vetro.clouds.proot.kind import ProotKind
from vetro.server.environments.models import Environment, Session
from vetro.server.quotas.models import ProjectQuota
from vetro.server.setup import config
from vetro.server.tasks.models import Task
from vetro.server.watch import watcher

pytestmark = pytest.mark.django_db


def test_what_does_not_run_when_a_worker_begins_to_watch_is_started_once(ann: Any, watching: Any) -> None:
    row = made(ann, app("a", instance("i", uses="j")), app("b", instance("j", "db")), app("c", instance("k", "rest")))
    Environment.objects.filter(id=row.id).update(stopped={"c-k": {"by": "ann", "at": ""}})
    watch, processes = watching()
    round_of(watch)
    (process,) = processes
    assert process.told()[1]["environment"]["stopped"] == {"c-k": "ann"}
    process.say(off(row, "c-i", "c-j", "c-k", "c-stranger"))
    round_of(watch)
    (task,) = Task.objects.filter(environment_id=row.id)
    assert (task.kind, task.user_id, task.label) == ("power", "system", "")
    steps = [(step["action"], [server["id"] for server in step["servers"]]) for step in task.spec["power"]]
    assert steps == [("start", ["c-j"]), ("start", ["c-i"])], "in order, and nothing that somebody stopped"
    Task.objects.filter(id=task.id).update(state="done")
    process.say(off(row, "c-i"))
    round_of(watch)
    assert Task.objects.filter(environment_id=row.id).count() == 1, "what ends later is told, not started"
    assert whole(row) == "down"


@pytest.mark.parametrize("why", ["working", "quota"])
def test_what_is_in_the_way_is_waited_for(ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """What a task worked on, and what its project had no room for, was never started."""
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    monkeypatch.setattr(watcher, "_LATER", 0.0)
    before = working(row, Task.QUEUED)
    if why == "working":
        Environment.objects.filter(id=row.id).update(task_id=before.id)
    else:
        ProjectQuota.objects.create(project_id=row.project_id, name="tasks", most=1)
    processes[0].say(off(row, "c-i"))
    round_of(watch)
    round_of(watch)
    assert not Task.objects.filter(environment_id=row.id, kind="power").exists()
    Task.objects.filter(id=before.id).update(state="done")
    round_of(watch)
    round_of(watch)
    assert Task.objects.filter(environment_id=row.id, kind="power").count() == 1


def test_what_was_said_is_written_when_the_database_comes_back(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of what the process had said was lost, and what had been told before was believed for ever."""
    from django.db import OperationalError

    rows = [made(ann, app("a", instance(name)), name=name) for name in ("one", "two")]
    watch, processes = watching()
    round_of(watch)

    def away(*values: Any) -> bool:
        raise OperationalError("away")

    with monkeypatch.context() as patch:
        patch.setattr(watcher.recovery, "start", away)
        processes[0].say(off(rows[0], f"c-{rows[0].name}"), off(rows[1]))
        with pytest.raises(OperationalError):
            round_of(watch)
    round_of(watch)
    assert whole(rows[1]) == "down"
    assert Task.objects.filter(environment_id=rows[0].id, kind="power").count() == 1


def test_who_watched_before_a_machine_ended_is_waited_for(ann: Any, watching: Any) -> None:
    """Its leases ended after the minute in which anything was started, where the settings gave it long ones."""
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    watch._config = config().changed({"worker.lease_seconds": 100.0})
    watch._begun -= 250
    round_of(watch)
    processes[0].say(off(row, "c-i"))
    round_of(watch)
    assert Task.objects.filter(environment_id=row.id, kind="power").count() == 1


def test_one_that_breaks_what_starts_it_is_tried_once(ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    row = made(ann, app("a", instance("i")))
    watch, processes = watching()
    round_of(watch)
    asked = []

    def broken(config: Any, id: str, servers: Any) -> bool:
        asked.append(id)
        raise ValueError("a model that nobody can read")

    monkeypatch.setattr(watcher.recovery, "start", broken)
    processes[0].say(off(row, "c-i"))
    with pytest.raises(ValueError, match="nobody can read"):
        round_of(watch)
    round_of(watch)
    assert asked == [row.id] and whole(row) == "down"


@pytest.mark.parametrize("why", ["new", "working", "elsewhere", "running", "followed", "deleted"])
def test_what_is_not_started(ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    watch, processes = watching()
    if why == "new":  # it came to be under the watcher's eyes
        made(ann, app("z", instance("z")), name="other")
        round_of(watch)
    row = made(ann, app("a", instance("i")))
    if why == "followed":  # another worker watched until now
        watch._begun -= 100
    if why == "elsewhere":
        monkeypatch.setattr(ProotKind, "bound", False)
    round_of(watch)
    (process,) = processes
    if why == "working":
        Environment.objects.filter(id=row.id).update(task_id=working(row, Task.QUEUED).id)
    if why == "deleted":  # somebody wanted that, and some of it could not be
        Environment.objects.filter(id=row.id).update(failure=Session.DELETE_FAILED)
    process.say(off(row, *([] if why == "running" else ["c-i"])))
    round_of(watch)
    assert not Task.objects.filter(environment_id=row.id, kind="power").exists()


def contents(*rows: Environment) -> dict[str, Any]:
    """What a cloud has of environments whose only server has ended."""
    servers = {"c-i": ["web", "ERROR"]}
    found = [{"id": row.id, "number": 1, "stacks": {}, "servers": servers} for row in rows]
    return {"t": "contents", "environments": found}


@pytest.mark.attack("quotas", "repairs")
def test_however_many_are_to_be_repaired_the_others_are_watched_meanwhile(
    ann: Any, watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All were repaired in one round: with a thousand nothing was told, written or renewed for half a minute."""
    rows = [made(ann, app("a", instance("i")), name=f"e{number}") for number in range(7)]
    Environment.objects.exclude(id=rows[0].id).update(repair="auto")
    ProjectQuota.objects.create(project_id=rows[0].project_id, name="tasks", most=4)
    monkeypatch.setattr(watcher, "_AT_ONCE", 3)
    watch, processes = watching()
    for _ in range(3):
        round_of(watch)
    processes[0].say(contents(*rows))
    tasks = Task.objects.filter(kind="power", state=Task.QUEUED)
    counts = []
    for _ in range(3):
        round_of(watch)
        counts.append(tasks.count())
    assert counts == [3, 4, 4], "some a round, and no more than its project may have waiting"
    tasks.update(state="done")
    round_of(watch)
    assert not tasks.exists(), "not again and again meanwhile"
    watch._repairs = dict.fromkeys(watch._repairs, 0.0)  # later
    round_of(watch)
    assert tasks.count() == 2 and not tasks.filter(environment_id=rows[0].id).exists()
    assert len({task.environment_id for task in Task.objects.filter(kind="power")}) == 6
