"""How late tasks are taken over whose lease has lapsed: `Takeovers` looks into the database while the campaign runs."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.campaign.processes import state_of

#: Seconds between two looks.
_LOOK = 0.05
_LAPSED = "SELECT id, fence, {late} FROM dispatch_task WHERE state = 'running' AND lease_until < {now}"
_BUSY = "SELECT owner, count(*) FROM dispatch_task WHERE state = 'running' AND lease_until >= {now} GROUP BY owner"
_WORKERS = "SELECT id, pid FROM dispatch_workerprocess WHERE NOT draining"
_DIALECTS = {
    "postgresql": {"now": "now()", "late": "extract(epoch FROM now() - lease_until)::float"},
    "sqlite": {
        "now": "strftime('%Y-%m-%d %H:%M:%f', 'now')",
        "late": "(julianday('now') - julianday(lease_until)) * 86400.0",
    },
}


@dataclass(slots=True)
class _Lapsed:
    """A task that waits to be taken over. ``idle``: seconds for which a worker with a free place could have."""

    late: float = 0.0
    idle: float = 0.0


class Takeovers(threading.Thread):
    """Measures from the lapse of a lease (or from when it was given back) to the next claim.

    ``places``: tasks that a worker runs at once. While no worker lives, or none has a free place, nobody is late.
    """

    def __init__(self, database: str | Path, places: int) -> None:
        super().__init__(name="takeovers", daemon=True)
        self._database = database
        self._places = places
        self._over = threading.Event()
        self._waiting: dict[tuple[str, int], _Lapsed] = {}
        #: Seconds of each, while a worker could have taken it over; and altogether.
        self.idle: list[float] = []
        self.all: list[float] = []

    def run(self) -> None:
        """See the class. What a database that is away would say is not known: it is asked again."""
        while not self._over.is_set():
            with contextlib.suppress(Exception), self._connected() as ask:
                looked = time.monotonic()
                while not self._over.wait(_LOOK):
                    now = time.monotonic()
                    self._look(ask, now - looked)
                    looked = now
            self._waiting.clear()
            self._over.wait(_LOOK)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Callable[[str], list[Any]]]:
        if isinstance(self._database, Path):
            dialect = _DIALECTS["sqlite"]
            with contextlib.closing(sqlite3.connect(f"file:{self._database}?mode=ro", uri=True)) as sqlite:
                yield lambda text: sqlite.execute(text.format(**dialect)).fetchall()
            return
        import psycopg

        dialect = _DIALECTS["postgresql"]
        with psycopg.connect(self._database, autocommit=True) as postgres:
            yield lambda text: postgres.execute(text.format(**dialect).encode()).fetchall()

    def _look(self, ask: Callable[[str], list[Any]], passed: float) -> None:
        there = {(id, fence): late for id, fence, late in ask(_LAPSED)}
        for key in [key for key in self._waiting if key not in there]:
            ended = self._waiting.pop(key)
            self.idle.append(ended.idle)
            self.all.append(ended.late)
        if not there:
            return
        busy = dict(ask(_BUSY))
        free = any(
            busy.get(id, 0) < self._places and state_of(pid) not in ("", "Z", "X", "T") for id, pid in ask(_WORKERS)
        )
        for key, late in there.items():
            one = self._waiting.setdefault(key, _Lapsed())
            one.late = late
            one.idle += passed if free else 0.0

    def stop(self) -> None:
        """No more of it."""
        self._over.set()
        self.join()


def told(seconds: list[float]) -> str:
    """How many, the median and the longest."""
    if not seconds:
        return "none"
    ordered = sorted(seconds)
    return f"{len(ordered)}, median {ordered[len(ordered) // 2]:.2f} s, longest {ordered[-1]:.2f} s"
