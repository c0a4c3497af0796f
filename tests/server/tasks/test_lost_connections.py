"""A connection to the database that breaks while a task runs: it is given back at once, and its end counts once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection

from tests.server.tasks import shop
from vetro.server import sandboxed_workers
from vetro.server.setup import config
from vetro.server.tasks import clock, task_runner
from vetro.server.tasks.claim import Lease, claim
from vetro.server.tasks.models import Task
from vetro.server.tasks.task_runner import TaskRunner

pytestmark = pytest.mark.database

LEASE = 600.0


def runner(step: Any) -> TaskRunner:
    return TaskRunner(config(), sandboxed_workers.launcher(), step=step)


def begin(ann: Any) -> Lease:
    shop.deploy(ann.caller, shop.add_environment(ann.caller), shop.add_package(ann.caller))
    lease = claim("me", LEASE)
    assert lease is not None
    return lease


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("when", ["before begin", "after intent", "after end"])
def test_the_database_ends_the_connection(ann: Any, drain: Callable[..., int], when: str) -> None:
    """At moments at which the next statement stands in a transaction, and at which it does not."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no connections that break")
    import psycopg

    ended: list[int] = []

    def step(name: str, key: str) -> None:
        if name == when and not ended:
            ended.append(connection.connection.info.backend_pid)
            names = ("dbname", "user", "password", "host", "port")
            given = {name: value for name, value in connection.get_connection_params().items() if name in names}
            with psycopg.connect(**given, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 20000)", ended)

    assert runner(step).run(begin(ann)) is None
    assert ended
    row = Task.objects.get()
    assert (row.state, row.owner) == ("running", "")
    assert row.lease_until is not None and (row.lease_until - clock.read()).total_seconds() < LEASE / 2
    Task.objects.update(lease_until=clock.after(-1.0))
    assert drain() == 1
    assert Task.objects.get().state == "done"


@pytest.mark.django_db
def test_a_commit_of_which_nobody_heard_stands(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, real = begin(ann), task_runner.finish

    def finish(*given: Any) -> Any:
        real(*given)
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(task_runner, "finish", finish)
    assert runner(task_runner.no_step).run(lease) is None
    monkeypatch.undo()
    row = Task.objects.get()
    assert (row.state, row.attempts, row.failures) == ("done", 1, 0)
    assert drain() == 0
    assert [report.text for report in row.reports.all()].count("Deployment finished") == 1
