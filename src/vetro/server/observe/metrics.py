"""Metrics for Prometheus: requests and tasks as they happen, the state of the queue when somebody asks.

All processes of one `vetro serve` write into a folder of files (``PROMETHEUS_MULTIPROC_DIR``, set before they
start), so that whichever process is asked answers for all. What concerns workers on other machines comes from the
database.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: A worker that was not heard of for so many seconds is not counted.
_GONE = 60.0
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"})

_requests = Counter("vetro_requests", "Requests that were answered", ["api", "method", "route", "status"])
_request_seconds = Histogram(
    "vetro_request_seconds",
    "How long answers took",
    ["api"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
_tasks = Counter("vetro_tasks_ended", "Tasks that workers of this installation ended", ["kind", "state"])
_task_seconds = Histogram(
    "vetro_task_seconds",
    "How long tasks ran, from start to end",
    ["kind"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600),
)
#: Looking up children of a metric costs more than counting does.
_counters: dict[tuple[str, str, str, int], Any] = {}
_timers: dict[str, Any] = {}


def request_answered(api: str, method: str, route: str, status: int, seconds: float) -> None:
    """Counts one request. ``route`` holds no values of clients."""
    key = (api, method, route, status)
    counter = _counters.get(key)
    if counter is None:
        shown = method if method in _METHODS else "other"
        counter = _counters[key] = _requests.labels(api, shown, route, str(status))
    counter.inc()
    timer = _timers.get(api)
    if timer is None:
        timer = _timers[api] = _request_seconds.labels(api)
    timer.observe(seconds)


def worker_began() -> None:
    """Says of all kinds of tasks that none has ended yet: see `_FromDatabase.collect`."""
    from vetro.server.tasks.models import Task
    from vetro.server.tasks.queue import KINDS

    for kind in KINDS:
        _task_seconds.labels(kind)
        for state in Task.FINAL:
            _tasks.labels(kind, state)


def task_ended(kind: str, state: str, seconds: float | None) -> None:
    """Counts one task; called by the worker that ended it. ``seconds``: from its start, None if it never began."""
    _tasks.labels(kind, state).inc()
    if seconds is not None:
        _task_seconds.labels(kind).observe(seconds)


def exposition() -> bytes:
    """Everything, as Prometheus reads it."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        own = generate_latest(registry)
    else:
        own = generate_latest(REGISTRY)
    rows = CollectorRegistry()
    rows.register(_FromDatabase())
    return own + generate_latest(rows)


class _FromDatabase(Collector):
    """What is counted in the database: the same whoever is asked."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The families. What it costs follows from the tasks that have not ended, not from all."""
        from django.db.models import Count, Min

        from vetro.server.observe import counts
        from vetro.server.tasks import clock
        from vetro.server.tasks.claim import SHORT
        from vetro.server.tasks.models import Task, WorkerProcess
        from vetro.server.tasks.queue import KINDS

        tasks = GaugeMetricFamily("vetro_tasks", "Tasks there are, by kind and state", labels=["kind", "state"])
        # Also where there is none yet: a number that begins with 1 has not risen, as far as Prometheus knows.
        found = {(kind, state): 0 for kind in KINDS for state in (*Task.FINAL, Task.NEEDS_PERSON)}
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
