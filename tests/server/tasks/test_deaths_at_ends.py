"""A worker that dies, or loses its database, between the last word of a task and its row: the end stays the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from tests.server.tasks import shop
from vetro.engine.worker.ports import LeaseLost
from vetro.server import sandboxed_workers, setup
from vetro.server.tasks import task_runner
from vetro.server.tasks.claim import claim
from vetro.server.tasks.models import Task
from vetro.server.tasks.queue import enqueue_plan
from vetro.server.tasks.script_output import OutputLog
from vetro.server.tasks.task_runner import TaskRunner

pytestmark = [pytest.mark.database, pytest.mark.django_db]

#: Waits for an hour, and says so when it is cancelled.
WAITING = """\
Name: Shop
Namespaces: {=: test, std: io.murano}
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
Methods:
  deploy:
    Body:
      - $reporter: $.find(std:Environment).reporter
      - sleep(0)
      - Try:
          - For: number
            In: range(30)
            Do: $reporter.report($this, format('round {0}', $number))
          - sleep(3600)
        Catch:
          With: Everything
          Do: $reporter.report($this, 'caught')
        Finally:
          - $reporter.report($this, 'closing')
          - $reporter.report($this, 'closed')
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_runner, "outage_pause", lambda attempts: 0.0)


class Dying:
    """Runs a task; the database is lost at the first step ``at``, once."""

    def __init__(self, at: str = "after end") -> None:
        self.at = at
        self.died = 0
        self.heard: Callable[[str, str], None] = lambda name, key: None
        self.steps: list[tuple[str, str]] = []
        self.runner = TaskRunner(setup.config(), sandboxed_workers.launcher(), step=self._step)

    def _step(self, name: str, key: str) -> None:
        self.steps.append((name, key))
        self.heard(name, key)
        if name == self.at and not self.died:
            self.died += 1
            raise OperationalError("the connection was lost")

    def run(self) -> Any:
        lease = claim("me", 60.0)
        assert lease is not None
        return self.runner.run(lease)


def begin(ann: Any, text: str = shop.SHOP, **properties: Any) -> Any:
    package = shop.add_package(ann.caller, shop.archive({"Classes/Shop.yaml": text}))
    return shop.deploy(ann.caller, shop.add_environment(ann.caller), package, **properties)


def ended(task: Any) -> Any:
    task.refresh_from_db()
    return task.state, (task.error or {}).get("code"), list(task.reports.order_by("seq").values_list("text", flat=True))


def test_a_deployment_that_is_done_is_done_whatever_is_wanted_of_it_then(ann: Any) -> None:
    """Its last word is in the journal: no cancellation, no timeout and no other version of the engine takes it back."""
    task, dying = begin(ann), Dying()
    assert dying.run() is None and dying.died == 1
    Task.objects.update(cancel="too late")
    assert dying.run() is not None
    assert ended(task)[:2] == ("done", None)


def test_another_version_of_the_engine_tells_of_an_end(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    task, dying = begin(ann), Dying()
    assert dying.run() is None
    monkeypatch.setattr(task_runner, "engine_version", lambda: "999")
    assert dying.run() is not None
    assert ended(task)[:2] == ("done", None)


@pytest.mark.parametrize("at", ["after end", "before end"])
def test_a_cancelled_task_is_cancelled(ann: Any, at: str) -> None:
    task, dying = begin(ann, WAITING), Dying(at)

    def cancel(name: str, key: str) -> None:
        entry = Task.objects.get().entries.filter(place=None).first() if name == "before effect" else None
        if entry is not None and entry.kind == "sleep" and entry.about.get("seconds") == 3600:
            Task.objects.update(cancel="enough")
            dying.runner.look_for_cancels()

    dying.heard = cancel
    assert dying.run() is None
    before = ended(task)[2]
    for _ in range(3):
        if ended(task)[0] == "running":
            dying.run()
    state, _, texts = ended(task)
    assert state == "cancelled", task.error
    assert texts[: len(before)] == before and "caught" not in texts


@pytest.mark.parametrize("at", ["before end", "after end"])
def test_a_plan_that_another_worker_makes_tells_the_same(ann: Any, drain: Callable[..., int], at: str) -> None:
    """What the first worker recorded is gone with its folder; answers of its journal would leave the plan empty."""
    package, environment = shop.add_package(ann.caller), shop.add_environment(ann.caller)
    plans = []
    for _ in range(2):
        plans.append(
            enqueue_plan(ann.caller, environment=environment, model=shop.model(environment), packages=[package])
        )
        if len(plans) == 1:
            assert drain() == 1
    dying = Dying(at)
    assert dying.run() is None and dying.died == 1
    assert dying.run() is not None
    for plan in plans:
        plan.refresh_from_db()
        assert plan.state == "done", plan.error
    assert plans[0].result["stacks"]
    assert plans[1].result == plans[0].result


def test_who_lost_the_task_writes_no_lines_of_it(ann: Any) -> None:
    """A worker that was halted thaws, and reads what its host has told meanwhile."""
    task = begin(ann)
    lease = claim("me", 60.0)
    assert lease is not None
    output = OutputLog(task, lease.hold)
    before = ended(task)
    Task.objects.update(owner="other", fence=7)
    piece = {"id": "i1", "number": "1", "script": "a.sh", "stream": "stdout", "text": "late", "left": 0}
    with pytest.raises(LeaseLost):
        output.add("0/1", piece)
    with pytest.raises(LeaseLost):
        output.report("0/1", {"level": "warning", "text": "late", "id": "i1"})
    assert ended(task) == before
