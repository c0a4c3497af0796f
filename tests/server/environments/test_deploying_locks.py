"""Abandoning an environment while its task ends: both lock the task first, so neither waits for the other for ever."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, connections

from tests.server.environments.conftest import plant
from vetro.engine.outcome import Outcome
from vetro.server.environments import deploy as deploying
from vetro.server.environments import queries
from vetro.server.environments.models import Environment
from vetro.server.tasks.claim import claim
from vetro.server.tasks.completion import finish
from vetro.server.tasks.models import Task

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def until_somebody_waits(over: threading.Event) -> None:
    """For a lock of this database; or ``over``."""
    end = time.monotonic() + 60
    while not over.wait(0.02):
        assert time.monotonic() < end, "nobody waits for a lock"
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return


def test_a_task_that_ends_and_who_abandons_do_not_wait_for_each_other(planting: Any) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one lock")
    garden = planting()
    task = deploying.deploy(garden.caller, garden.id, garden.open())
    lease = claim("me", 60.0)
    assert lease is not None
    holds, over = threading.Event(), threading.Event()
    failed: list[BaseException] = []

    def abandon() -> None:
        try:
            assert holds.wait(60)
            deploying.delete(garden.caller, garden.id, abandon=True)
        except BaseException as error:
            failed.append(error)
        finally:
            over.set()
            connections.close_all()

    def held() -> Task:
        row = lease.held()
        holds.set()
        until_somebody_waits(over)
        return row

    thread = threading.Thread(target=abandon)
    thread.start()
    try:
        finish(held, Outcome("done", model={"Objects": None}))
    finally:
        thread.join(60)
    assert failed == []
    assert Task.objects.get(id=task.id).state == "done"
    assert not Environment.objects.filter(id=garden.id).exists()


def test_a_task_that_is_begun_meanwhile_ends_with_the_environment(
    planting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    garden = planting(plant())
    before = queries.get(garden.caller, garden.id)
    task = deploying.deploy(garden.caller, garden.id, garden.open())
    seen = [before]  # at the first look it was not there yet

    def get(*given: Any) -> queries.ListedEnvironment:
        return seen.pop() if seen else queries.get(*given)

    monkeypatch.setattr(deploying, "queries", SimpleNamespace(get=get))
    deploying.delete(garden.caller, garden.id, abandon=True)
    assert seen == [] and not Environment.objects.filter(id=garden.id).exists()
    assert Task.objects.get(id=task.id).state == "cancelled"
