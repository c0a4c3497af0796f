"""`Dispatcher`: how whoever is to run a task hears of it. Which task it is then, the database says (`claim`).

The interface has three methods. `DatabaseDispatcher` is the core's own (``dispatch.backend = embedded``): it needs
nothing but the database. Plug-ins offer others (`vetro.server.tasks.backends`);
`vetro.server.tasks.conformance` tests all of them.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol

from django.db import transaction

from vetro.server.config.config import Config
from vetro.server.tasks import clock, labels, notifications, wakeup
from vetro.server.tasks.claim import LEASES
from vetro.server.tasks.models import Task, WorkerProcess

#: Seconds between two looks without a wake-up.
SWEEP_SECONDS = 1.0
#: The same, at most, while the database tells of tasks and has told of none for a while.
QUIET_SECONDS = 5.0
#: Nobody tells that a lease has lapsed. It is to be taken over within a third of a lease, so whoever looks for such
#: tasks does it so many times a lease.
LOOKS_A_LEASE = 4


class TaskPlaces(Protocol):
    """What a dispatcher has of a worker (`vetro.server.tasks.pool.WorkerPool`): places in which tasks run."""

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


class Dispatcher(ABC):
    """Carries wake-ups from those who enqueue to those who run. ``name`` is that of the worker, for `serve`."""

    def __init__(self, config: Config, name: str = "") -> None:
        self.config = config
        self.name = name

    @abstractmethod
    def notify(self, task: Task) -> None:
        """This task may be claimed now, or is to be cancelled. Called inside the transaction that makes it so."""

    @abstractmethod
    def serve(self, places: TaskPlaces, stop: threading.Event) -> None:
        """Has the places work until ``stop`` is set; who sets it calls `wake` then.

        It listens on the worker's `inbox`. Tasks whose lease lapses, and those that nobody was notified of, are found
        without a wake-up, also when the database was away for a while.
        """

    def health(self) -> dict[str, Any]:
        """How it is: {ok, backend, workers, queued, unserved, detail}; ``unserved``: labels that no worker has."""
        heard = clock.after(-LEASES * float(self.config["worker.lease_seconds"]))
        workers = WorkerProcess.objects.filter(seen__gte=heard, draining=False).count()
        unserved = labels.unserved(self.config)
        detail = "" if workers else "no worker was heard of lately: start one with 'vetro worker'"
        if workers and unserved:
            detail = f"no worker serves {', '.join(unserved)}: start one with 'vetro worker --label {unserved[0]}'"
        return {
            "ok": workers > 0 and not unserved,
            "backend": self.config["dispatch.backend"],
            "workers": workers,
            "queued": Task.objects.filter(state=Task.QUEUED).count(),
            "unserved": unserved,
            "detail": detail,
        }

    def inbox(self) -> wakeup.Inbox:
        """Where the worker hears what happens."""
        return wakeup.Inbox(wakeup.folder(self.config.data), f"{wakeup.WORKER}{self.name}", notifications.TASKS)


class DatabaseDispatcher(Dispatcher):
    """Needs nothing but the database, which is the engine that crosses machines.

    Wake-ups are datagrams on one machine, and NOTIFY of PostgreSQL between several
    (`vetro.server.tasks.notifications`). What was missed, and leases that lapsed, are found by looking: once a second,
    less often where the database tells what happens and nothing does.
    """

    def notify(self, task: Task) -> None:
        """See `Dispatcher.notify`. Where the workers hear it from the database, nothing is left to do."""
        if not clock.on_postgresql():
            transaction.on_commit(partial(_send, self.config, wakeup.WORKER, task.id))

    def serve(self, places: TaskPlaces, stop: threading.Event) -> None:
        """See `Dispatcher.serve`."""
        most = longest_pause(self.config)
        with self.inbox() as inbox:
            looked, pause = 0.0, min(SWEEP_SECONDS, most)
            while not stop.is_set():
                messages = inbox.wait(looked + pause - time.monotonic())
                if messages or time.monotonic() - looked >= pause:
                    looked = time.monotonic()
                    places.look()
                    places.look_for_cancels()
                    quiet = not messages and notifications.hearing()
                    pause = min(pause * 2, QUIET_SECONDS, most) if quiet else min(SWEEP_SECONDS, most)


def longest_pause(config: Config) -> float:
    """Seconds after which a worker has to look for leases that lapsed."""
    return float(config["worker.lease_seconds"]) / LOOKS_A_LEASE


def wake(config: Config, name: str) -> None:
    """Lets the dispatcher that serves the worker of this name, on this machine, look at its ``stop``."""
    _send(config, f"{wakeup.WORKER}{name}", "")


def _send(config: Config, prefix: str, message: str) -> None:
    try:
        wakeup.send(wakeup.folder(config.data), prefix, message)
    except OSError:  # the sweep finds it
        pass
