"""`JobWorkers`: procrastinate's own workers, in a thread with an event loop, beside the places in which tasks run.

A job lasts as long as the task that is run for it, so procrastinate fetches the next one when a place is free. Its
workers end whenever the database goes away; they are started again then, and tasks that run go on meanwhile: what they
are is written in their rows, not in a job. Jobs of workers that died are fetched anew.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import DeleteJobCondition, Job, Status
from procrastinate.manager import JobManager
from procrastinate.worker import Worker

from vetro.engine.version import engine_version
from vetro.server.tasks.dispatcher import TaskPlaces
from vetro_procrastinate import POOL
from vetro_procrastinate.jobs import ATTEND
from vetro_procrastinate.queues import fits, served

_log = logging.getLogger("vetro.worker")
#: Seconds until everything is started again: at first, and at most.
_FIRST, _MOST = 0.2, 10.0
#: Seconds between two looks for a job that nobody told of.
_POLL = 2.0
#: Seconds for which the queues that there are, are remembered.
_QUEUES = 1.0
#: Seconds that ending may take: a database that does not answer holds nobody up.
_STOP = 3.0
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class JobWorkers:
    """``lease``: seconds after which a worker that says nothing is taken for dead."""

    def __init__(self, places: TaskPlaces, lease: float) -> None:
        self._places = places
        self._lease = lease
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vetro jobs", daemon=True)

    def start(self) -> None:
        """Fetches jobs from now on."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Fetches nothing more; tasks that run go on."""
        if self._loop is not None and self._stopping is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_STOP)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        pause = _FIRST
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                await self._work(self._stopping)
                reason = "a connection was lost"
            except (ConnectorException, psycopg.Error, OSError) as error:
                reason = str(error.__cause__ or error).partition("\n")[0]
            except Exception as error:
                _log.exception("a defect in the thread of jobs")
                reason = type(error).__name__
            if self._stopping.is_set():
                return
            pause = _FIRST if time.monotonic() - began > _MOST else min(pause * 2, _MOST)
            _log.warning("jobs are fetched again in %.1f s: %s", pause, reason)
            try:
                await asyncio.wait_for(self._stopping.wait(), pause)
            except TimeoutError:
                pass

    async def _work(self, stopping: asyncio.Event) -> None:
        """Works until something fails, or ``stopping``."""
        connector = PsycopgConnector(kwargs=_connection(), min_size=1, max_size=POOL, timeout=10.0)
        await connector.open_async()
        try:
            workers = [self._worker(connector, short) for short in (False, True) if self._places.count(short)]
            running = [asyncio.create_task(_run(worker)) for worker in workers]
            mending = asyncio.create_task(self._mend(App(connector=connector).job_manager))
            asked = asyncio.create_task(stopping.wait())
            await asyncio.wait([*running, mending, asked], return_when=asyncio.FIRST_COMPLETED)
            for worker in workers:
                worker.stop()  # type: ignore[no-untyped-call]
            asked.cancel()
            mending.cancel()
            ends = await asyncio.gather(*running, mending, asked, return_exceptions=True)
            for end in ends:
                if isinstance(end, Exception):
                    raise end
        finally:
            await connector.close_async()

    def _worker(self, connector: PsycopgConnector, short: bool) -> Worker:
        app = App(connector=connector)
        app.job_manager = _Fetching(connector, self._places, short)

        async def attend(context: JobContext, task: str) -> None:
            await asyncio.wrap_future(self._places.take(short))

        app.task(name=ATTEND, pass_context=True)(attend)
        labels = self._places.labels
        return Worker(
            app,
            name="short" if short else "tasks",
            queues=served(engine_version(), labels, short=short) if labels else None,
            concurrency=self._places.count(short),
            fetch_job_polling_interval=_POLL,
            # Nobody aborts jobs: whoever wants a task to end says so in its row.
            abort_job_polling_interval=3600.0,
            shutdown_graceful_timeout=0.0,
            delete_jobs=DeleteJobCondition.ALWAYS,
            install_signal_handlers=False,
            update_heartbeat_interval=self._lease / 3,
            stalled_worker_timeout=self._lease,
        )

    async def _mend(self, manager: JobManager) -> None:
        """Has jobs of workers that died fetched anew, until it fails."""
        while True:
            await asyncio.sleep(self._lease / 2)
            await manager.prune_stalled_workers(self._lease * 2)
            for job in await manager.get_stalled_jobs(seconds_since_heartbeat=self._lease):
                try:
                    await manager.retry_job(job, retry_at=_LONG_AGO)
                except UniqueViolation:  # there is another one for this task
                    await manager.finish_job(job, Status.FAILED, delete_job=True)
                except ConnectorException as error:
                    _log.debug("job %s is mended by another worker: %s", job.id, error)


async def _run(worker: Worker) -> None:
    await worker.run()  # type: ignore[no-untyped-call]


class _Fetching(JobManager):
    """Fetches only when a place is free, and only from queues that this worker serves."""

    def __init__(self, connector: PsycopgConnector, places: TaskPlaces, short: bool) -> None:
        super().__init__(connector)
        self._places = places
        self._short = short
        self._known: list[str] = []
        self._asked = 0.0

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """See `JobManager.fetch_job`; ``queues`` None: whatever the label."""
        if not self._places.free(self._short):
            return None
        if queues is None:
            queues = await self._queues()
        return await super().fetch_job(queues, worker_id)

    async def _queues(self) -> list[str]:
        if time.monotonic() - self._asked > _QUEUES:
            self._asked = time.monotonic()
            rows: list[dict[str, Any]] = await self.connector.execute_query_all_async(
                "SELECT DISTINCT queue_name FROM procrastinate_jobs WHERE status = 'todo' AND queue_name LIKE '%%/%%'"
            )
            found = [str(row["queue_name"]) for row in rows]
            self._known = [name for name in found if fits(name, engine_version(), short=self._short)]
        return [*served(engine_version(), short=self._short), *self._known]


def _connection() -> dict[str, Any]:
    """How Django connects, for connections of an event loop."""
    wanted = connections[DEFAULT_DB_ALIAS].get_connection_params()
    unwanted = ("context", "cursor_factory", "prepare_threshold", "client_encoding", "pool")
    kept = {name: value for name, value in wanted.items() if name not in unwanted}
    return {**kept, "application_name": "vetro jobs"}
