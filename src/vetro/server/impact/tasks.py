"""Tasks of kind ``plans``: some environments of an impact each, looked at beside each other."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final

from django.db import connections

from vetro.diagnostics import Text, encode_messages
from vetro.engine.outcome import Outcome
from vetro.server import sandboxed_workers
from vetro.server.environments.models import Environment
from vetro.server.impact import groups
from vetro.server.impact.examination import examine, state_of
from vetro.server.impact.groups import EnvironmentImpact
from vetro.server.impact.models import Entry, Impact
from vetro.server.impact.planner import Planner
from vetro.server.tasks.hooks import Work

#: Bytes of the plans that are kept of one environment, and of all of a task.
MOST_PLANS, MOST_TOGETHER = 1 << 20, 4 << 20
#: Seconds that the environments of a task may take, on an average. What is left then is not planned.
SECONDS_EACH: Final = 20.0
#: Seconds between two looks at whether the task is to end.
_LOOK: Final = 0.5


def work(work: Work) -> Outcome:
    """Looks at the environments of a task that nobody has looked at yet. Raises what is around it."""
    todo = Entry.objects.filter(task_id=work.task.id, group="").order_by("id")
    ids = list(todo.values_list("id", flat=True))
    left, until = iter(ids), time.monotonic() + SECONDS_EACH * len(ids)
    room = _Room()
    running: set[Future[None]] = set()
    together = os.cpu_count() or 1
    with Planner(work.config, sandboxed_workers.planner()) as planner, ThreadPoolExecutor(together, "plans") as pool:
        while True:
            reason = work.stopped()
            if reason is None and time.monotonic() < until:
                running |= {pool.submit(_look_at, planner, room, id) for id in _some(left, together - len(running))}
            if not running:
                break
            done, running = wait(running, _LOOK, FIRST_COMPLETED)
            for one in done:
                one.result()
    if reason is not None:
        error = {"kind": "cancelled", "code": "ENG314", "names": [], "message": f"the task was cancelled ({reason})"}
        return Outcome("cancelled", error=error)
    late = encode_messages(groups.skipped(Text("there was no time left for it")).detail)
    todo.update(group=groups.SKIPPED, detail=late)
    return Outcome("done", result={"environments": Entry.objects.filter(task_id=work.task.id).count()})


def _some(ids: Iterator[int], most: int) -> list[int]:
    return [id for _, id in zip(range(most), ids, strict=False)]


class _Room:
    """What the plans of one task may still take. Plans that find no room are only told of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = MOST_TOGETHER

    def take(self, size: int) -> bool:
        """Whether so many bytes fit; then they are taken."""
        with self._lock:
            fits = size <= min(MOST_PLANS, self._left)
            self._left -= size if fits else 0
            return fits


def _look_at(planner: Planner, room: _Room, entry_id: int) -> None:
    try:
        entry = Entry.objects.select_related("impact").get(id=entry_id)
        row = Environment.objects.filter(id=entry.environment_id).first()
        if row is None:
            _keep(entry, room, groups.skipped(Text("the environment is gone")))
            return
        entry.number, entry.lock, now = state_of(row.id)
        _keep(entry, room, examine(planner, row, entry.impact.locked(), now))
    except Impact.DoesNotExist:
        pass  # it was dropped meanwhile
    finally:
        connections.close_all()


def _keep(entry: Entry, room: _Room, finding: EnvironmentImpact) -> None:
    entry.group, entry.detail = finding.group, encode_messages(finding.detail)
    entry.plans = finding.plans if room.take(len(json.dumps(finding.plans))) else None
    entry.save(update_fields=["group", "number", "lock", "detail", "plans"])
