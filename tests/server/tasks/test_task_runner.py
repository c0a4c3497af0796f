"""Tasks that take too long are cancelled, then killed; and what is traced of a task that ran."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.server.tasks import shop
from vetro.engine.outcome import Outcome
from vetro.engine.worker.effects import Effects
from vetro.engine.worker.run import Run
from vetro.server import setup
from vetro.server.catalog.models import Package
from vetro.server.config.config import Config
from vetro.server.observe import traces
from vetro.server.tasks import task_runner
from vetro.server.tasks.claim import claim
from vetro.server.tasks.models import Task

pytestmark = pytest.mark.django_db

STUBBORN = """\
Name: Shop
Namespaces: {=: test, std: io.murano}
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  endless: {Contract: $.bool().notNull(), Default: false}
  reached: {Contract: $.int().notNull(), Default: 0, Usage: Out}
Methods:
  deploy:
    Body:
      - $.reached: 1
      - Try:
          - sleep(1000)
        Finally:
          - $.reached: 2
          - If: $.endless
            Then:
              - While: $.title != ''
                Do: [$x: 1]
"""


def settings(monkeypatch: pytest.MonkeyPatch, **values: Any) -> None:
    given = {name.replace("__", "."): value for name, value in values.items()}
    monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))


def run(ann: Any, drain: Callable[..., int], **properties: Any) -> tuple[Any, Any]:
    package = shop.add_package(ann.caller, shop.archive({"Classes/Shop.yaml": STUBBORN}))
    environment = shop.add_environment(ann.caller)
    task = shop.deploy(ann.caller, environment, package, **properties)
    assert drain() == 1
    task.refresh_from_db()
    environment.refresh_from_db()
    return task, environment


@pytest.fixture
def time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour passes as soon as a task begins to sleep, however slow the machine was until then."""
    intend, passed = Effects._intend, [0.0]

    def intended(effects: Effects, request: Any, begun: float) -> None:
        intend(effects, request, begun)
        if request.kind == "sleep":
            passed[0] = 3600.0

    monkeypatch.setattr(Effects, "_intend", intended)
    monkeypatch.setattr(Run, "_now", staticmethod(lambda: time.monotonic() + passed[0]))


@pytest.mark.usefixtures("time_passes")
def test_a_task_that_takes_too_long_is_cancelled(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(monkeypatch, worker__timeout=1800)
    task, environment = run(ann, drain)
    assert task.state == "cancelled"
    assert "did not end within 1800 seconds" in task.error["message"]
    (state,) = environment.states.all()
    assert (environment.version, state.number) == (1, 1)
    assert state.model["Objects"]["applications"][0]["reached"] == 2
    texts = list(task.reports.order_by("seq").values_list("text", flat=True))
    assert texts[-1] == "Deployment finished with errors"


@pytest.mark.usefixtures("time_passes")
def test_one_that_does_not_end_then_is_killed(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(monkeypatch, worker__timeout=1800, task__grace_seconds=1)
    task, environment = run(ann, drain, endless=True)
    assert task.state == "killed"
    assert task.error["message"]
    assert environment.version == 1
    package = Package.objects.get(fqn="test.shop")
    again = shop.deploy(ann.caller, environment, package)  # nothing is in the way
    lease = claim("me", 60.0)
    assert lease is not None and lease.task_id == again.id


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    traces.use(SimpleSpanProcessor(exporter))
    yield exporter
    traces.use(None)


def test_a_deployment_is_traced_with_its_methods_and_pushes(
    ann: Any, drain: Callable[..., int], spans: Any, django_capture_on_commit_callbacks: Any
) -> None:
    environment = shop.add_environment(ann.caller)
    task = shop.deploy(ann.caller, environment, shop.add_package(ann.caller), password="hunter2")
    with django_capture_on_commit_callbacks(execute=True):
        drain()
    assert Task.objects.get(id=task.id).state == "done"
    found = {span.name: span for span in spans.get_finished_spans()}
    top = found["task deploy"]
    assert top.attributes["vetro.task"] == task.id
    assert found["stack.push"].parent.span_id == top.context.span_id
    assert found["test.Shop.deploy"].parent.span_id == found["io.murano.Environment.deploy"].context.span_id
    assert {span.context.trace_id for span in found.values() if span.parent} == {top.context.trace_id}
    assert not any("hunter2" in span.to_json() for span in found.values())


def test_what_is_told_of_an_agent_that_does_not_come_becomes_a_report_once(
    ann: Any, drain: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Telling(task_runner.Worker):
        def run(self) -> Outcome:
            report = {"id": "web", "level": "warning", "text": "the agent of server 'web' has not come"}
            for _ in range(2):
                self.events({"event": "progress", "key": "1", "report": report})
            return super().run()

    monkeypatch.setattr(task_runner, "Worker", Telling)
    settings(monkeypatch, worker__timeout=1)
    task, _ = run(ann, drain)
    (told,) = [report for report in task.reports.all() if "has not come" in report.text]
    assert (told.level, told.entity_id) == ("warning", "web")
