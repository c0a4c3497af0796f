"""Jobs of procrastinate: each says that there is a task to claim, in the queue that tells who may
(`vetro_procrastinate.queues`).

A job is written in the transaction of the change that it tells of, on Django's connection, so neither exists without
the other. Which task a worker then claims is not the job's business, so one that is lost, or comes twice, does no harm:
the first is made again (`vetro_procrastinate.missing_jobs`), of the second nothing is left to do. There is one waiting
job a task at most (procrastinate's ``queueing_lock``). Its ``lock`` is not used: the core's claims run one task of an
environment at a time and choose fairly, so a job often runs another task than the one that it was made for.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache

from django.db import OperationalError, transaction
from procrastinate import App
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job

from vetro.server.tasks.models import Task
from vetro_procrastinate.queues import queue

#: Name of the one kind of job.
ATTEND = "vetro.attend"

# It tells of every job at the level of information: the log of tasks says as much.
logging.getLogger("procrastinate").setLevel(logging.WARNING)


@cache
def _app() -> App:
    return App(connector=DjangoConnector())


def job_of(task: Task, *, any_version: bool = False) -> Job:
    """A job for a task; ``any_version``: whichever version of the engine began it."""
    name = queue(task.kind, task.label, "" if any_version else task.engine)
    return Job(
        id=None, queue=name, lock=None, queueing_lock=task.id, task_name=ATTEND, priority=task.priority,
        task_kwargs={"task": task.id},
    )  # fmt: skip


def defer(jobs: Sequence[Job]) -> int:
    """Writes jobs in the present transaction; how many: of a task of which one waits already, none.

    Raises `django.db.OperationalError`.
    """
    try:
        with transaction.atomic():
            _app().job_manager.batch_defer_jobs(list(jobs))
    except AlreadyEnqueued:
        return sum(defer([job]) for job in jobs) if len(jobs) > 1 else 0
    except ConnectorException as error:
        raise OperationalError(f"jobs cannot be written: {error.__cause__ or error}") from error
    return len(jobs)


def withdraw(job: int) -> None:
    """Removes a job that nobody has begun."""
    try:
        _app().job_manager.cancel_job_by_id(job, delete_job=True)
    except ConnectorException as error:
        raise OperationalError(f"job {job} cannot be removed: {error.__cause__ or error}") from error
