"""What metrics and spans tell about tasks: the state of the queue, and a task that has come to its end.

The journal holds when each outside effect began and ended, so spans cost a task nothing while it runs, and a task that
several workers carried on has one trace.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Count, Min
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from vetro.server.observe import metrics, traces
from vetro.server.tasks import clock, counts
from vetro.server.tasks.claim import SHORT
from vetro.server.tasks.models import JournalEntry, Task, WorkerProcess

_log = logging.getLogger("vetro.worker")
#: A worker that was not heard of for so many seconds is not counted.
_GONE = 60.0
#: Effects of one task that get a span of their own.
_MOST = 2000


def ended(task: Task, parent: Mapping[str, str] | None = None, methods: Sequence[Sequence[Any]] = ()) -> None:
    """Counts a task that ended, and sends its spans if spans are wanted.

    Call it after the transaction that ended it (``transaction.on_commit``), in the worker. ``parent``: what
    `traces.carrier` gave where the task was enqueued. ``methods``: what `vetro.engine.task.method_spans` found.
    """
    begun, over = task.started, task.finished
    seconds = (over - begun).total_seconds() if begun is not None and over is not None else None
    metrics.task_ended(task.kind, task.state, seconds)
    if not traces.enabled() or begun is None or over is None:
        return
    try:
        _spans(task, begun.timestamp(), over.timestamp(), parent, methods)
    except Exception:  # spans are no reason to fail: the task has ended
        _log.exception("the spans of task %s could not be sent", task.id)


def worker_began() -> None:
    """Says of all kinds of tasks that none has ended yet: see `TaskCollector.collect`."""
    metrics.task_kinds(Task.KINDS, Task.FINAL)


class TaskCollector(Collector):
    """The state of the queue, when somebody asks for metrics: it stands in the database, the same whoever is asked."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The families. What it costs follows from the tasks that have not ended, not from all."""
        tasks = GaugeMetricFamily("vetro_tasks", "Tasks there are, by kind and state", labels=["kind", "state"])
        # Also where there is none yet: a number that begins with 1 has not risen, as far as Prometheus knows.
        found = {(kind, state): 0 for kind in Task.KINDS for state in (*Task.FINAL, Task.NEEDS_PERSON)}
        for (kind, state), count in sorted((found | counts.tasks()).items()):
            tasks.add_metric([kind, state], count)
        yield tasks
        waiting = Task.objects.filter(state=Task.QUEUED).order_by().values_list("kind", "label")
        now = clock.read()
        length: defaultdict[tuple[str, str], int] = defaultdict(int)
        oldest: defaultdict[tuple[str, str], float] = defaultdict(float)
        for kind, label, count, first in waiting.annotate(Count("id"), Min("created")):
            key = ("short" if kind in SHORT else "long", label)
            length[key] += count
            oldest[key] = max(oldest[key], (now - first).total_seconds())
        all_oldest = max([0.0, *oldest.values()])
        yield GaugeMetricFamily("vetro_queue_length", "Tasks that wait for a worker", value=sum(length.values()))
        yield GaugeMetricFamily(
            "vetro_queue_oldest_seconds", "How long the first of them has been waiting", value=all_oldest
        )
        queues = GaugeMetricFamily(
            "vetro_queue_tasks",
            "The same by queue, and by the label that a worker must have",
            labels=["queue", "label"],
        )
        ages = GaugeMetricFamily(
            "vetro_queue_tasks_oldest_seconds", "How long the first of each has been waiting", labels=["queue", "label"]
        )
        for key in sorted(length):
            queues.add_metric(key, length[key])
            ages.add_metric(key, oldest[key])
        yield queues
        yield ages
        alive = WorkerProcess.objects.filter(seen__gte=clock.after(-_GONE)).count()
        yield GaugeMetricFamily("vetro_workers", "Workers that were heard of within a minute", value=alive)


def _spans(
    task: Task, begun: float, over: float, parent: Mapping[str, str] | None, methods: Sequence[Sequence[Any]]
) -> None:
    attributes = {
        "vetro.task": task.id,
        "vetro.kind": task.kind,
        "vetro.state": task.state,
        "vetro.project": task.project_id,
        "vetro.environment": task.environment_id,
        "vetro.attempts": task.attempts,
    }
    action = task.action if isinstance(task.action, dict) else {}
    if action.get("method"):
        attributes["vetro.method"] = str(action["method"])
    rows = JournalEntry.objects.filter(task=task).order_by("begun").values_list("key", "kind", "begun", "ended")
    effects = [
        traces.Past(kind, started, ended if ended is not None else over, {"vetro.effect": key}, ended is None)
        for key, kind, started, ended in rows[:_MOST]
    ]
    failed = task.state != "done"
    parts = [*effects, *_called(methods)]
    traces.past_tree(traces.Past(f"task {task.kind}", begun, over, attributes, failed, parts), parent)


def _called(methods: Sequence[Sequence[Any]]) -> list[traces.Past]:
    """Spans of methods, each below its caller; what the task process says is not trusted."""
    known: dict[int, tuple[int, traces.Past, list[traces.Past]]] = {}
    for number, caller, name, began, over in methods:
        parts: list[traces.Past] = []
        known[int(number)] = (
            int(caller),
            traces.Past(str(name)[:255], float(began), float(over), {}, parts=parts),
            parts,
        )
    top: list[traces.Past] = []
    for number, (caller, past, _) in known.items():
        # A caller began before what it called: so there are no circles.
        above = known.get(caller) if caller < number else None
        (top if above is None else above[2]).append(past)
    return top
