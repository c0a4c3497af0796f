"""Claiming tasks with a lease and a fencing number.

A worker claims with one UPDATE, so no two get the same task. Each claim raises the task's ``fence``; whatever the
worker writes afterwards is written in a transaction that first finds its fence there (`Lease.hold`). A worker that was
taken for dead can therefore never write again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q

from vetro.engine.version import engine_version
from vetro.engine.worker_ports import LeaseLost
from vetro.server.dispatch import clock
from vetro.server.dispatch.models import Task

#: Kinds that somebody waits for: workers keep places free for them.
SHORT = frozenset({"static", "builder", "schema"})
#: A worker lives if it was heard of within so many leases.
LEASES = 3
#: Seconds after the end of a lease in which a worker of the version that began the task may come, where no setting
#: says otherwise (``worker.version_wait``).
VERSION_WAIT = 120.0

#: What is tried in a row when another worker was quicker.
_TRIES = 3
#: Tasks that come first, of which is seen whether they may be claimed; all are looked at when none of them may.
_FIRST = 100

#: Whether task ``t`` may be claimed by the workers that serve it; {now} twice.
READY = """
((t.state = 'queued' AND (t.lease_until IS NULL OR t.lease_until <= {now})
    AND (t.environment_id = '' OR NOT EXISTS (
      SELECT 1 FROM dispatch_task o WHERE o.environment_id = t.environment_id AND o.id <> t.id
        AND (o.state IN ('running', 'needs_person')
          OR (o.state = 'queued' AND (o.created < t.created OR (o.created = t.created AND o.id < t.id)))))))
  OR (t.state = 'running' AND t.lease_until < {now}))"""
#: Whether no worker lives that could go on with ``t``, which another version began, and none came for long enough:
#: {waited} is the end of a lease, {heard} when a worker that lives was heard of, {serves} `serving`.
ABANDONED = """
(t.lease_until < {waited} AND NOT EXISTS (
  SELECT 1 FROM dispatch_workerprocess w WHERE w.version = t.engine AND NOT w.draining AND w.seen > {heard}
    AND (t.label = '' OR {serves})))"""
_ORDER = "COALESCE(busy.tasks, 0), {0}.priority DESC, {0}.created, {0}.id"
_CLAIM = f"""
WITH busy AS (SELECT project_id, COUNT(*) AS tasks FROM dispatch_task WHERE state = 'running' GROUP BY project_id)
UPDATE dispatch_task SET state = 'running', owner = %s, fence = fence + 1, attempts = attempts + 1,
  lease_until = {{until}}, started = COALESCE(started, {{now}}), updated = {{now}},
  engine = CASE WHEN engine = '' THEN %s ELSE engine END
WHERE id = (
  SELECT t.id FROM dispatch_task t LEFT JOIN busy ON busy.project_id = t.project_id
  WHERE {READY} AND (t.engine IN ('', %s) OR {ABANDONED}){{filters}}{{first}}
    AND NOT EXISTS (SELECT 1 FROM dispatch_workerprocess mine WHERE mine.id = %s AND mine.draining)
  ORDER BY {_ORDER.format("t")}
  LIMIT 1{{lock}})
