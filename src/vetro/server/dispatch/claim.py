"""Claiming tasks with a lease and a fencing number.

A worker claims with one UPDATE, so no two get the same task. Each claim raises the task's ``fence``; whatever the
worker writes afterwards is written in a transaction that first finds its fence there (`Lease.hold`). A worker that was
taken for dead can therefore never write again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q

from vetro import __version__
from vetro.engine.worker_ports import LeaseLost
from vetro.server.dispatch import clock
from vetro.server.dispatch.models import Task

#: Kinds that somebody waits for: workers keep places free for them.
SHORT = frozenset({"static", "builder", "schema"})

#: What is tried in a row when another worker was quicker.
_TRIES = 3

_CLAIM = """
UPDATE dispatch_task SET state = 'running', owner = %s, fence = fence + 1, attempts = attempts + 1,
  lease_until = {until}, started = COALESCE(started, {now}), updated = {now},
  engine = CASE WHEN engine = '' THEN %s ELSE engine END
WHERE id = (
  SELECT t.id FROM dispatch_task t
  WHERE ((t.state = 'queued' AND (t.lease_until IS NULL OR t.lease_until <= {now})
      AND (t.environment_id = '' OR NOT EXISTS (
        SELECT 1 FROM dispatch_task o WHERE o.environment_id = t.environment_id AND o.id <> t.id
          AND (o.state IN ('running', 'needs_person')
            OR (o.state = 'queued' AND (o.created < t.created OR (o.created = t.created AND o.id < t.id)))))))
    OR (t.state = 'running' AND t.lease_until < {now})){filters}
  ORDER BY t.priority DESC,
    (SELECT COUNT(*) FROM dispatch_task r WHERE r.state = 'running' AND r.project_id = t.project_id),
    t.created, t.id
  LIMIT 1{lock})
RETURNING id, fence
"""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a task until it lapses."""

    task_id: str
    owner: str
    fence: int
    seconds: float

    def hold(self, **changes: object) -> None:
        """Renews the lease and changes columns of the task; for use in the transaction of what is written.

        Raises `LeaseLost`: then the transaction must not be committed.
        """
        mine = Task.objects.filter(id=self.task_id, fence=self.fence, state=Task.RUNNING)
        if not mine.update(lease_until=clock.after(self.seconds), **changes):
            raise LeaseLost(f"another worker has task '{self.task_id}' now")


def claim(
    owner: str,
    seconds: float,
    *,
    kinds: Collection[str] | None = None,
    not_kinds: Collection[str] = (),
    labels: Sequence[str] = (),
) -> Lease | None:
    """The next task for ``owner``, or None when there is none.

    Next: the highest priority, then the project with the fewest running tasks, then the oldest. Of an environment one
    task runs at a time, in the order in which they were enqueued; one that waits for a person holds the others up.
    Tasks whose lease has lapsed are taken over. ``kinds`` and ``not_kinds`` limit the choice; ``labels`` to tasks with
    one of these labels, or none.
    """
    if not _anything():  # looking takes no lock
        return None
    until, until_values = clock.sql(seconds)
    now, now_values = clock.sql()
    filters, values = "", list[object]()
    if kinds is not None:
        filters += f" AND t.kind IN ({','.join(['%s'] * len(kinds))})"
        values += sorted(kinds)
    if not_kinds:
        filters += f" AND t.kind NOT IN ({','.join(['%s'] * len(not_kinds))})"
        values += sorted(not_kinds)
    if labels:
        filters += f" AND t.label IN ({','.join(['%s'] * (len(labels) + 1))})"
        values += ["", *labels]
    lock = " FOR UPDATE OF t SKIP LOCKED" if clock.on_postgresql() else ""
    statement = _CLAIM.format(until=until, now=now, filters=filters, lock=lock)
    given = [owner, *until_values, *now_values, *now_values, __version__, *now_values, *now_values, *values]
    for _ in range(_TRIES):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement, given)
                row = cursor.fetchone()
        except IntegrityError:  # two tasks of one environment at the same moment: the other one runs
            continue
        return None if row is None else Lease(row[0], owner, row[1], seconds)
    return None


def _anything() -> bool:
    """Whether some task may be claimed."""
    now = clock.after()
    waiting = Q(state=Task.QUEUED) & (Q(lease_until=None) | Q(lease_until__lte=now))
    return Task.objects.filter(waiting | Q(state=Task.RUNNING, lease_until__lt=now)).exists()


def renew(leases: Collection[Lease]) -> None:
    """Whoever holds these leases is at work on their tasks: they go on. Those that were lost stay lost."""
    for lease in leases:
        Task.objects.filter(id=lease.task_id, fence=lease.fence, state=Task.RUNNING).update(
            lease_until=clock.after(lease.seconds)
        )


def release(owner: str, *, task_id: str | None = None, pause: float = 0.0) -> int:
    """Gives tasks of a worker back, to be claimed after ``pause`` seconds; what it still writes is refused."""
    mine = Task.objects.filter(owner=owner, state=Task.RUNNING)
    if task_id is not None:
        mine = mine.filter(id=task_id)
    return mine.update(fence=F("fence") + 1, lease_until=clock.after(pause), owner="")
