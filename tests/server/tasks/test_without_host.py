"""Tasks that ask for nothing outside: no effects host is started; their end is one transaction with what follows."""

from __future__ import annotations

import select
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.db import DataError, OperationalError

from tests.server.tasks import shop
from vetro.clouds.interface import CloudError
from vetro.engine.worker.ports import HostUnavailable
from vetro.engine.worker.run import Run
from vetro.server import sandboxed_workers, setup
from vetro.server.environments import outcomes
from vetro.server.tasks import task_runner
from vetro.server.tasks.claim import claim
from vetro.server.tasks.models import JournalEntry, JournalNote, JournalTask, Task
from vetro.server.tasks.queue import enqueue_plan
from vetro.server.tasks.task_runner import TaskRunner

pytestmark = pytest.mark.django_db

QUIET = """\
Name: Shop
Namespaces: {=: test, std: io.murano, sys: io.murano.system}
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  pauses: {Contract: $.int().notNull(), Default: 0}
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'opening')
      - For: number
        In: range($.pauses)
        Do: sleep(0)
      - $.find(std:Environment).reporter.report($this, 'open')
"""
LISTENS = QUIET.replace("- $.find", "- new(sys:AgentListener, name => x).start()\n      - $.find", 1)
LINES = ["Deployment requested", "opening", "open", "Deployment finished"]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_runner, "PAUSES", (0.0,))
    monkeypatch.setattr(task_runner, "outage_pause", lambda attempts: 0.0)


def begin(ann: Any, code: str = QUIET, **properties: Any) -> Task:
    package = shop.add_package(ann.caller, shop.archive({"Classes/Shop.yaml": code}))
    task: Task = shop.deploy(ann.caller, shop.add_environment(ann.caller), package, **properties)
    return task


def run(**options: Any) -> Any:
    lease = claim("me", 60.0)
    assert lease is not None
    return TaskRunner(setup.config(), sandboxed_workers.launcher(), **options).run(lease)


def lines(task: Task) -> list[str]:
    return list(task.reports.order_by("seq").values_list("text", flat=True))


def no_host(settings: Mapping[str, Any]) -> Any:
    raise HostUnavailable("there is none")


def test_no_host_is_made_and_nothing_is_kept_for_going_on(ann: Any) -> None:
    task, heard = begin(ann), list[Any]()
    assert run(hosts=no_host, events=heard.append).state == "done"
    task.refresh_from_db()
    assert task.state == "done" and task.log_bytes > 0 and lines(task) == LINES
    assert [event["args"]["text"] for event in heard if event["event"] == "note"] == ["opening", "open"]
    assert not JournalEntry.objects.exists()
    assert JournalNote.objects.count() in (0, 1, 2)  # those that were committed before the end
    assert not JournalTask.objects.exclude(ended=None).exists()


def test_the_first_effect_needs_a_host_and_leaves_no_intent_without_one(ann: Any) -> None:
    task = begin(ann, pauses=1)
    assert run(hosts=no_host) is None
    task.refresh_from_db()
    assert (task.state, task.failures) == ("running", 1)  # given back: whoever comes next goes on
    assert not JournalEntry.objects.exists()
    assert run().state == "done"
    assert lines(task) == LINES


def test_what_was_reported_before_a_host_that_cannot_be_made_is_kept(ann: Any) -> None:
    def wrong(settings: Mapping[str, Any]) -> Any:
        raise CloudError("the settings of the cloud are wrong")

    task = begin(ann, pauses=1)
    assert run(hosts=wrong).state == "failed"
    assert lines(task) == [*LINES[:2], "the settings of the cloud are wrong", "Deployment finished with errors"]
    assert not JournalEntry.objects.exists()


def test_no_host_is_made_after_the_end_to_listen(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all that a task says comes at once: nothing would stop such a host, and what failed would be of no task."""
    wait = Run._wait

    def wait_for_all(self: Run) -> None:
        wait(self)
        poll = select.poll()
        poll.register(self._task.fileno(), select.POLLRDHUP)
        poll.poll(30_000)

    monkeypatch.setattr(Run, "_wait", wait_for_all)
    task = begin(ann, LISTENS)
    assert run(hosts=no_host).state == "done"
    task.refresh_from_db()
    assert task.state == "done" and lines(task) == LINES


@pytest.mark.parametrize("at", ["before checkpoint", "before end", "after end"])
def test_a_worker_that_dies_at_the_end_leaves_all_or_nothing_of_it(ann: Any, at: str) -> None:
    task, died = begin(ann), list[str]()

    def step(name: str, key: str) -> None:
        if name == at and not died:
            died.append(name)
            raise OperationalError("the connection was lost")

    assert run(step=step) is None and died == [at]
    task.refresh_from_db()
    if at == "after end":
        assert task.state == "done"
    else:
        assert "Deployment finished" not in lines(task)
        assert run().state == "done"
    assert lines(task) == LINES


def test_an_end_that_is_refused_keeps_what_was_reported(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    task = begin(ann)

    def refuse(*_: Any) -> None:
        raise DataError("value too long")

    with monkeypatch.context() as patch:
        patch.setattr(outcomes.usage, "count", refuse)
        assert run() is None
    task.refresh_from_db()
    assert (task.state, task.failures) == ("running", 1)  # given back: whoever comes next goes on
    assert lines(task) == LINES[:3]
    assert run().state == "done"
    assert lines(task) == LINES


def test_a_plan_is_told_from_what_its_host_found(ann: Any, drain: Callable[..., int]) -> None:
    package = shop.add_package(ann.caller, shop.archive({"Classes/Shop.yaml": QUIET}))
    environment = shop.add_environment(ann.caller)
    plan = enqueue_plan(ann.caller, environment=environment, model=shop.model(environment), packages=[package])
    assert drain() == 1
    plan.refresh_from_db()
    assert plan.state == "done", plan.error
    assert plan.result["stacks"] == []
