"""`Dispatcher`: how whoever is to run a task hears of it. Which task it is then, the database says (`claim`).

`Embedded` needs nothing but the database: datagrams on one machine, PostgreSQL's NOTIFY between several
(`vetro.server.dispatch.listening`), and a look about once a second at what was missed. One on procrastinate has the
same three methods.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from vetro.server.config import Config
from vetro.server.dispatch import listening, wakeup
from vetro.server.dispatch.clock import on_postgresql

#: Seconds between two looks without a wake-up.
SWEEP_SECONDS = 1.0


class Dispatcher(Protocol):
    """Carries wake-ups from those who enqueue to those who run."""

    def notify(self, task_id: str) -> None:
        """Something about this task is in the database now. Never raises; call it after the commit."""
        ...  # pragma: no cover - protocol

    def serve(self, handler: Callable[[], None], stop: threading.Event) -> None:
        """Calls ``handler`` after each wake-up, and at least about once a second, until ``stop`` is set."""
        ...  # pragma: no cover - protocol

    def health(self) -> dict[str, Any]:
        """How it is: {ok, workers, queued, detail}."""
        ...  # pragma: no cover - protocol


class Embedded:
    """See the module. ``name`` is that of the worker, for `serve`."""

    def __init__(self, config: Config, name: str = "") -> None:
        self._data = config.data
        self._lease = float(config["worker.lease_seconds"])
        self._name = name
        self._inbox: wakeup.Inbox | None = None

    def notify(self, task_id: str) -> None:
        """See `Dispatcher.notify`. Where the workers hear it from the database, nothing is left to do."""
        if task_id and on_postgresql():
            return
        try:
            wakeup.send(wakeup.folder(self._data), wakeup.WORKER, task_id)
        except OSError:  # the sweep finds it
            pass

    def serve(self, handler: Callable[[], None], stop: threading.Event) -> None:
        """See `Dispatcher.serve`."""
        name = f"{wakeup.WORKER}{self._name}"
        with wakeup.Inbox(wakeup.folder(self._data), name, listening.TASKS) as inbox:
            swept = 0.0
            while not stop.is_set():
                if inbox.wait(swept + SWEEP_SECONDS - time.monotonic()) or time.monotonic() - swept >= SWEEP_SECONDS:
                    swept = time.monotonic()
                    handler()

    def health(self) -> dict[str, Any]:
        """See `Dispatcher.health`."""
        from vetro.server.dispatch import clock
        from vetro.server.dispatch.models import Task, WorkerProcess

        workers = WorkerProcess.objects.filter(seen__gte=clock.after(-2 * self._lease), draining=False).count()
        queued = Task.objects.filter(state=Task.QUEUED).count()
        detail = "" if workers else "no worker was heard of lately: start one with 'vetro worker'"
        return {"ok": workers > 0, "workers": workers, "queued": queued, "detail": detail}


def dispatcher() -> Dispatcher:
    """The one of this installation."""
    from vetro.server.setup import config

    return Embedded(config())