RETURNING id, fence
"""
_BEFORE = f"""
    AND t.id IN (
      SELECT q.id FROM dispatch_task q LEFT JOIN busy ON busy.project_id = q.project_id
      WHERE (q.state = 'queued' AND (q.lease_until IS NULL OR q.lease_until <= {{now}})
        OR q.state = 'running' AND q.lease_until < {{now}}){{filters}}
      ORDER BY {_ORDER.format("q")} LIMIT {_FIRST})"""


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
    version_wait: float = VERSION_WAIT,
) -> Lease | None:
    """The next task for ``owner``, or None when there is none.

    Next: of the project with the fewest running tasks, then the highest priority, then the oldest: who has a hundred
    tasks waiting keeps nobody else waiting. Of an environment one task runs at a time, in the order in which they were
    enqueued; one that waits for a person holds the others up. Tasks whose lease has lapsed are taken over: those that
    another version of the engine began only when ``version_wait`` seconds have passed since, and no worker of that
    version lives (they end then: `vetro.server.dispatch.running`). ``kinds`` and ``not_kinds`` limit the choice;
    ``labels`` to tasks with one of these labels, or none. A worker that is to drain gets none from that moment.
    """
    if not _anything(kinds, not_kinds, labels):  # looking takes no lock
        return None
    moments = {"until": seconds, "now": 0.0, "waited": -version_wait, "heard": -LEASES * seconds}
    times = {name: clock.sql(moment) for name, moment in moments.items()}
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
    texts = {"serves": serving(), **{name: text for name, (text, _) in times.items()}}
    (until, now, waited, heard) = (times[name][1] for name in moments)
    before = _BEFORE.format(filters=filters.replace(" t.", " q."), **texts)
    lock = " FOR UPDATE OF t SKIP LOCKED" if clock.on_postgresql() else ""
    begin = [owner, *until, *now, *now, engine_version(), *now, *now, engine_version(), *waited, *heard, *values]
    for first, given in ((before, [*begin, *now, *now, *values]), ("", begin)):
        statement = _CLAIM.format(filters=filters, first=first, lock=lock, **texts)
        row = _claimed(statement, [*given, owner])
        if row is not None:
            return Lease(row[0], owner, row[1], seconds)
    return None


def serving() -> str:
    """Whether worker ``w`` serves the label of task ``t`` (`vetro.server.dispatch.labels.serves`), as SQL."""
    if clock.on_postgresql():
        return "w.labels = '[]'::jsonb OR jsonb_exists(w.labels, t.label)"
    return "w.labels = '[]' OR EXISTS (SELECT 1 FROM json_each(w.labels) l WHERE l.value = t.label)"


def _claimed(statement: str, values: Sequence[Any]) -> tuple[str, int] | None:
    for _ in range(_TRIES):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement, values)
                row: tuple[str, int] | None = cursor.fetchone()
                return row
        except IntegrityError:  # two tasks of one environment at the same moment: the other one runs
            continue
    return None


def _anything(kinds: Collection[str] | None, not_kinds: Collection[str], labels: Sequence[str]) -> bool:
    """Whether some task of these may be claimed, but for what its environment or another version have to do with it."""
    now = clock.after()
    waiting = Q(state=Task.QUEUED) & (Q(lease_until=None) | Q(lease_until__lte=now))
    mine = Q() if kinds is None else Q(kind__in=sorted(kinds))
    if not_kinds:
        mine &= ~Q(kind__in=sorted(not_kinds))
    if labels:
        mine &= Q(label__in=["", *labels])
    return Task.objects.filter(mine, waiting | Q(state=Task.RUNNING, lease_until__lt=now)).exists()


def renew(leases: Collection[Lease]) -> None:
    """Whoever holds these leases is at work on their tasks: they go on. Those that were lost stay lost."""
    for lease in leases:
        Task.objects.filter(id=lease.task_id, fence=lease.fence, state=Task.RUNNING).update(
            lease_until=clock.after(lease.seconds)
        )


def release(owner: str, *, lease: Lease | None = None, pause: float = 0.0) -> int:
    """Gives tasks of a worker back, to be claimed after ``pause`` seconds; what it still writes is refused.

    ``lease``: that of one task; nothing where it is lost, be it to the same worker.
    """
    from vetro.server.dispatch.dispatcher import dispatcher

    mine = Task.objects.filter(owner=owner, state=Task.RUNNING)
    if lease is not None:
        mine = mine.filter(id=lease.task_id, fence=lease.fence)
    with transaction.atomic():
        ids = [] if pause else list(mine.select_for_update().values_list("id", flat=True))
        count = mine.update(fence=F("fence") + 1, lease_until=clock.after(pause), owner="")
        for task in Task.objects.filter(id__in=ids).defer("spec", "action", "result", "error"):
            dispatcher().notify(task)
    return count
