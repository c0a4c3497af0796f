"""`make_missing`: jobs for tasks that may be claimed and have none (`vetro_procrastinate.jobs`).

Workers do this every few seconds: so tasks are found whose lease has lapsed, that were to wait for a while, whose job
was taken by a worker that could not run them, and, after a move to this database, all of them.
"""

from __future__ import annotations

from typing import Any

from django.db import connection, transaction
from procrastinate.jobs import Job

from vetro.engine.version import engine_version
from vetro.server.config.config import Config
from vetro.server.tasks import clock
from vetro.server.tasks.claim import LEASES
from vetro.server.tasks.claim_queries import ABANDONED, READY, serving
from vetro.server.tasks.models import Task
from vetro_procrastinate import jobs
from vetro_procrastinate.queues import queue

#: Jobs that are made with one look. Tasks that have the right one do not count: they hide no others.
MOST = 500
#: Any number that nobody else locks; one worker looks at a time.
_LOCK = 7630942019

# Few have none, as a rule: whether it is their turn is looked up for these only.
_LOST = f"""
WITH lost AS MATERIALIZED (
  SELECT w.id, w.kind, w.label, w.engine, w.priority, w.state, w.environment_id, w.created, w.lease_until,
    j.id AS job, j.queue_name
  FROM dispatch_task w
  LEFT JOIN procrastinate_jobs j ON j.queueing_lock = w.id AND j.status = 'todo'
  WHERE w.state IN ('queued', 'running') AND (w.lease_until IS NULL OR w.lease_until <= {{now}})
    AND (j.id IS NULL OR w.engine <> ''))
SELECT t.id, t.kind, t.label, t.engine, t.priority, t.job, t.queue_name, {ABANDONED}
FROM lost t WHERE {READY} ORDER BY t.priority DESC, t.created
"""
_IDLE = """
SELECT j.id FROM procrastinate_jobs j LEFT JOIN dispatch_task t ON t.id = j.queueing_lock
WHERE j.status = 'todo' AND (t.id IS NULL OR t.state NOT IN ('queued', 'running')) LIMIT %s
"""


def make_missing(config: Config) -> int:
    """Makes the jobs that are missing, and removes those of tasks that have ended; how many were made: none where
    another worker is at it.

    Raises errors of the database.
    """
    lease, wait = float(config["worker.lease_seconds"]), float(config["worker.version_wait"])
    moments = {"waited": -wait, "heard": -LEASES * lease, "now": 0.0}
    times = {name: clock.sql(seconds) for name, seconds in moments.items()}
    statement = _LOST.format(serves=serving(), **{name: text for name, (text, _) in times.items()})
    (waited, heard, now) = (times[name][1] for name in moments)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        if not cursor.fetchone()[0]:
            return 0
        rows = _lost(statement, [*now, *waited, *heard, *now, *now])
        cursor.execute(_IDLE, [MOST])
        for (job_id,) in cursor.fetchall():
            jobs.withdraw(job_id)
        missing = [_made(row) for row in rows]
        return jobs.defer(missing) if missing else 0


def _lost(statement: str, values: list[Any]) -> list[Any]:
    """The first tasks that have no job, or one in a queue that nobody serves for them."""
    found: list[Any] = []
    with connection.chunked_cursor() as cursor:  # what there is stays in the database until it is looked at
        cursor.execute(statement, values)
        while len(found) < MOST and (rows := cursor.fetchmany(MOST)):
            found += [row for row in rows if row[-2] != _queue(row)]
    return found[:MOST]


def _anybody(row: tuple[Any, ...]) -> bool:
    return bool(row[-1]) and row[3] != engine_version()


def _queue(row: tuple[Any, ...]) -> str:
    return queue(row[1], row[2], "" if _anybody(row) else row[3])


def _made(row: tuple[Any, ...]) -> Job:
    id, kind, label, engine, priority, job, _, _ = row
    if job is not None:  # of a version that does not live any more
        jobs.withdraw(job)
    task = Task(id=id, kind=kind, label=label, engine=engine, priority=priority)
    return jobs.job_of(task, any_version=_anybody(row))
