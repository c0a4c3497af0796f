"""Metrics for Prometheus: requests and tasks as they happen, the state of the queue when somebody asks.

All processes of one `vetro serve` write into a folder of files (``PROMETHEUS_MULTIPROC_DIR``, set before they
start), so that whichever process is asked answers for all. What concerns workers on other machines comes from the
database.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any, Final

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
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
#: Bytes that a process's file of each type of metrics has from the start.
ROOM: Final = 256 << 10
#: The process that has such files.
_allocated = 0
#: Looking up children of a metric costs more than counting does.
_counters: dict[tuple[str, str, str, int], Any] = {}
_timers: dict[str, Any] = {}


def _allocate() -> None:
    """Gives the files of this process their room before a metric is written.

    They are mapped into its memory, and prometheus_client makes them with holes: the kernel would kill whoever writes
    into one while the disk is full.
    """
    global _allocated
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if folder is None or _allocated == os.getpid():
        return
    _allocated = os.getpid()
    for type_ in ("counter", "histogram"):
        with contextlib.suppress(OSError), Path(folder, f"{type_}_{os.getpid()}.db").open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, ROOM)


def request_answered(api: str, method: str, route: str, status: int, seconds: float) -> None:
    """Counts one request. ``route`` holds no values of clients."""
    key = (api, method, route, status)
    counter = _counters.get(key)
    if counter is None:
        _allocate()
        shown = method if method in _METHODS else "other"
        counter = _counters[key] = _requests.labels(api, shown, route, str(status))
    counter.inc()
    timer = _timers.get(api)
    if timer is None:
        timer = _timers[api] = _request_seconds.labels(api)
    timer.observe(seconds)


def task_kinds(kinds: Iterable[str], states: Iterable[str]) -> None:
    """Says of all kinds of tasks that none has ended yet: else the first one would not count as a rise."""
    _allocate()
    for kind, state in product(kinds, states):
        _task_seconds.labels(kind)
        _tasks.labels(kind, state)


def task_ended(kind: str, state: str, seconds: float | None) -> None:
    """Counts one task; called by the worker that ended it. ``seconds``: from its start, None if it never began."""
    _allocate()
    _tasks.labels(kind, state).inc()
    if seconds is not None:
        _task_seconds.labels(kind).observe(seconds)


def exposition(*collectors: Collector) -> bytes:
    """Everything, as Prometheus reads it; ``collectors`` are asked for what stands in the database."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        own = generate_latest(registry)
    else:
        own = generate_latest(REGISTRY)
    rows = CollectorRegistry()
    for collector in collectors:
        rows.register(collector)
    return own + generate_latest(rows)
