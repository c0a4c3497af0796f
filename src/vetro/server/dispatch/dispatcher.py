"""`Dispatcher`: how whoever is to run a task hears of it. Which task it is then, the database says (`claim`).

`Embedded` needs nothing but the database: datagrams on one machine, PostgreSQL's NOTIFY between several
(`vetro.server.dispatch.listening`), and a look about once a second at what was missed; less often where the database
tells what happens and nothing does. The one on procrastinate
(`vetro.server.dispatch.procrastination`) has the same three methods.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol

from django.db import transaction

from vetro.server.config import Config
from vetro.server.dispatch import listening, wakeup
from vetro.server.dispatch.backend import EMBEDDED, PROCRASTINATE, backend
from vetro.server.dispatch.clock import on_postgresql
from vetro.server.dispatch.models import Task

#: Seconds between two looks without a wake-up.
SWEEP_SECONDS = 1.0
#: The same, at most, while the database tells of tasks and has told of none for a while: leases that lapse, and pauses
#: that end, are told by nobody.
QUIET_SECONDS = 5.0


class Places(Protocol):
    """What a dispatcher has of a worker (`vetro.server.dispatch.pool.WorkerPool`): places in which tasks run."""

    labels: list[str]

    def count(self, short: bool) -> int:
        """How many there are; ``short``: those for short tasks only."""
        ...  # pragma: no cover - protocol

    def free(self, short: bool) -> int:
        """How many of them nobody uses now."""
        ...  # pragma: no cover - protocol

    def look(self) -> None:
        """Everybody who has nothing to do claims tasks until there are none."""
        ...  # pragma: no cover - protocol

    def take(self, short: bool) -> Future[bool]:
        """One place claims one task and runs it to its end: whether there was one."""
        ...  # pragma: no cover - protocol

    def look_for_cancels(self, *ids: str) -> None:
        """Ends those running tasks that somebody wants to end; ``ids``: only if one of these runs."""
        ...  # pragma: no cover - protocol


class Dispatcher(Protocol):
    """Carries wake-ups from those who enqueue to those who run."""

    def notify(self, task: Task) -> None:
        """This task may be claimed now, or is to be cancelled. Call it inside the transaction that makes it so."""
        ...  # pragma: no cover - protocol

    def serve(self, places: Places, stop: threading.Event) -> None:
        """Has the places work until ``stop`` is set; who sets it calls `wake` then."""
        ...  # pragma: no cover - protocol

    def health(self) -> dict[str, Any]:
        """How it is: {ok, backend, workers, queued, unserved, detail}; ``unserved``: labels that no worker has."""
        ...  # pragma: no cover - protocol


class Embedded:
    """See the module. ``name`` is that of the worker, for `serve`."""

    def __init__(self, config: Config, name: str = "") -> None:
        self._config = config
        self._name = name

    def notify(self, task: Task) -> None:
        """See `Dispatcher.notify`. Where the workers hear it from the database, nothing is left to do."""
        if not on_postgresql():
            transaction.on_commit(partial(_send, self._config, wakeup.WORKER, task.id))

    def serve(self, places: Places, stop: threading.Event) -> None:
        """See `Dispatcher.serve`."""
        with inbox(self._config, self._name) as letters:
            looked, pause = 0.0, SWEEP_SECONDS
            while not stop.is_set():
                told = letters.wait(looked + pause - time.monotonic())
                if told or time.monotonic() - looked >= pause:
                    looked = time.monotonic()
                    places.look()
                    places.look_for_cancels()
                    quiet = not told and listening.hearing()
                    pause = max(SWEEP_SECONDS, min(pause * 2, QUIET_SECONDS)) if quiet else SWEEP_SECONDS

    def health(self) -> dict[str, Any]:
        """See `Dispatcher.health`."""
        return health(self._config, EMBEDDED)


def inbox(config: Config, name: str) -> wakeup.Inbox:
    """Where the worker of this name hears what happens."""
    return wakeup.Inbox(wakeup.folder(config.data), f"{wakeup.WORKER}{name}", listening.TASKS)


def wake(config: Config, name: str) -> None:
    """Lets the dispatcher that serves the worker of this name, on this machine, look at its ``stop``."""
    _send(config, f"{wakeup.WORKER}{name}", "")


def _send(config: Config, prefix: str, message: str) -> None:
    try:
        wakeup.send(wakeup.folder(config.data), prefix, message)
    except OSError:  # the sweep finds it
        pass


def health(config: Config, name: str) -> dict[str, Any]:
    """What `Dispatcher.health` says whatever carries the wake-ups."""
    from vetro.server.dispatch import clock, labels
    from vetro.server.dispatch.claim import LEASES
    from vetro.server.dispatch.models import WorkerProcess

    heard = clock.after(-LEASES * float(config["worker.lease_seconds"]))
    workers = WorkerProcess.objects.filter(seen__gte=heard, draining=False).count()
    queued = Task.objects.filter(state=Task.QUEUED).count()
    unserved = labels.unserved(config)
    detail = "" if workers else "no worker was heard of lately: start one with 'vetro worker'"
    if workers and unserved:
        detail = f"no worker serves {', '.join(unserved)}: start one with 'vetro worker --label {unserved[0]}'"
    return {
        "ok": workers > 0 and not unserved,
        "backend": name,
        "workers": workers,
        "queued": queued,
        "unserved": unserved,
        "detail": detail,
    }


def dispatcher(config: Config | None = None, name: str = "") -> Dispatcher:
    """The one of this installation; ``name`` is that of a worker. Raises `ConfigError`."""
    from vetro.server.setup import config as current

    config = config or current()
    if backend(config) == PROCRASTINATE:
        from vetro.server.dispatch.procrastination import Procrastination

        return Procrastination(config, name)
    return Embedded(config, name)
