"""Which task comes next, and what happens to tasks that are cancelled, retried, decided about, or given up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.server.dispatch import shop
from vetro.engine.journal import Ended, Entry
from vetro.engine.outcome import Outcome
from vetro.engine.worker_ports import LeaseLost
from vetro.server.dispatch import members, queue
from vetro.server.dispatch.claim import SHORT, Lease, claim, release, renew
from vetro.server.dispatch.ending import finish
from vetro.server.dispatch.journal import DbJournal
from vetro.server.dispatch.models import Event, JournalEntry, JournalTask, Report, Task, WorkerProcess
from vetro.server.dispatch.sweep import sweep
from vetro.server.environments.models import Environment, State
from vetro.server.errors import Conflict, Invalid, NotFound

pytestmark = pytest.mark.django_db


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


def test_priority_then_the_project_with_least_then_age() -> None:
    for number in range(4):
        task(f"a{number}", f"ea{number}", "a")
    task("b0", "eb", "b")
    task("urgent", "", "a", priority=1)
    assert [claimed() for _ in range(6)] == ["urgent", "b0", "a0", "a1", "a2", "a3"]


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
        finish("1", Outcome("done"), first.hold)
    assert Task.objects.get().state == "running"
    renew([first])
    assert release("other", pause=60.0) == 1
    assert claim("third", 60.0) is None
    with pytest.raises(LeaseLost):
        second.hold()


def test_workers_that_died_here_are_found_at_once() -> None:
    task("1")
    member = members.join([])
    assert claimed() == "1"
    Task.objects.update(owner=member.id)
    assert members.take_over() == 0
    WorkerProcess.objects.update(pid=(1 << 22) + 1)  # beyond what Linux gives
    assert members.take_over() == 1
    assert not WorkerProcess.objects.exists()
    assert claimed() == "1"


def test_deploy_then_destroy(ann: Any, drain: Callable[..., int]) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package, warn=True)
    other = shop.deploy(ann.caller, environment, package, fail=True)
    Environment.objects.update(task_id=made.id)
    assert drain(most=1) == 1
    made.refresh_from_db()
    assert (made.state, made.result, made.owner, made.attempts) == ("done", None, "", 1)
    assert (made.errors, made.finished is not None, made.lease_until) == (True, True, None)
    texts = list(made.reports.order_by("seq").values_list("text", "level"))
    assert texts == [
        ("Action deploy is scheduled", "info"),
        ("opening corner", "info"),
        ("something is odd", "error"),
        ("open", "info"),
        ("Deployment finished with errors", "info"),
    ]
    Environment.objects.update(task_id=other.id)
    assert drain() == 1
    other.refresh_from_db()
    assert other.state == "failed"
    error = other.reports.get(level="error", entity_id=environment.id)
    assert error.text == "[test.ShopFailed]: no customers"
    assert [frame["file"] for frame in error.details["frames"]] == [
        "io.murano: Classes/Environment.yaml", "test.shop 0.0.0: Classes/Shop.yaml"
    ]  # fmt: skip
    states = State.objects.filter(environment=environment).order_by("number")
    assert [s.number for s in states] == [1, 2]
    gone = shop.enqueue(ann.caller, environment, package, states[0].model, "destroy")
    assert drain() == 1
    gone.refresh_from_db()
    assert gone.state == "done", gone.error
    assert not Environment.objects.exists()
    assert list(Event.objects.filter(task_id=gone.id, kind="task").order_by("seq").values_list("data", flat=True)) == [
        {"state": "queued", "kind": "destroy"}, {"state": "done", "kind": "destroy"}
    ]  # fmt: skip


def test_an_action(ann: Any, drain: Callable[..., int]) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    shop.deploy(ann.caller, environment, package)
    drain()
    model = State.objects.get().model
    start = {**model, "ObjectsCopy": model["Objects"]}
    more = {"method": "greet", "object_id": "shop-1", "args": {"name": "Bo"}}
    made = shop.enqueue(ann.caller, environment, package, start, "action", **more)
    drain()
    made.refresh_from_db()
    assert (made.state, made.result) == ("done", "hello Bo from corner")
    assert made.reports.order_by("seq").first().text == "Action greet is scheduled"


def test_cancel_before_it_runs(ann: Any, eve: Any, drain: Callable[..., int]) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    with pytest.raises(NotFound):
        queue.cancel(eve.caller, made.id)
    cancelled = queue.cancel(ann.caller, made.id, "changed my mind")
    assert (cancelled.state, cancelled.cancel) == ("cancelled", "changed my mind")
    assert queue.cancel(ann.caller, made.id).state == "cancelled"
    assert drain() == 0
    environment.refresh_from_db()
    assert environment.version == 1
    assert State.objects.get().model["Objects"]["applications"]


def test_cancel_while_it_runs(ann: Any, drain: Callable[..., int]) -> None:
    """The reason stands in the row: whoever runs it, also after a death, sees it."""
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package, wait=3600)
    lease = claim("me", 60.0)
    assert lease is not None
    assert queue.cancel(ann.caller, made.id, "enough").state == "running"
    release("me")
    assert drain() == 1
    made.refresh_from_db()
    assert (made.state, made.cancel) == ("cancelled", "enough")


def test_retry_begins_with_what_was_left(ann: Any, eve: Any, drain: Callable[..., int]) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package, fail=True)
    with pytest.raises(Conflict):
        queue.retry(ann.caller, made.id)
    drain()
    with pytest.raises(NotFound):
        queue.retry(eve.caller, made.id)
    again = queue.retry(ann.caller, made.id)
    assert again.id != made.id
    assert again.kind == "deploy"
    (app,) = again.spec["model"]["Objects"]["applications"]
    assert app["made"] == 1
    drain()
    again.refresh_from_db()
    assert again.state == "failed"
    environment.refresh_from_db()
    assert environment.version == 2


def test_a_person_decides(ann: Any, eve: Any, drain: Callable[..., int]) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    waiting = shop.deploy(ann.caller, environment, package)
    Environment.objects.update(task_id=made.id)
    lease = claim("me", 60.0)
    assert isinstance(lease, Lease)
    journal = DbJournal(made.id, lease.hold)
    journal.begin(made.spec, "1.0", 1.0)
    journal.intent(Entry("0/1", "workflow", "d", {"name": "pay"}, 1.0))
    journal.end(Ended("needs_person"))
    journal.commit()
    finish(made.id, Outcome("needs_person"), lease.hold)
    assert claim("me", 60.0) is None
    environment.refresh_from_db()
    assert environment.version == 0
    (effect,) = queue.undecided(ann.caller, made.id)
    assert (effect["key"], effect["kind"], effect["args"]) == ("0/1", "workflow", {"name": "pay"})
    with pytest.raises(NotFound):
        queue.resolve(eve.caller, made.id, "0/1", redo=True)
    with pytest.raises(Conflict):
        queue.resolve(ann.caller, made.id, "0/9", redo=True)
    assert queue.resolve(ann.caller, made.id, "0/1", answer=5).state == "queued"
    with pytest.raises(Conflict):
        queue.resolve(ann.caller, made.id, "0/1", answer=5)
    assert DbJournal(made.id).entries()[0].answer == 5
    assert claimed() == made.id
    assert waiting.id != made.id


def test_a_person_may_also_cancel(ann: Any) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    lease = claim("me", 60.0)
    assert lease is not None
    finish(made.id, Outcome("needs_person"), lease.hold)
    assert queue.cancel(ann.caller, made.id).state == "cancelled"
    environment.refresh_from_db()
    assert environment.version == 1


def test_a_package_that_is_gone_ends_the_task(ann: Any, drain: Callable[..., int]) -> None:
    from vetro.server.catalog import blobs

    environment = shop.add_environment(ann.caller)
    package = shop.add_package(ann.caller, shop.archive({"Classes/Shop.yaml": shop.SHOP + "# other\n"}))
    made = shop.deploy(ann.caller, environment, package)
    blobs.local_file(package.digest).unlink()
    drain()
    made.refresh_from_db()
    assert (made.state, made.failures) == ("failed", 1)
    assert "is missing" in made.error["message"]
    environment.refresh_from_db()
    assert environment.version == 1


def test_a_cloud_that_does_not_open_is_tried_again_and_then_given_up(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from vetro.server import setup
    from vetro.server.config import Config

    given = {"cloud.kind": "no.such.module:make"}
    monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    for attempt in range(1, 6):
        assert drain() == 1
        made.refresh_from_db()
        assert made.failures == attempt
        if attempt < 5:
            assert made.state == "running"
            Task.objects.update(lease_until=datetime.now(UTC) - timedelta(seconds=1))
    assert made.state == "failed"
    assert "no.such.module" in made.error["message"]


def test_unknown_kinds_are_refused(ann: Any) -> None:
    with pytest.raises(Invalid, match="dance"):
        queue.enqueue(ann.caller, "dance")


def test_old_journals_and_events_are_dropped(ann: Any, drain: Callable[..., int]) -> None:
    from vetro.server.setup import config

    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    drain()
    assert sweep(config()) == {"journals": 0, "events": 0, "audit": 0}
    assert JournalEntry.objects.filter(task=made).exists()
    found = sweep(config(), datetime.now(UTC) + timedelta(days=8))
    assert found["journals"] == 1
    assert found["events"] > 0
    assert not JournalTask.objects.exists()
    assert Report.objects.filter(task=made).exists()
    assert sweep(config(), datetime.now(UTC) + timedelta(days=400))["audit"] > 0


def test_unused_blobs_are_collected_beside_the_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.server.catalog import garbage
    from vetro.server.dispatch.sweep import begin_collecting
    from vetro.server.errors import Unavailable

    seen: list[str] = []

    def collect() -> int:
        seen.append(threading.current_thread().name)
        raise Unavailable("the store is away")

    monkeypatch.setattr(garbage, "collect", collect)
    begin_collecting().join(20)
    assert seen == ["garbage"]
