"""`Procrastination`: the dispatcher on procrastinate, for many machines at one PostgreSQL.

Jobs go into procrastinate's tables with the change that they tell of (`jobs`); its workers, in a thread of ours
(`job_worker`), fetch them whenever a place is free, by priority, and hear of new ones by NOTIFY. Everything that
matters, leases, fences and who comes next, is in the task's row (`claim`).
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from django.db import Error as DatabaseFailed
from django.db import connections

from vetro.server.config import Config
from vetro.server.dispatch import jobs
from vetro.server.dispatch.backend import PROCRASTINATE
from vetro.server.dispatch.dispatcher import SWEEP_SECONDS, Places, health, inbox
from vetro.server.dispatch.job_worker import JobWorkers
from vetro.server.dispatch.models import Task
from vetro.server.dispatch.resend import resend

_log = logging.getLogger("vetro.worker")
#: Seconds between two looks for tasks without a job, at most.
_RESEND = 3.0


class Procrastination:
    """See the module. ``name`` is that of the worker, for `serve`."""

    def __init__(self, config: Config, name: str = "") -> None:
        self._config = config
        self._name = name

    def notify(self, task: Task) -> None:
        """See `Dispatcher.notify`. Of one that is to be cancelled the database tells those who run it."""
        if task.state == Task.QUEUED or not task.owner:
            jobs.defer([jobs.job_of(task)])

    def serve(self, places: Places, stop: threading.Event) -> None:
        """See `Dispatcher.serve`."""
        lease = float(self._config["worker.lease_seconds"])
        every = min(_RESEND, lease / 3)
        resent = looked = -_RESEND
        workers = JobWorkers(places, lease)
        workers.start()
        try:
            with inbox(self._config, self._name) as letters:
                while not stop.is_set():
                    ids = letters.wait(looked + SWEEP_SECONDS - time.monotonic())
                    try:
                        if time.monotonic() - looked >= SWEEP_SECONDS:
                            looked = time.monotonic()
                            places.look_for_cancels()
                        elif ids:
                            places.look_for_cancels(*ids)
                        if time.monotonic() - resent >= every:
                            resent = time.monotonic()
                            resend(self._config)
                    except DatabaseFailed as error:
                        _log.error("the database failed: %s", error)
                        connections.close_all()
        finally:
            workers.stop()

    def health(self) -> dict[str, Any]:
        """See `Dispatcher.health`."""
        return health(self._config, PROCRASTINATE)
