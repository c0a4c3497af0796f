"""Jobs: one for each task that may be claimed, in the queue of those who may, made anew when it is lost."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from procrastinate.contrib.django.models import ProcrastinateJob

from vetro.engine.version import engine_version
from vetro.server.config.config import ConfigError
from vetro.server.setup import config
from vetro.server.tasks.claim import claim
from vetro.server.tasks.dispatch import dispatcher
from vetro.server.tasks.models import Task
from vetro.server.tasks.release import release
from vetro_procrastinate import backend, missing_jobs
from vetro_procrastinate.missing_jobs import make_missing
from vetro_procrastinate.queues import fits, queue, served


def made(**values: Any) -> Task:
    """A task, enqueued."""
    with transaction.atomic():
        task = Task.objects.create(project_id="p", user_id="u", kind="deploy", spec={}, **values)
        dispatcher().notify(task)
    return task


def waiting() -> list[str]:
    """Queues with jobs that nobody fetched."""
    return list(ProcrastinateJob.objects.filter(status="todo").order_by("id").values_list("queue_name", flat=True))


def lose(sql: str = "") -> None:
    """Deletes jobs."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM procrastinate_jobs {sql}")


def test_it_is_refused_on_sqlite() -> None:
    with pytest.raises(ConfigError, match="needs PostgreSQL"):
        backend.check(config().changed({"database.url": ""}))


def test_queues_tell_who_may_take_a_task() -> None:
    assert [queue("static"), queue("deploy", "eu-1"), queue("deploy", "", "1.2")] == ["short", "long/eu-1", "long@1.2"]
    assert set(served("1.2", ["eu-1"], short=True)) == {"short", "short@1.2", "short/eu-1", "short/eu-1@1.2"}
    assert queue("deploy", "eu-1", "1.2") in served("1.2", ["eu-1"])
    assert queue("deploy", "eu-1", "1.3") not in served("1.2", ["eu-1"])
    version = "1.2.3.dev45+gabcdef0123456789"
    odd = queue("deploy", "a region with a long name, spaces and ünïcode", version)
    assert len(f"procrastinate_queue_v1#{odd}".encode()) < 64
    assert odd != queue("deploy", "a region with a long name, spaces and others", version)
    assert fits(odd, version) and not fits(odd, "1.2") and not fits("long/eu-1", "1", short=True)


@pytest.mark.django_db
def test_a_job_is_there_with_its_task_and_not_without() -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        made()
        assert waiting() == ["long"]
        _ = 1 / 0
    assert waiting() == [] and not Task.objects.exists()
    task = made()
    made(label="eu-1")
    assert waiting() == ["long", "long/eu-1"]
    dispatcher().notify(task)
    assert waiting() == ["long", "long/eu-1"]


@pytest.mark.django_db
def test_what_is_given_back_is_for_the_version_that_began_it() -> None:
    made()
    lose()
    assert claim("me", 60.0) is not None
    assert make_missing(config()) == 0
    dispatcher().notify(Task.objects.get())  # it runs: the database tells its worker of a cancel, no job does
    assert waiting() == []
    assert release("me", pause=60.0) == 1 and waiting() == []
    Task.objects.update(owner="me")
    assert release("me") == 1
    assert waiting() == [queue("deploy", "", engine_version())]
    Task.objects.update(engine="0.0.1")
    assert make_missing(config()) == 1  # nobody of that version: others may end it, when it has waited for long enough
    assert waiting() == [queue("deploy", "", "0.0.1")]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE dispatch_task SET lease_until = lease_until - interval '1 hour'")
    assert make_missing(config()) == 1 and waiting() == ["long"]
    assert make_missing(config()) == 0
    Task.objects.update(state="done")
    assert make_missing(config()) == 0 and waiting() == []


@pytest.mark.django_db
def test_tasks_that_have_their_job_hide_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing_jobs, "MOST", 2)
    for number in range(5):
        made(environment_id=f"e{number}")
    lose()
    Task.objects.update(engine=engine_version())  # each was begun once, and given back
    assert [make_missing(config()) for _ in range(4)] == [2, 2, 1, 0]
    assert waiting() == [queue("deploy", "", engine_version())] * 5
    lose("WHERE id = (SELECT max(id) FROM procrastinate_jobs)")
    assert [make_missing(config()) for _ in range(2)] == [1, 0]
