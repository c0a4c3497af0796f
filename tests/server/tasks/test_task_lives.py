"""Tasks from their beginning to their end: deployed, cancelled, tried again, decided by a person, given up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.server.tasks import shop
from vetro.engine.outcome import Outcome
from vetro.engine.task.launcher import LauncherError
from vetro.engine.worker.journal import Ended, RecordedEffect
from vetro.server import setup
from vetro.server.audit.models import AuditRecord
from vetro.server.config.config import Config
from vetro.server.environments.models import Environment, State
from vetro.server.errors import Conflict, NotFound
from vetro.server.tasks import clock, queue, spec
from vetro.server.tasks.claim import Lease, claim
from vetro.server.tasks.completion import finish
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import Event, Task
from vetro.server.tasks.release import release
from vetro.server.tasks.task_runner import TaskRunner

pytestmark = pytest.mark.django_db


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
        ("Deployment requested", "info"),
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
    assert made.reports.order_by("seq").first().text == "Action greet requested"


def test_cancel_before_it_runs(ann: Any, eve: Any, drain: Callable[..., int]) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    with pytest.raises(NotFound):
        queue.cancel(eve.caller, made.id)
    cancelled = queue.cancel(ann.caller, made.id, "changed my mind")
    assert (cancelled.state, cancelled.cancel) == ("cancelled", "changed my mind")
    assert queue.cancel(ann.caller, made.id).state == "cancelled"
    (told,) = AuditRecord.objects.filter(action="task.cancel")
    assert (told.target_id, told.user_name) == (made.id, ann.caller.user_name)
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
    journal.intent(RecordedEffect("0/1", "workflow", "d", {"name": "pay"}, 1.0))
    journal.end(Ended("needs_person"))
    journal.commit()
    finish(lease.held, Outcome("needs_person"))
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
    lease = claim("me", 60.0)
    assert lease is not None and lease.task_id == made.id
    assert waiting.id != made.id


def test_a_person_may_also_cancel(ann: Any) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    lease = claim("me", 60.0)
    assert lease is not None
    finish(lease.held, Outcome("needs_person"))
    assert queue.cancel(ann.caller, made.id).state == "cancelled"
    environment.refresh_from_db()
    assert environment.version == 1


def test_so_may_who_wanted_its_end_before_it_came_to_wait(ann: Any) -> None:
    """Once nothing could end such a task any more, and its environment stayed busy."""
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    lease = claim("me", 60.0)
    assert lease is not None
    assert queue.cancel(ann.caller, made.id, "enough").state == "running"
    finish(lease.held, Outcome("needs_person"))  # its host died with an effect before it heard of that
    found = queue.cancel(ann.caller, made.id)
    assert (found.state, found.cancel) == ("cancelled", "enough")
    environment.refresh_from_db()
    assert environment.version == 1


def test_an_end_that_only_the_journal_knows_is_told_by_any_version(ann: Any, drain: Callable[..., int]) -> None:
    """Its worker died between the two, and workers of its version are gone."""
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    lease = claim("me", 60.0)
    assert lease is not None
    journal = DbJournal(made.id, lease.hold)
    journal.begin(spec.engine_task(Task.objects.get(id=made.id)).as_json(), "0.0.1", 1.0)
    journal.checkpoint({**made.spec["model"], "Attributes": [["1", "C", "seen", True]]}, 2.0)
    journal.end(Ended("done", 5))
    journal.commit()
    Task.objects.update(engine="0.0.1", lease_until=datetime.now(UTC) - timedelta(hours=1))
    assert drain() == 1
    made.refresh_from_db()
    assert (made.state, made.result, made.error) == ("done", 5, None)
    assert State.objects.get().model["Attributes"] == [["1", "C", "seen", True]]


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


class NoProcesses:
    """A machine on which no task process can be made."""

    def start(self) -> Any:
        raise LauncherError("no process can be made")


def test_one_that_is_to_be_tried_again_later_is_cancelled_now(ann: Any) -> None:
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    made = shop.deploy(ann.caller, environment, package)
    runner, first = TaskRunner(setup.config(), NoProcesses()), claim("me", 60.0)
    assert first is not None and runner.run(first) is None
    Task.objects.update(lease_until=clock.after(60.0))
    assert queue.cancel(ann.caller, made.id, "enough").state == "running"
    second = claim("me", 60.0)
    assert second is not None and runner.run(second) is not None
    made.refresh_from_db()
    assert (made.state, made.error["kind"]) == ("cancelled", "cancelled")
    assert "(enough)" in made.error["message"] and "no process can be made" in made.error["message"]
    environment.refresh_from_db()
    assert environment.version == 1
