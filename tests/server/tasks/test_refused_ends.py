"""What a database refuses to keep is not tried again for ever: the task fails after some times, and says why."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, IntegrityError, OperationalError

from tests.server.tasks import shop
from vetro.server.environments import outcomes
from vetro.server.setup import config
from vetro.server.tasks import clock, completion, task_runner
from vetro.server.tasks.claim import Lease, claim
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.django_db

ODD = """\
Name: Shop
Namespaces: {=: test, std: io.murano, sys: io.murano.system}
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
Methods:
  deploy:
    Body:
      - $notifier: new(sys:InstanceNotifier, environment => $.find(std:Environment))
      - $notifier.trackApplication($this, "A \\0 shop", 5000000000)
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_runner, "PAUSES", (0.0,))
    monkeypatch.setattr(task_runner, "MOST_PAUSE", 0.0)


def begin(ann: Any, data: bytes | None = None) -> tuple[Any, Any]:
    environment = shop.add_environment(ann.caller)
    return shop.deploy(ann.caller, environment, shop.add_package(ann.caller, data)), environment


def refusing(error: BaseException, times: float = float("inf")) -> Callable[..., Any]:
    left = [times]

    def refuse(*_: Any) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise error

    return refuse


def test_what_a_package_tracks_ends_no_deployment(ann: Any, drain: Callable[..., int]) -> None:
    task, environment = begin(ann, shop.archive({"Classes/Shop.yaml": ODD}))
    assert drain() == 1
    task.refresh_from_db()
    assert (task.state, task.error) == ("done", None)
    (usage,) = environment.usage.all()
    assert (usage.type_title, usage.unit_count) == ("A \N{REPLACEMENT CHARACTER} shop", 2**31 - 1)


@pytest.mark.parametrize(
    "error",
    [
        DataError("value too long for type character varying(255)\nDETAIL: hunter2"),
        IntegrityError("duplicate key value violates unique constraint\nDETAIL: Key (x)=(hunter2) exists"),
        OverflowError("Python int too large to convert to SQLite INTEGER"),
    ],
    ids=type,
)
def test_an_end_that_is_refused_fails_the_task(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    task, environment = begin(ann)
    monkeypatch.setattr(outcomes.usage, "count", refusing(error, task_runner.MOST_FAILURES))
    assert drain() == task_runner.MOST_FAILURES
    task.refresh_from_db()
    environment.refresh_from_db()
    assert (task.state, task.error["code"], task.failures) == ("failed", "SRV571", task_runner.MOST_FAILURES)
    assert type(error).__name__ in task.error["message"] and "hunter2" not in str(task.error)
    assert environment.version == 1  # with what the deployment left
    assert environment.states.get().model["Objects"]["applications"][0]["made"] == 1
    assert str(error).partition("\n")[0] in task.reports.get(level="error").text


def test_one_whose_failure_cannot_be_written_either_ends_too(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    task, environment = begin(ann)
    monkeypatch.setattr(outcomes.usage, "count", refusing(DataError("no")))
    assert drain() == task_runner.MOST_FAILURES
    task.refresh_from_db()
    environment.refresh_from_db()
    assert (task.state, task.error["code"], environment.version) == ("failed", "SRV571", 0)
    assert task.owner == "" and task.lease_until is None and task.finished is not None


def test_a_journal_that_is_refused_fails_the_task(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = OperationalError("index row size 9000 exceeds btree version 4 maximum 2704 for index")
    limit.__cause__ = Exception()
    limit.__cause__.sqlstate = "54000"  # type: ignore[attr-defined]
    task, _ = begin(ann)
    monkeypatch.setattr(DbJournal, "_note", refusing(limit))
    assert drain() == task_runner.MOST_FAILURES
    task.refresh_from_db()
    assert task.state == "failed" and "2704" in task.error["message"]


def test_a_database_that_is_away_does_not_count(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    task, _ = begin(ann)
    away = refusing(OperationalError("the connection is closed"), task_runner.MOST_FAILURES + 2)
    real = completion.close
    monkeypatch.setattr(completion, "close", lambda *given: (away(), real(*given)))
    assert drain() == task_runner.MOST_FAILURES + 3
    task.refresh_from_db()
    assert (task.state, task.failures) == ("done", 0)
    assert Task.objects.filter(state="running").count() == 0


def test_a_disk_that_stays_full_uses_up_no_claims_in_a_hurry(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_runner, "MOST_PAUSE", 60.0)
    waits = [task_runner.outage_pause(attempts) for attempts in range(1, task_runner.MOST_CLAIMS + 1)]
    # Deaths of workers count as claims: the first pauses are short whatever happened before.
    assert waits[:19] == [1.0] * 19 and waits[19:22] == [2.0, 4.0, 8.0] and max(waits) == 60.0
    assert sum(waits) > 2.9 * 3600
    monkeypatch.setattr(task_runner, "_QUICK", 1)
    waits = [task_runner.outage_pause(attempts) for attempts in range(1, 9)]
    task, _ = begin(ann)
    monkeypatch.setattr(task_runner.TaskRunner, "_outcome", refusing(OperationalError("database or disk is full")))
    given, real = [], task_runner.release

    def release(owner: str, *, lease: Lease, pause: float, why: str) -> int:
        given.append(pause)
        return real(owner, lease=lease, pause=pause, why=why)

    monkeypatch.setattr(task_runner, "release", release)
    runner = task_runner.TaskRunner(config(), None)  # type: ignore[arg-type]
    for _ in range(8):
        lease = claim("me", 60.0)
        assert lease is not None and runner.run(lease) is None
        task.refresh_from_db()
        assert task.lease_until is not None and task.lease_until <= clock.read() + timedelta(seconds=given[-1])
        Task.objects.filter(id=task.id).update(lease_until=clock.after(-1.0))  # so much later
    assert given == waits and given[-1] == 60.0
    assert (task.state, task.failures, task.owner) == ("running", 0, "")
