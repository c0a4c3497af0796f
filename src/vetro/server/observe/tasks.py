"""`ended`: what metrics and spans tell about a task, from its row and its journal, once it has come to its end.

The journal holds when each outside effect began and ended, so spans cost a task nothing while it runs, and a task that
several workers carried on has one trace.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from vetro.server.observe import metrics, traces
from vetro.server.tasks.models import JournalEntry, Task

_log = logging.getLogger("vetro.worker")
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
