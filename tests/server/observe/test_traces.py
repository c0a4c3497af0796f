"""Spans: who is whose parent, and that nothing is paid for when nobody wants them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from vetro.server import setup
from vetro.server.observe import traces


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    traces.use(SimpleSpanProcessor(exporter))
    yield exporter
    traces.use(None)


def test_spans_of_the_past_have_their_own_times_and_one_parent(spans: Any) -> None:
    push = traces.Past("push", 1000.0, 1002.5, {"vetro.effect": "0/1"}, failed=True)
    traces.past_tree(traces.Past("task", 999.0, 1003.0, {"vetro.kind": "deploy"}, parts=[push]))
    inner, outer = spans.get_finished_spans()
    assert (inner.name, inner.parent.span_id) == ("push", outer.context.span_id)
    assert (inner.end_time - inner.start_time, inner.status.is_ok) == (2_500_000_000, False)
    assert outer.attributes["vetro.kind"] == "deploy"
    assert outer.resource.attributes["service.name"] == "vetro"


def test_a_task_belongs_to_the_request_that_ordered_it(spans: Any) -> None:
    with traces.span("request") as request:
        carried = traces.carrier()
    with traces.span("task", parent=carried):
        pass
    task = spans.get_finished_spans()[-1]
    assert task.parent.span_id == request.get_span_context().span_id
    assert task.context.trace_id == request.get_span_context().trace_id


def test_a_failed_block_is_marked_without_the_text_of_its_error(spans: Any) -> None:
    with pytest.raises(ValueError), traces.span("task"):
        raise ValueError("password is hunter2")
    (task,) = spans.get_finished_spans()
    assert (task.status.is_ok, task.status.description) == (False, "ValueError")
    assert "hunter2" not in task.to_json()


def test_without_the_setting_there_are_no_spans_and_no_cost() -> None:
    assert traces.configure(setup.config()) is False
    assert not traces.enabled()
    assert traces.carrier() == {}
    with traces.span("task") as nothing:
        assert nothing is None
    best = min(_timed() for _ in range(5))
    assert best < 2e-6


def _timed() -> float:
    began = time.perf_counter()
    for _ in range(1000):
        with traces.span("method"):
            pass
    return (time.perf_counter() - began) / 1000


def test_the_setting_alone_starts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        assert traces.configure(setup.config().changed({"observe.traces": "http://127.0.0.1:9"})) is True
        assert traces.enabled()
    finally:
        traces.use(None)
