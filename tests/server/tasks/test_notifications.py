"""What PostgreSQL tells at its commits: who waits hears it at once, whoever wrote it; SQLite is silent."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, transaction

from tests.server.tasks.shop import add_environment
from vetro.server.api.v2 import stream
from vetro.server.tasks import dispatcher, notifications, wait, wakeup
from vetro.server.tasks.models import Event, Task

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def postgresql() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite tells nothing")


@pytest.fixture
def heard() -> Iterator[Callable[[str], queue.SimpleQueue[str]]]:
    """Subscribes to a channel, and waits until the connection stands."""
    leave = []

    def subscribe(channel: str) -> queue.SimpleQueue[str]:
        found: queue.SimpleQueue[str] = queue.SimpleQueue()
        leave.append(notifications.subscribe(channel, found.put))
        assert found.get(timeout=20) == ""
        return found

    yield subscribe
    for end in leave:
        end()
    assert not notifications.hearing()


def task(**values: Any) -> Task:
    return Task.objects.create(project_id="p", user_id="u", kind="static", spec={}, **values)


@pytest.mark.usefixtures("postgresql")
def test_tasks_and_events_are_told_at_the_commit_and_not_before(heard: Any) -> None:
    tasks, events, ended = heard(notifications.TASKS), heard(notifications.EVENTS), heard(notifications.ENDED)
    with transaction.atomic():
        row = task()
        Event.objects.create(project_id="p", environment_id="e", task_id=row.id, kind="task")
        Event.objects.create(project_id="p", environment_id="e", task_id=row.id, kind="report")
        with pytest.raises(queue.Empty):
            tasks.get(timeout=0.2)
    assert tasks.get(timeout=20) == row.id
    assert events.get(timeout=20) == f"p e {row.id}"  # once a transaction
    Task.objects.filter(id=row.id).update(state=Task.RUNNING, owner="w", fence=1)
    Task.objects.filter(id=row.id).update(fence=2)
    Task.objects.filter(id=row.id).update(cancel="enough")
    assert tasks.get(timeout=20) == row.id
    Task.objects.filter(id=row.id).update(owner="", fence=3)  # given back
    assert tasks.get(timeout=20) == row.id
    Task.objects.filter(id=row.id).update(state="done")
    assert ended.get(timeout=20) == row.id
    with pytest.raises(RuntimeError), transaction.atomic():
        task()
        raise RuntimeError
    assert tasks.empty() and events.empty()


@pytest.mark.usefixtures("postgresql")
def test_a_lost_connection_is_made_anew_and_those_who_wait_are_told(heard: Any) -> None:
    tasks = heard(notifications.TASKS)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'vetro listening' AND datname = current_database()"
        )
    assert tasks.get(timeout=20) == ""  # gone
    assert tasks.get(timeout=20) == ""  # back
    assert notifications.hearing()
    assert tasks.empty()
    row = task()
    assert tasks.get(timeout=20) == row.id


@pytest.mark.usefixtures("postgresql")
def test_a_worker_in_another_data_directory_hears_of_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.server.config.config import Config

    monkeypatch.setattr(dispatcher, "SWEEP_SECONDS", 1000.0)
    looked, stop = threading.Semaphore(0), threading.Event()
    config = Config.load(tmp_path, overrides={"worker.lease_seconds": 4000.0}, environ={})
    places = SimpleNamespace(look=looked.release, look_for_cancels=lambda: None)
    serving = threading.Thread(target=dispatcher.DatabaseDispatcher(config, "w").serve, args=(places, stop))
    serving.start()
    try:
        until = time.monotonic() + 20
        while not notifications.hearing():
            assert time.monotonic() < until
            time.sleep(0.01)
        while looked.acquire(timeout=0.3):  # at the start, and when it began to hear
            pass
        task()
        assert looked.acquire(timeout=20)
    finally:
        stop.set()
        dispatcher.wake(config, "w")
        serving.join(20)
    assert not serving.is_alive()


@pytest.mark.usefixtures("postgresql")
def test_what_comes_while_the_connection_is_tried_is_heard(heard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "_ALIVE", -1.0)  # with each message
    tasks = heard(notifications.TASKS)
    rows = [task().id for _ in range(3)]
    assert [tasks.get(timeout=20) for _ in rows] == rows


@pytest.mark.usefixtures("postgresql")
def test_who_waits_for_a_task_hears_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    row = task(state=Task.RUNNING)
    monkeypatch.setattr(wait, "_FIRST", 100.0)
    monkeypatch.setattr(wait, "_HEARING", 100.0)
    monkeypatch.setattr(wait, "_MOST", 100.0)
    ended = threading.Timer(0.3, lambda: (Task.objects.filter(id=row.id).update(state="done"), connection.close()))
    ended.start()
    assert wait.wait(row.id, 30.0).state == "done"
    ended.join()


@pytest.mark.usefixtures("postgresql")
def test_a_stream_sends_what_was_told_without_looking_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "TOLD", 1000.0)
    monkeypatch.setattr(stream, "MOST", 0.05)
    looks = []
    look = stream.Watch._look
    monkeypatch.setattr(stream.Watch, "_look", lambda self: (looks.append(1), look(self))[1])
    parts = stream.Watch("p", None, None, 0, lambda: None).parts()
    next(parts)
    found: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        try:
            found.put(next(parts))
        finally:
            parts.close()
            connection.close()

    reading = threading.Thread(target=read)
    reading.start()
    until = time.monotonic() + 20
    while not notifications.hearing() or not looks:
        assert time.monotonic() < until
        time.sleep(0.01)
    with pytest.raises(queue.Empty):
        found.get(timeout=0.5)
    before = len(looks)
    with pytest.raises(queue.Empty):
        found.get(timeout=0.5)
    assert len(looks) == before
    Event.objects.create(project_id="other", kind="environment")
    Event.objects.create(project_id="p", kind="environment", data={"change": "created"})
    assert '"change": "created"' in found.get(timeout=20)
    assert len(looks) <= before + 2
    reading.join(20)
    assert not notifications.hearing()


def test_sqlite_and_open_transactions_are_silent(ann: Any, tmp_path: Path) -> None:
    add_environment(ann.caller)
    with transaction.atomic():
        leave = notifications.subscribe(notifications.TASKS, lambda message: None)
        assert not notifications.hearing()
        leave()
        with wakeup.Inbox(tmp_path, "worker-x", notifications.TASKS) as inbox:
            assert inbox.wait(0.0) == []
            assert wakeup.send(tmp_path, "worker-", "hello") == 1
            assert inbox.wait(5.0) == ["hello"]
    assert list(tmp_path.iterdir()) == []
