"""Changes of health are told once each, whatever becomes of who tells them; and the watcher waits for none of it."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from django.db import DatabaseError, connection, connections
from django.test.utils import CaptureQueriesContext

from tests.server.notices.conftest import Notices
from vetro.server.environments.models import Environment
from vetro.server.notices import changes, outbox
from vetro.server.notices.changes import Changes
from vetro.server.notices.models import Delivery
from vetro.server.watch import queries
from vetro.server.watch import service as watch
from vetro.server.watch.models import HealthChange

pytestmark = pytest.mark.django_db

URL = "https://ops.example.com/vetro"


def report(row: Environment, **states: str) -> None:
    items = [{"id": id, "state": state, "text": "", "checks": []} for id, state in states.items()]
    watch.record([(row.id, row.version, items)], "mark")


def states() -> list[str]:
    return sorted(row.body["state"] for row in Delivery.objects.all())


@pytest.mark.attack("database", "notices")
def test_the_watcher_asks_and_writes_nothing_of_notices(notices: Notices) -> None:
    """A table that somebody has locked held up its heartbeat, and a row that was refused cost the states."""
    notices.webhook(URL)
    with CaptureQueriesContext(connection) as told:
        report(notices.environment, a="down")
        watch.nobody_knows(notices.environment.id, "mark", "it cannot be read")
    assert [query["sql"] for query in told.captured_queries if "notices_" in query["sql"]] == []
    assert HealthChange.objects.filter(pending=True).count() == 2  # and not what the environment is as a whole
    assert Changes().tell() == 2 and states() == ["down", "unknown"]


def test_who_is_killed_before_leaves_it_to_the_next_and_after_leaves_nothing(
    notices: Notices, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices.webhook(URL)
    report(notices.environment, a="down", b="down")

    class Killed(BaseException):
        pass

    def kill(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:  # with its deliveries half written
        inserted = outbox._insert

        def one(*args: Any) -> None:
            inserted(*args)
            kill()

        patch.setattr(outbox, "_insert", one)
        with pytest.raises(Killed):
            Changes().tell()
    assert states() == []
    assert Changes().tell() == 2 and states() == ["down", "down"]
    assert Changes().tell() == 0 and Changes().tell() == 0 and states() == ["down", "down"]


def test_two_workers_tell_each_change_once(notices: Notices, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one is done between the first one's look and its claim."""
    notices.webhook(URL)
    report(notices.environment, a="down")
    looked = outbox.crowded
    second: list[int] = []

    def between(found: Any) -> frozenset[str]:
        monkeypatch.setattr(outbox, "crowded", looked)
        second.append(Changes().tell())
        return looked(found)

    monkeypatch.setattr(outbox, "crowded", between)
    assert (Changes().tell(), second) == (0, [1]) and states() == ["down"]


def test_what_cannot_be_told_of_one_environment_waits_and_keeps_nobody(
    notices: Notices, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices.webhook(URL)
    other = Environment.objects.create(project_id=notices.caller.project_id, name="other", version=1)
    report(notices.environment, a="down")
    report(other, a="degraded")
    health = outbox.health_changed

    def refuse(rows: Any, crowd: Any) -> None:
        if rows[0].environment_id == notices.environment.id:
            raise DatabaseError("value too long")
        health(rows, crowd)

    worker = Changes()
    with monkeypatch.context() as patch:
        patch.setattr(outbox, "health_changed", refuse)
        assert worker.tell() == 1 and worker.tell() == 0
    assert states() == ["degraded"]
    found = queries.of_environment(notices.environment.id)
    assert found is not None and worker.tell() == 0, "it is tried again after a while"
    monkeypatch.setattr(changes, "_AGAIN", 0.0)
    worker._later.clear()
    assert worker.tell() == 1 and states() == ["degraded", "down"]


def test_what_no_key_opens_is_told_without_its_reason(notices: Notices) -> None:
    notices.webhook(URL)
    report(notices.environment, a="down")
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {HealthChange._meta.db_table} SET detail = %s", [b"rubbish"])
    assert Changes().tell() == 1 and states() == ["down"]


@pytest.mark.campaign
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", ["claimed", "written", "over"])
def test_a_process_that_is_killed_loses_no_change_and_tells_none_twice(
    notices: Notices, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """SIGKILL in the middle, in a process of its own."""
    notices.webhook(URL)
    report(notices.environment, a="down", b="degraded")
    inserted = outbox._insert

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def insert(*args: Any) -> None:
        if point == "written":
            inserted(*args)
        if point != "over":
            die()
        inserted(*args)

    connections.close_all()
    pid = os.fork()
    if not pid:
        try:
            outbox._insert = insert
            Changes().tell()
            die()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert states() == (["degraded", "down"] if point == "over" else [])
    assert Changes().tell() == (0 if point == "over" else 2)
    assert states() == ["degraded", "down"] and Changes().tell() == 0
