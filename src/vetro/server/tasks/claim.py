"""Claiming tasks with a lease and a fencing number.

A worker claims with one UPDATE, so no two get the same task. Each claim raises the task's ``fence``; whatever the
worker writes afterwards is written in a transaction that first finds its fence there (`Lease.hold`). A worker that was
taken for dead can therefore never write again.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Case, F, Value, When
from django.db.models.functions import Coalesce

from vetro.engine.version import engine_version
from vetro.engine.worker.ports import LeaseLost
from vetro.server.queries import fetch
from vetro.server.tasks import clock, hooks
from vetro.server.tasks.claim_queries import ClaimQueries
from vetro.server.tasks.models import Task, WorkerProcess

#: Kinds that somebody waits for: workers keep places free for them.
SHORT = frozenset({"static", "builder", "schema"})
#: A worker lives if it was heard of within so many leases.
LEASES = 3
#: Seconds after the end of a lease in which a worker of the version that began the task may come, where no setting
#: says otherwise (``worker.version_wait``).
VERSION_WAIT = 120.0

#: Seconds that no pause is longer than (`vetro.server.tasks.task_runner`).
_LONGEST = 600.0

#: Columns of a task that others change while it is worked on, and its own commits: attribute -> SQL.
_CHANGING = {name: f"t.{name}" for name in ("cancel", "engine", "failures", "log_bytes", "warnings", "errors")}
_FLAGS = ("warnings", "errors")
#: What is tried in a row when another worker was quicker.
_TRIES = 3


@dataclass(slots=True, unsafe_hash=True)
class Lease:
    """The right to work on a task until it lapses."""

    task_id: str
    owner: str
    fence: int
    seconds: float
    #: Whether other tasks waited when it was claimed.
    others: bool = field(default=True, compare=False)
    #: When `hold` renewed it last, by `time.monotonic`.
    _renewed: float = field(default_factory=time.monotonic, init=False, compare=False, repr=False)

    def hold(self, **changes: object) -> None:
        """Keeps others from the task until the end of the transaction of what is written, and changes columns of it.

        The row is locked; it is written, and the lease renewed, where something changes or a third of the lease has
        passed: a new version of the row for each commit costs more than what is committed. Raises `LeaseLost`: then
        the transaction must not be committed.
        """
        now = time.monotonic()
        if not changes and now - self._renewed < self.seconds / 3:
            self._locked("t.id")
            return
        mine = Task.objects.filter(id=self.task_id, fence=self.fence, state=Task.RUNNING)
        if not mine.update(lease_until=clock.after(self.seconds), **changes):
            raise self._lost()
        self._renewed = now

    def held(self, task: Task | None = None) -> Task:
        """The task's row, kept from others as by `hold`. ``task``: as it was read under this lease; what may have
        changed since is read anew, with what apps above have to do with its end (`RowHook.conditions`), and on
        PostgreSQL with the time as ``moment``: one statement, and nothing is decrypted again. Raises `LeaseLost`."""
        if task is None:
            rows = Task.objects.select_for_update(no_key=True)
            row = rows.filter(id=self.task_id, fence=self.fence, state=Task.RUNNING).first()
            if row is None:
                raise self._lost()
            return row
        wanted = {**_CHANGING, **hooks.changed.conditions(), **hooks.ended.conditions()}
        if clock.on_postgresql():
            wanted["moment"] = "statement_timestamp()"
        found = self._locked(", ".join(wanted.values()))
        for name, value in zip(wanted, found, strict=True):
            setattr(task, name, bool(value) if name in _FLAGS else value)
        return task

    def _locked(self, columns: str) -> tuple[Any, ...]:
        """These columns of the row, which is locked: on SQLite a transaction that writes keeps others from writing."""
        lock = " FOR NO KEY UPDATE OF t" if clock.on_postgresql() else ""
        sql = f"SELECT {columns} FROM dispatch_task t WHERE t.id = %s AND t.fence = %s AND t.state = 'running'{lock}"
        for row in fetch(sql, [self.task_id, self.fence]):
            return row
        raise self._lost()

    def _lost(self) -> LeaseLost:
        return LeaseLost(f"another worker has task '{self.task_id}' now")


def claim(
    owner: str,
    seconds: float,
    *,
    kinds: Collection[str] | None = None,
    labels: Sequence[str] = (),
    without: Collection[str] = (),
    version_wait: float = VERSION_WAIT,
) -> Lease | None:
    """The next task for ``owner``, or None when there is none.

    Next: of the project with the fewest running tasks, then the highest priority, then the oldest: who has a hundred
    tasks waiting keeps nobody else waiting. Of an environment one task runs at a time, in the order in which they were
    enqueued; one that waits for a person holds the others up. Tasks whose lease has lapsed are taken over: those that
    another version of the engine began only when ``version_wait`` seconds have passed since, and no worker of that
    version lives (they end then: `vetro.server.tasks.task_runner`). ``kinds`` limits the choice, ``without``
    excludes some; ``labels`` limits it to tasks with one of these labels, or none. A worker that is to drain gets none
    from that moment.
    """
    queries = ClaimQueries(
        owner, engine_version(), kinds, labels, without, until=seconds, waited=-version_wait, heard=-LEASES * seconds
    )
    with connection.cursor() as cursor:  # looking takes no lock
        cursor.execute(queries.waits(), queries.values)
        waiting = len(cursor.fetchall())
    for statement in queries.claims() if waiting else ():
        row = _claimed(statement, queries.values)
        if row is not None:
            return Lease(row[0], owner, row[1], seconds, waiting > 1)
    return None


def _claimed(statement: str, values: Mapping[str, Any]) -> tuple[str, int] | None:
    for _ in range(_TRIES):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement, values)
                row: tuple[str, int] | None = cursor.fetchone()
                return row
        except IntegrityError:  # two tasks of one environment at the same moment: the other one runs
            continue
    return None


def take(task_id: str, owner: str, seconds: float) -> Lease | None:
    """A certain task for ``owner``, whoever had it; None for one that has ended or waits for a person.

    For those who know that nobody else works on it (`vetro.server.local.tasks`).
    """
    with transaction.atomic():
        mine = Task.objects.filter(id=task_id, state__in=(Task.QUEUED, Task.RUNNING))
        taken = mine.update(
            state=Task.RUNNING,
            owner=owner,
            fence=F("fence") + 1,
            attempts=F("attempts") + 1,
            lease_until=clock.after(seconds),
            started=Coalesce(F("started"), Value(clock.read())),
            engine=Case(When(engine="", then=Value(engine_version())), default=F("engine")),
        )
        if not taken:
            return None
        return Lease(task_id, owner, mine.values_list("fence", flat=True).get(), seconds)


def renew(leases: Collection[Lease]) -> list[Lease]:
    """Whoever holds these leases is at work on their tasks: they go on. Those that were lost stay lost: these."""
    lost = []
    for lease in leases:
        mine = Task.objects.filter(id=lease.task_id, fence=lease.fence, state=Task.RUNNING)
        if not mine.update(lease_until=clock.after(lease.seconds)):
            lost.append(lease)
    return lost


def shorten(seconds: float) -> None:
    """Lets what waits longer than any lease or pause takes, since the clock was set back, wait for ``seconds``: who
    still works renews its lease until then."""
    longest = clock.after(_LONGEST + seconds)
    waiting = Task.objects.filter(state__in=(Task.QUEUED, Task.RUNNING), lease_until__gt=longest)
    waiting.update(lease_until=clock.after(seconds))
    WorkerProcess.objects.filter(seen__gt=longest).update(seen=clock.after())
