"""What `vetro doctor` sees in the database: workers, growth, backups."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection, connections

from tests.server.operations.doctor.test_here import problems
from vetro.engine.version import engine_version
from vetro.server.accounts.models import User
from vetro.server.audit.models import AuditRecord
from vetro.server.config.config import Config
from vetro.server.database import database_settings
from vetro.server.environments.models import Environment
from vetro.server.http import background_work
from vetro.server.operations.database.backup_file import ACTION
from vetro.server.operations.doctor import backups, growth, workers
from vetro.server.tasks.backends import Backend
from vetro.server.tasks.dispatcher import DatabaseDispatcher
from vetro.server.tasks.models import JournalTask, Task, WorkerProcess

Make = Callable[..., Config]
pytestmark = pytest.mark.django_db


def worker(name: str, **more: Any) -> None:
    now = datetime.now(UTC)
    WorkerProcess.objects.create(
        **{"id": name, "host": "a/1/2", "pid": 1, "version": engine_version(), "seen": now, **more}
    )


def test_nobody_works(settings: Make) -> None:
    worker("dead", seen=datetime.now(UTC) - timedelta(minutes=5))
    assert ("warning", "no worker lives: nothing is deployed") in problems(workers.examine(settings()))
    worker("leaving", draining=True)
    assert ("warning", "all 1 workers drain: nothing is begun") in problems(workers.examine(settings()))
    worker("w")
    assert problems(workers.examine(settings())) == []


def test_workers_on_many_machines(settings: Make) -> None:
    worker("one")
    worker("two", host="b/1/2")
    found = dict(problems(workers.examine(settings(cloud_kind="openstack"))))
    assert ("error" in found) == (connection.vendor == "sqlite")
    assert any("on the machine of the worker" in text for _, text in problems(workers.examine(settings())))


@pytest.mark.database
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connections to run out of")
def test_too_few_connections(settings: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    worker("w")
    config = settings(server_processes=8, database_pool=40)
    assert any("may want 337 connections" in text for _, text in problems(workers.examine(config)))
    # The dispatcher of a plug-in says how many more each worker has because of it.
    worker("v")
    for plugin, wanted in ((None, 346), (Backend(DatabaseDispatcher, connections=6), 358)):
        monkeypatch.setattr(workers, "backend", lambda _, found=plugin: found)
        assert any(
            f"and workers (2) may want {wanted} connections" in text for _, text in problems(workers.examine(config))
        )


@pytest.mark.database
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connections to run out of")
def test_every_server_counts(settings: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Servers are told apart by the names of their sessions, which all processes of one have."""
    worker("w")
    config = settings(server_processes=2, database_pool=20)
    monkeypatch.setenv("VETRO_HTTP", "1")
    others = []
    try:
        for run in ("1", "1", "2"):
            monkeypatch.setenv("VETRO_RUN", str(tmp_path / run))
            told = database_settings(settings(database_url="postgresql://db/vetro"))["OPTIONS"]["application_name"]
            given = connection.get_connection_params()
            wanted = {key: given[key] for key in ("dbname", "user", "password", "host", "port") if given.get(key)}
            others.append(psycopg.connect(**wanted, application_name=told))
        (found,) = [f for f in workers.examine(config) if "connections" in str(f.message)]
        assert "at most 93 of" in found.message and "for servers (2) and workers (1)" in found.message
    finally:
        for other in others:
            other.close()


@pytest.mark.database
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no sessions")
@pytest.mark.django_db(transaction=True)
def test_a_server_has_a_session_before_anybody_asks_it() -> None:
    def sessions() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            return int(cursor.fetchone()[0])

    opened, end = threading.Event(), threading.Event()

    def process() -> None:
        background_work._join()
        opened.set()
        end.wait(30)
        connections.close_all()

    before, thread = sessions(), threading.Thread(target=process)
    thread.start()
    try:
        assert opened.wait(30) and sessions() == before + 1
    finally:
        end.set()
        thread.join()


def test_growth(settings: Make) -> None:
    assert problems(growth.examine(settings())) == []
    now = datetime.now(UTC)
    task = Task.objects.create(project_id="p", user_id="u", kind="deploy", spec={}, state="done", finished=now)
    JournalTask.objects.create(task=task, digest="d", engine="1", begun=1.0)
    assert problems(growth.examine(settings())) == []
    Task.objects.filter(id=task.id).update(finished=now - timedelta(days=10))
    assert problems(growth.examine(settings(retention_states=0))) == [
        ("warning", "1 journals are older than retention.journal_days"),
        ("warning", "all states of environments are kept for ever (retention.states = 0)"),
    ]


def test_accounts_are_something_to_save(settings: Make) -> None:
    User.objects.create(username="admin")
    assert list(backups.examine(settings())) == []
    User.objects.create(username="ann")
    assert problems(backups.examine(settings())) == [("warning", "'vetro db backup' has never saved this installation")]


def test_backups(settings: Make) -> None:
    assert list(backups.examine(settings())) == []
    Environment.objects.create(name="e", project_id="p")
    assert problems(backups.examine(settings())) == [("warning", "'vetro db backup' has never saved this installation")]
    record = AuditRecord.objects.create(project_id="", user_id="system", action=ACTION)
    (found,) = backups.examine(settings())
    assert (found.severity, found.message) == ("ok", "the newest backup is 0 hours old")
    AuditRecord.objects.filter(id=record.id).update(at=datetime.now(UTC) - timedelta(days=9))
    assert problems(backups.examine(settings())) == [("warning", "the newest backup is 9 days old")]
