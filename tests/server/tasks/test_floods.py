"""A task that writes without end: it ends with a clear error, and others get in between while it writes (M6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.tasks import shop
from tests.server.tasks.test_task_runner import settings
from vetro.server.retention import sweep
from vetro.server.retention import tasks as retention
from vetro.server.setup import config
from vetro.server.tasks import journal as journal_module
from vetro.server.tasks.clock import read as now
from vetro.server.tasks.models import Event, JournalEntry, JournalNote, JournalTask, Report, Task

pytestmark = [pytest.mark.django_db, pytest.mark.attack("database", "M6")]

FLOOD = """\
Name: Shop
Namespaces: {=: test, std: io.murano, sys: io.murano.system}
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  rounds: {Contract: $.int().notNull()}
  effects: {Contract: $.bool().notNull(), Default: false}
Methods:
  deploy:
    Body:
      - $environment: $.find(std:Environment)
      - For: i
        In: range($.rounds)
        Do:
          - If: $.effects
            Then:
              - $environment.stack.updateTemplate(
                  dict(heat_template_version => '2013-05-23', resources => dict(
                    shop => dict(type => 'OS::Heat::Value', properties => dict(value => $i)))))
              - $environment.stack.push()
            Else: $environment.reporter.report($this, '')
"""


def run(ann: Any, drain: Callable[..., int], **properties: Any) -> Task:
    package = shop.add_package(ann.caller, shop.archive({"Classes/Shop.yaml": FLOOD}))
    task = shop.deploy(ann.caller, shop.add_environment(ann.caller), package, **properties)
    assert drain() == 1
    return Task.objects.get(id=task.id)


@pytest.mark.campaign  # tests/hostile/test_deployments.py floods, too
def test_empty_reports_are_counted(ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    settings(monkeypatch, task__reports=300)
    task = run(ann, drain, rounds=5000)
    assert (task.state, task.error["code"]) == ("failed", "ENG318")
    assert "wrote more than 300 reports and log lines" in task.error["message"]
    assert "task.reports" in task.error["hint"]
    assert JournalNote.objects.filter(task_id=task.id).count() <= 300  # the last are only stored as reports
    assert 300 <= Report.objects.filter(task=task).count() < 310
    assert Event.objects.filter(task_id=task.id).count() < 330
    assert run_small(ann, drain, task).state == "done"


def run_small(ann: Any, drain: Callable[..., int], task: Task) -> Task:
    """The environment is free for the next task, which may write as much again."""
    from vetro.server.catalog.models import Package
    from vetro.server.environments.models import Environment

    environment = Environment.objects.get(id=task.environment_id)
    again = shop.deploy(ann.caller, environment, Package.objects.get(fqn="test.shop"), rounds=250)
    drain()
    return Task.objects.get(id=again.id)


def test_effects_are_counted(ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    settings(monkeypatch, task__effects=40)
    task = run(ann, drain, rounds=60, effects=True)
    assert (task.state, task.error["code"]) == ("failed", "ENG318")
    assert "asked for more than 40 effects" in task.error["message"]
    assert JournalEntry.objects.filter(task_id=task.id).count() <= 40


@pytest.mark.database
def test_a_flood_is_written_in_small_transactions(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever else writes waits for one of them, however much the task has sent meanwhile."""
    sizes: list[int] = []
    plain, end = journal_module.DbJournal.commit, journal_module.DbJournal.end_with

    def commit(self: Any) -> None:
        sizes.append(len(self._notes))
        plain(self)

    def end_with(self: Any, *args: Any) -> None:
        sizes.append(len(self._notes))
        end(self, *args)

    monkeypatch.setattr(journal_module.DbJournal, "commit", commit)
    monkeypatch.setattr(journal_module.DbJournal, "end_with", end_with)
    task = run(ann, drain, rounds=12_000)
    assert task.state == "done", task.error
    assert sum(sizes) >= 12_000
    assert max(sizes) <= 4_000


@pytest.mark.database
def test_what_is_dropped_is_dropped_in_small_statements(ann: Any, drain: Callable[..., int]) -> None:
    from datetime import timedelta

    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    task = run(ann, drain, rounds=5)
    JournalTask.objects.get_or_create(task_id=task.id, defaults={"begun": 0.0})  # a short task leaves none
    JournalNote.objects.bulk_create(
        JournalNote(task_id=task.id, key=f"x/{n}", kind="report", args={}, digest="", at=0.0) for n in range(2500)
    )
    with CaptureQueriesContext(
        connection,
    ) as seen:
        sweep.sweep(config(), now() + timedelta(days=30))
    assert not JournalTask.objects.filter(task_id=task.id).exists()
    assert not JournalNote.objects.filter(task_id=task.id).exists()
    deleting = [query["sql"] for query in seen.captured_queries if "DELETE" in query["sql"]]
    assert len([sql for sql in deleting if "journalnote" in sql]) == 3
    assert Report.objects.filter(task=task).exists()
    Task.objects.filter(id=task.id).update(environment_id="")
    assert retention.drop(config(), now() + timedelta(days=30)) == 1
    assert not Report.objects.filter(task_id=task.id).exists()
