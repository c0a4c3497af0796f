"""Looking at the workers of an installation, and asking them to end when their tasks have ended (`vetro worker`).

A worker reads it with its next beat (`members.beat`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import Count

from vetro.data_classes import dataclass
from vetro.server.config.config import Config
from vetro.server.errors import NotFound
from vetro.server.tasks import clock, members
from vetro.server.tasks.claim import LEASES
from vetro.server.tasks.models import Task, WorkerProcess

#: Seconds between two looks at workers that are waited for.
_LOOK = 0.25


@dataclass(frozen=True, slots=True)
class Seen:
    """A worker as its row shows it. ``state``: working, draining, or silent (not heard of for some leases)."""

    name: str
    host: str
    pid: int
    version: str
    labels: tuple[str, ...]
    state: str
    tasks: int
    #: Seconds since it was heard of, by the database's clock, and since it joined.
    heard: float
    up: float

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "labels": list(self.labels)}


def workers(config: Config) -> list[Seen]:
    """All that joined and did not leave, the oldest first."""
    now = clock.read()
    held = Task.objects.filter(state=Task.RUNNING).order_by().values_list("owner").annotate(Count("id"))
    tasks: dict[str, int] = dict(held)
    silent = LEASES * float(config["worker.lease_seconds"])
    return [
        Seen(
            name=row.id,
            host=row.host.partition("/")[0],
            pid=row.pid,
            version=row.version,
            labels=tuple(row.labels),
            state="silent" if (now - row.seen).total_seconds() > silent else "draining" if row.draining else "working",
            tasks=tasks.get(row.id, 0),
            heard=max(0.0, (now - row.seen).total_seconds()),
            up=max(0.0, (now - row.started).total_seconds()),
        )
        for row in WorkerProcess.objects.order_by("started", "id")
    ]


@transaction.atomic
def drain(names: Collection[str], *, within: float | None = None) -> list[str]:
    """Asks workers to take nothing more and to end when their tasks have ended; their names.

    ``names``: (the beginning of) names, empty: all. After ``within`` seconds what still runs is left to others, None:
    never. Raises `NotFound` for a name that none has, or several have; then none is asked.
    """
    known = list(WorkerProcess.objects.order_by("started", "id").values_list("id", flat=True))
    chosen = []
    for name in names:
        found = [id for id in known if id.startswith(name)]
        if len(found) != 1:
            problem = "There is no worker" if not found else f"There are {len(found)} workers whose names begin with"
            raise NotFound(f"{problem} '{name}'.", hint="'vetro worker list' shows them")
        chosen += found
    wanted = chosen if names else known
    until = None if within is None else clock.after(within)
    WorkerProcess.objects.filter(id__in=wanted).update(draining=True, drain_until=until)
    return wanted


def wait_until_gone(config: Config, names: Collection[str], seconds: float, say: Callable[[Seen], None]) -> list[Seen]:
    """Waits until workers have left or are silent, at most ``seconds``; those that are still there then.

    Of workers of this machine the processes have ended, too: nothing of them is in the way of what comes next. ``say``
    gets each of them whenever its number of tasks has changed. Call it outside of a transaction.
    """
    until = time.monotonic() + seconds
    told: dict[str, int] = {}
    known: dict[str, Seen] = {}
    rows = WorkerProcess.objects.filter(host=members.this_host(), id__in=names)
    here: dict[str, int] = dict(rows.values_list("id", "pid"))
    while True:
        found = [worker for worker in workers(config) if worker.name in names]
        joined = {worker.name: worker for worker in found if worker.state != "silent"}
        known |= {worker.name: worker for worker in found}
        ending = [known[name] for name, pid in here.items() if name in known and members.lives(pid)]
        there = [*joined.values(), *(worker for worker in ending if worker.name not in joined)]
        for worker in joined.values():
            if told.get(worker.name) != worker.tasks:
                told[worker.name] = worker.tasks
                say(worker)
        if not there or time.monotonic() >= until:
            return there
        time.sleep(_LOOK)
