"""What is told about a task that ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import REGISTRY

from vetro.server.observe import traces
from vetro.server.tasks import telemetry
from vetro.server.tasks.models import JournalEntry, Task

pytestmark = pytest.mark.django_db
BEGUN = 1_700_000_000.0


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    traces.use(SimpleSpanProcessor(exporter))
    yield exporter
    traces.use(None)


def ended_task(**more: Any) -> Task:
    task = Task.objects.create(
        project_id="p",
        user_id="u",
        environment_id="e",
        kind="deploy",
        state="done",
        spec={},
        action={"object_id": "e", "method": "deploy", "args": {"password": "hunter2"}},
        started=datetime.fromtimestamp(BEGUN, UTC),
        finished=datetime.fromtimestamp(BEGUN + 5, UTC),
        **more,
    )
    for number, kind in enumerate(("stack.push", "agent.call")):
        at = BEGUN + number
        about = {"password": "hunter2"}
        JournalEntry.objects.create(
            task=task, key=f"0/{number}", kind=kind, digest="d", about=about, begun=at, ended=at + 0.5
        )
    return task


def test_a_task_is_a_span_and_its_effects_are_below_it(spans: Any) -> None:
    with traces.span("request") as request:
        carried = traces.carrier()
    telemetry.ended(ended_task(), carried)
    _, push, call, top = spans.get_finished_spans()
    assert [span.name for span in (push, call, top)] == ["stack.push", "agent.call", "task deploy"]
    assert {push.parent.span_id, call.parent.span_id} == {top.context.span_id}
    assert top.parent.span_id == request.get_span_context().span_id
    assert (push.start_time, push.end_time) == (int(BEGUN * 1e9), int((BEGUN + 0.5) * 1e9))
    assert (top.attributes["vetro.state"], top.attributes["vetro.method"]) == ("done", "deploy")
    assert not any("hunter2" in span.to_json() for span in spans.get_finished_spans())


def test_methods_are_below_those_that_called_them(spans: Any) -> None:
    found = [[3, 2, "t.Main.inner", BEGUN + 2, BEGUN + 3], [2, 9, "t.Main.deploy", BEGUN + 1, BEGUN + 4]]
    found.append([1, 1, "t.Main.odd", BEGUN, BEGUN + 1])  # its own caller: nobody checked what the task process said
    telemetry.ended(ended_task(), None, found)
    told = {span.name: span for span in spans.get_finished_spans()}
    assert told["t.Main.inner"].parent.span_id == told["t.Main.deploy"].context.span_id
    for name in ("t.Main.deploy", "t.Main.odd", "stack.push"):
        assert told[name].parent.span_id == told["task deploy"].context.span_id
    assert told["t.Main.inner"].end_time - told["t.Main.inner"].start_time == 1_000_000_000


def test_without_spans_a_task_is_counted_without_a_query(django_assert_num_queries: Any) -> None:
    task = ended_task()
    labels = {"kind": "deploy", "state": "done"}
    before = REGISTRY.get_sample_value("vetro_tasks_ended_total", labels) or 0
    with django_assert_num_queries(0):
        telemetry.ended(task)
    assert REGISTRY.get_sample_value("vetro_tasks_ended_total", labels) == before + 1


def test_spans_that_cannot_be_sent_do_no_harm(spans: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no")

    task = ended_task()
    monkeypatch.setattr(traces, "past_tree", broken)
    telemetry.ended(task)
    assert spans.get_finished_spans() == ()
