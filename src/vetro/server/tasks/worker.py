"""The worker: claims tasks and runs several at once (`main`); and `run_queued`, which runs them here and now.

On SIGTERM it begins nothing more, gives what runs some time (setting ``worker.drain_seconds``), and leaves the rest to
others: what a task has done is in its journal, and whoever claims it goes on from there. A second signal ends it at
once. Whoever asked for a drain in the database (`vetro.server.tasks.drain`) says how long that may take.
"""

from __future__ import annotations

import logging
import math
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from django.db import Error as DatabaseFailed

from vetro.engine.task.launcher import Launcher
from vetro.engine.worker.ports import Step
from vetro.server import sandboxed_workers
from vetro.server.config.config import Config
from vetro.server.setup import config as current
from vetro.server.tasks import effect_hosts, hooks, members, telemetry
from vetro.server.tasks.claim import claim
from vetro.server.tasks.dispatch import dispatcher
from vetro.server.tasks.dispatcher import wake
from vetro.server.tasks.member import Member
from vetro.server.tasks.members import Instruction
from vetro.server.tasks.pool import WorkerPool
from vetro.server.tasks.task_runner import Hosts, TaskRunner, no_step

_log = logging.getLogger("vetro.worker")
#: Seconds that the thread of the leases gets to end: a database that does not answer holds nobody up.
_LAST = 5.0


class _Stop:
    """That the worker is to end, and until when it may take (`time.monotonic`)."""

    def __init__(self, config: Config) -> None:
        self.event = threading.Event()
        self.deadline = math.inf
        #: Ends `Dispatcher.serve`'s waiting.
        self.wake: Callable[[], None] = lambda: None
        self._drain = float(config["worker.drain_seconds"])
        self._signals = 0

    def signalled(self, *_: object) -> None:
        """A signal: the first one gives the tasks their time, the next one none."""
        self._signals += 1
        self._by(self._drain if self._signals == 1 else 0.0)

    def wanted(self, wanted: Instruction) -> None:
        """What others want (`members.beat`)."""
        if wanted is not Instruction.NOTHING:
            self._by(math.inf if wanted is Instruction.DRAIN else 0.0)

    def _by(self, seconds: float) -> None:
        self.deadline = min(self.deadline, time.monotonic() + seconds)
        self.event.set()
        self.wake()


def main(
    config: Config,
    *,
    ready: Callable[[], None] = lambda: None,
    launcher: Launcher | None = None,
    hosts: Hosts | None = None,
    step: Step = no_step,
) -> int:
    """Works until SIGTERM or SIGINT; the exit status. Django is set up (`vetro.server.setup`).

    ``ready`` is called when it takes tasks. Call it from the main thread of a process of its own. ``launcher``,
    ``hosts`` and ``step`` are for tests; by default it has its own zygote and its own effects hosts.
    """
    stop, over = _Stop(config), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):  # who is told to end while it starts ends in order, too
        signal.signal(number, stop.signalled)
    members.take_over(config)
    members.remove_left_over(config)
    with ExitStack() as stack:
        own = hosts is None
        if hosts is None:
            stack.callback(effect_hosts.close)
            effect_hosts.forker(config["cloud.kind"]).start()
        if launcher is None:
            launcher = stack.enter_context(Launcher(cache=sandboxed_workers.compiled_folder(config)))
            launcher.start().close()
            launcher.fork_ahead()
        runner = TaskRunner(config, launcher, hosts, step)
        pool = WorkerPool(config, runner, stop.wanted, launcher.fork_ahead)
        stop.wake = partial(wake, config, pool.member.id)
        companions: list[hooks.Companion] = []
        beating = threading.Thread(target=pool.beat, args=(over,), name="vetro leases", daemon=True)
        beating.start()
        try:
            waking = dispatcher(config, pool.member.id)
            pool.start()
            companions += hooks.beside(config, pool.member, launcher) if own else []
            telemetry.worker_began()
            ready()
            waking.serve(pool, stop.event)
        finally:
            for companion in companions:
                companion.stop()
            drained = pool.stop(lambda: stop.deadline)
            left = runner.running()
            over.set()
            beating.join(_LAST)  # else it might write down once more that this worker lives
            # From now on hosts leave answers to whoever is next.
            shutil.rmtree(pool.heartbeat_folder, ignore_errors=True)
            _leave(pool.member)
        if not drained:
            if left:
                _log.warning("tasks were left to other workers: %s", ", ".join(left))
            os._exit(0)  # their threads wait for servers; hosts and task processes end with us
    return 0


def _leave(member: Member) -> None:
    try:
        members.leave(member)
    except DatabaseFailed as error:
        _log.error("the tasks of this worker are taken over when their leases lapse, the database failed: %s", error)


def run_queued(config: Config | None = None, *, most: int = 1000) -> int:
    """Runs what is queued in this thread, one after the other, until nothing is left (or ``most`` have run); how many.

    For tests and commands without a worker. Tasks whose lease lapsed are run, too.
    """
    config = config or current()
    runner = TaskRunner(config, sandboxed_workers.launcher())
    count = 0
    while count < most and (lease := claim(f"here-{os.getpid()}", float(config["worker.lease_seconds"]))) is not None:
        runner.run(lease)
        count += 1
    return count
