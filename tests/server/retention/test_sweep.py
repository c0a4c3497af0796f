"""What is too old is dropped, and that is judged by the database's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from tests.server.tasks import shop
from vetro.agent.errors import BrokerUnavailable
from vetro.server.config.config import Config
from vetro.server.environments.models import Environment
from vetro.server.retention import broker_logins, sweep
from vetro.server.retention import tasks as retention
from vetro.server.setup import config
from vetro.server.tasks.claim import shorten
from vetro.server.tasks.models import (
    Event,
    JournalEntry,
    JournalNote,
    JournalTask,
    Report,
    SweepMark,
    Task,
    WorkerProcess,
)

pytestmark = pytest.mark.database


@pytest.mark.django_db
def test_a_machine_whose_clock_is_years_ahead_drops_nothing(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + timedelta(days=4000)

    shop.deploy(ann.caller, shop.add_environment(ann.caller), shop.add_package(ann.caller))
    assert Event.objects.exists()
    monkeypatch.setattr(sweep, "datetime", Ahead)
    assert sweep.sweep(config())["events"] == 0
    assert sweep.sweep(config(), datetime.now(UTC) + timedelta(days=8))["events"] > 0


@pytest.mark.django_db
@pytest.mark.attack("data", "clock jumps")
def test_a_clock_that_jumps_and_is_put_right_loses_nothing(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.deploy(ann.caller, shop.add_environment(ann.caller), shop.add_package(ann.caller))
    events = Event.objects.count()
    monkeypatch.setattr(sweep.connections, "close_all", lambda: None)  # the test goes on with this one
    up = [1000.0]
    monkeypatch.setattr(sweep.time, "clock_gettime", lambda _: up[0])
    for days in (0, 366, 366, 0, -366, 0, 366, 3660, 366):  # there and back, with rounds and starts in between
        up[0] += 3600.0
        monkeypatch.setattr(sweep, "_doubted", [] if up[0] % 7200 < 3600 else sweep._doubted)
        with monkeypatch.context() as jumped:
            jumped.setattr(sweep.clock, "read", lambda days=days: datetime.now(UTC) + timedelta(days=days))
            sweep._clean(config())
        assert Event.objects.count() == events > 0, days
    monkeypatch.setattr(sweep.clock, "read", lambda: datetime.now(UTC) + timedelta(days=366))
    for hours, left in ((1, True), (20, True), (4, False)):  # nobody puts it right: a day later that is the time
        up[0] += hours * 3600.0
        sweep._clean(config())
        assert Event.objects.exists() == left, hours
    assert SweepMark.objects.get().at > datetime.now(UTC) + timedelta(days=365)


@pytest.mark.django_db
@pytest.mark.attack("data", "clock jumps")
def test_a_clock_that_was_set_back_keeps_no_task_waiting() -> None:
    """Pauses and leases of a clock that was a year ahead; those that are right stay as they are."""
    now = datetime.now(UTC)
    until = {"paused": 366.0, "dead": 366.0, "lives": 30 / 86_400, "soon": 60 / 86_400}
    for name, days in until.items():
        state = "queued" if name in ("paused", "soon") else "running"
        owner = "" if name in ("paused", "soon") else name
        id = task(name, None, state=state)
        Task.objects.filter(id=id).update(lease_until=now + timedelta(days=days), owner=owner)
    WorkerProcess.objects.create(id="dead", host="h", pid=1, version="v", seen=now + timedelta(days=366))
    shorten(30.0)
    for name, days in until.items():
        found = Task.objects.get(environment_id=name).lease_until
        assert found is not None
        assert abs(found - now - timedelta(days=min(days, 30 / 86_400) if days > 1 else days)) < timedelta(seconds=9)
    assert WorkerProcess.objects.get().seen < now + timedelta(minutes=1)


NOW = datetime(2026, 11, 21, tzinfo=UTC)


def task(environment: str = "", days: float | None = 10, *, kind: str = "deploy", state: str = "done") -> str:
    """One that ended so many days before `NOW` and was made an hour before that, with a journal and a report."""
    ended = None if days is None else NOW - timedelta(days=days)
    made = Task.objects.create(
        project_id="p", user_id="u", environment_id=environment, kind=kind, state=state, spec={}, finished=ended
    )
    Task.objects.filter(id=made.id).update(created=(ended or NOW - timedelta(days=50)) - timedelta(hours=1))
    begun = made.created.timestamp()
    JournalTask.objects.create(task=made, digest="d", engine="e", begun=begun)
    JournalEntry.objects.create(task=made, key="k", kind="k", digest="d", begun=begun)
    JournalNote.objects.create(task=made, key="n", kind="report", digest="d", args=[], at=begun)
    Report.objects.create(task=made, key="n", text="hello", created=made.created)
    return str(made.id)


def kept() -> set[str]:
    """The tasks there are; whatever refers to a task is there with it."""
    found = set(Task.objects.values_list("id", flat=True))
    for table in (JournalTask, JournalEntry, JournalNote, Report):
        assert set(table.objects.values_list("task_id", flat=True)) == found
    return found


@pytest.mark.django_db
@pytest.mark.parametrize("together", [1, 500])
def test_tasks_of_no_environment_are_dropped_a_while_after_their_end(
    monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(retention, "_TOGETHER", together)
    monkeypatch.setattr(retention, "_AT_ONCE", together)
    there = Environment.objects.create(project_id="p", name="there").id
    history = {task(there, 300), task(there, 9, kind="action", state="failed")}
    young = {task(days=6, kind="static"), task("gone", 6, kind="destroy")}
    open = {task(days=None, state=state) for state in ("queued", "running", "needs_person")}
    open.add(task("gone", None, state="needs_person"))
    for kind, state in (("static", "done"), ("plan", "failed"), ("schema", "killed"), ("builder", "cancelled")):
        task(kind=kind, state=state)
    task("gone", 300)
    task("gone", 8, kind="action", state="diverged")
    task("gone too")
    assert retention.drop(config(), NOW) == 7
    assert kept() == history | young | open
    assert retention.drop(config(), NOW) == 0
    assert retention.drop(config(), NOW + timedelta(days=400)) == 2
    assert kept() == history | open


@pytest.mark.django_db
def test_whoever_waits_for_an_answer_finds_it() -> None:
    answered = task(days=0.01, kind="static")
    task(days=0.05, kind="static")
    settings = Config.load(config().data, overrides={"retention.journal_days": 0})
    assert retention.drop(settings, NOW) == 1
    assert kept() == {answered}


@pytest.mark.django_db
def test_an_index_finds_them_and_nothing_is_deciphered() -> None:
    for _ in range(3):
        task(kind="static")
    with CaptureQueriesContext(connection) as seen:
        assert retention.drop(config(), NOW) == 3
    asked = [query["sql"] for query in seen.captured_queries if "SELECT" in query["sql"]]
    assert asked and not any('"spec"' in sql or '"result"' in sql for sql in asked)
    for sql in (sql for sql in asked if '"environment_id"' in sql and connection.vendor == "sqlite"):
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            plan = [row[3] for row in cursor.fetchall()]
        assert all("INDEX" in step for step in plan if step.startswith(("SEARCH", "SCAN"))), plan


@pytest.mark.django_db
def test_tasks_stay_while_the_broker_cannot_be_asked_for_its_logins(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def away(_: Any) -> int:
        seen.append("logins")
        raise BrokerUnavailable("nobody there")

    def there(_: Any) -> int:
        assert Task.objects.exists()  # they say whose the logins are
        seen.append("logins")
        return 1

    old = task(kind="static")
    Task.objects.filter(id=old).update(finished=datetime.now(UTC) - timedelta(days=20))
    Task.objects.filter(id=old).update(created=datetime.now(UTC) - timedelta(days=20, hours=1))
    monkeypatch.setattr(sweep.garbage, "collect", lambda: 0)
    monkeypatch.setattr(sweep.connections, "close_all", lambda: None)  # the test goes on with this one
    monkeypatch.setattr(broker_logins, "sweep", away)
    sweep._clean(config())
    assert Task.objects.filter(id=old).exists()
    monkeypatch.setattr(broker_logins, "sweep", there)
    sweep._clean(config())
    assert not Task.objects.exists() and seen == ["logins", "logins"]


@pytest.mark.django_db
def test_what_is_left_when_it_is_interrupted_says_the_same_of_logins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_TOGETHER", 1)
    task("gone", 300, kind="destroy")
    last = task("gone", 20, state="cancelled")  # it came back from an archive, and was abandoned: its servers run on
    real, left = QuerySet.delete, [1]

    def delete(rows: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise OperationalError("the connection is closed")
        return real(rows)

    with monkeypatch.context() as breaking, pytest.raises(OperationalError):
        breaking.setattr(QuerySet, "delete", delete)
        retention.drop(config(), NOW)
    assert kept() == {last} and broker_logins.left_over(["gone"]) == []
    assert retention.drop(config(), NOW) == 1
