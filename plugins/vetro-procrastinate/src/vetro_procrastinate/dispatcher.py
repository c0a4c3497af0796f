"""`Procrastinate`: the dispatcher on procrastinate, for many machines at one PostgreSQL.

Jobs go into procrastinate's tables with the change that they tell of (`vetro_procrastinate.jobs`); its workers, in a
thread of ours (`vetro_procrastinate.job_workers`), fetch them whenever a place is free, by priority, and hear of new
ones by NOTIFY. Everything that matters, leases, fences and who comes next, is in the task's row.
"""

from __future__ import annotations

import logging
import threading
import time

from django.db import Error as DatabaseFailed
from django.db import connections

from vetro.server.tasks.dispatcher import SWEEP_SECONDS, Dispatcher, TaskPlaces, longest_pause
from vetro.server.tasks.models import Task
from vetro_procrastinate import jobs
from vetro_procrastinate.job_workers import JobWorkers
from vetro_procrastinate.missing_jobs import make_missing

_log = logging.getLogger("vetro.worker")
#: Seconds between two looks for tasks without a job, at most.
_MISSING = 3.0


class Procrastinate(Dispatcher):
    """See the module."""

    def notify(self, task: Task) -> None:
        """See `Dispatcher.notify`. Of one that is to be cancelled the database tells those who run it."""
        if task.state == Task.QUEUED or not task.owner:
            jobs.defer([jobs.job_of(task)])

    def serve(self, places: TaskPlaces, stop: threading.Event) -> None:
        """See `Dispatcher.serve`."""
        every = min(_MISSING, longest_pause(self.config))
        asked = looked = -_MISSING
        workers = JobWorkers(places, float(self.config["worker.lease_seconds"]))
        workers.start()
        try:
            with self.inbox() as inbox:
                while not stop.is_set():
                    ids = inbox.wait(min(looked + SWEEP_SECONDS, asked + every) - time.monotonic())
                    try:
                        if time.monotonic() - looked >= SWEEP_SECONDS:
                            looked = time.monotonic()
                            places.look_for_cancels()
                        elif ids:
                            places.look_for_cancels(*ids)
                        if time.monotonic() - asked >= every:
                            asked = time.monotonic()
                            make_missing(self.config)
                    except DatabaseFailed as error:
                        _log.error("the database failed: %s", error)
                        connections.close_all()
        finally:
            workers.stop()
