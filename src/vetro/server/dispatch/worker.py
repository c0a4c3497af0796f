"""The worker: claims tasks and runs several at once (`main`); and `run_queued`, which runs them here and now.

Each of its threads runs one task after the other. Some of them take only short tasks, which somebody waits for, so that
long deployments never hold those up. On SIGTERM it begins nothing more, gives what runs a few seconds, and leaves the
rest to others: what a task has done is in its journal, and whoever claims it goes on from there.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from django.db import Error as DatabaseFailed
from django.db import connections

from vetro.engine.host import HostProcess, pulse
from vetro.engine.host.forker import HostForker
from vetro.engine.launcher import Launcher
from vetro.engine.worker_ports import Step
from vetro.server.config import Config
from vetro.server.dispatch import members, spec, sweep
from vetro.server.dispatch.claim import SHORT, claim, renew
from vetro.server.dispatch.dispatcher import Embedded
from vetro.server.dispatch.running import Hosts, Runner, no_step
from vetro.server.setup import config as current

_log = logging.getLogger("vetro.worker")

#: Seconds that running tasks get on SIGTERM.
DRAIN_SECONDS = 5.0
#: Seconds between two looks at what is too old.
_SWEEP_EVERY = 3600.0
#: Seconds after which a worker that nobody hears of is forgotten.
_SILENT = 3600.0


class WorkerPool:
    """The threads of one worker process."""

    def __init__(self, config: Config, runner: Runner) -> None:
        self._config = config
        self._runner = runner
        self._lease = float(config["worker.lease_seconds"])
        self._labels = list(config["worker.labels"])
        self._changed = threading.Condition()
        self._round = 0
        self._stop = False
        self._threads: list[threading.Thread] = []
        self.member = members.join(self._labels)
        self.pulse = runner.pulse = members.pulse_of(config, self.member)
        pulse.beat(self.pulse)

    def start(self) -> None:
        """Starts the threads."""
        count = self._config["worker.tasks"]
        for number in range(count + max(1, count // 2)):
            short = number >= count
            thread = threading.Thread(
                target=self._serve, args=(short,), name=f"vetro task {number}{' short' if short else ''}", daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def look(self) -> None:
        """Something may be to do: a task to claim, or one to cancel."""
        with self._changed:
            self._round += 1
            self._changed.notify_all()
        self._runner.look_for_cancels()

    def stop(self, seconds: float) -> bool:
        """Claims nothing more and waits for what runs; whether all of it ended."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in self._threads)

    def _serve(self, short: bool) -> None:
        seen = -1
        try:
            while not self._stop:
                self._take_all(short)
                with self._changed:
                    while not self._stop and self._round == seen:
                        self._changed.wait()
                    seen = self._round
        finally:
            connections.close_all()

    def _take_all(self, short: bool) -> None:
        """Runs tasks until there are none."""
        while not self._stop:
            try:
                lease = claim(
                    self.member.id,
                    self._lease,
                    kinds=SHORT if short else None,
                    labels=self._labels,
                )
                if lease is None:
                    return
                self._runner.run(lease)
            except DatabaseFailed as error:
                _log.error("the database failed: %s", error)
                connections.close_all()
                return
            except Exception:
                _log.exception("a defect of the worker")
                return

    def beat(self, over: threading.Event) -> None:
        """Renews the leases until ``over``; for a thread of its own."""
        swept = time.monotonic() - _SWEEP_EVERY + 60.0
        try:
            while not over.wait(self._lease / 3):
                try:
                    now = pulse.moment()
                    renew(self._runner.held())
                    pulse.beat(self.pulse, now)  # only when they were renewed, and for no longer
                    members.beat(self.member, draining=self._stop)
                    if members.take_over():
                        self.look()
                    if time.monotonic() - swept > _SWEEP_EVERY:
                        swept = time.monotonic()
                        sweep.sweep(self._config)
                        sweep.begin_collecting()
                        members.forget_silent(_SILENT)
                except DatabaseFailed as error:
                    _log.error("the leases cannot be renewed, the database failed: %s", error)
                    connections.close_all()
                except OSError as error:
                    _log.error("the pulse of this worker cannot be written: %s", error)
        finally:
            connections.close_all()


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
    stop, over = threading.Event(), threading.Event()
    members.take_over()
    with ExitStack() as stack:
        if hosts is None:
            forker = stack.enter_context(HostForker())
            forker.start()
            hosts = partial(HostProcess, forker=forker)
        if launcher is None:
            launcher = stack.enter_context(Launcher(cache=spec.compiled(config)))
            launcher.start().close()
        runner = Runner(config, launcher, hosts, step)
        pool = WorkerPool(config, runner)
        beating = threading.Thread(target=pool.beat, args=(over,), name="vetro leases", daemon=True)
        beating.start()
        waking = Embedded(config, pool.member.id)

        def end(*_: object) -> None:
            stop.set()
            waking.notify("")

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        pool.start()
        ready()
        try:
            waking.serve(pool.look, stop)
        finally:
            drained = pool.stop(DRAIN_SECONDS)
            over.set()
            members.leave(pool.member)
            pool.pulse.unlink(missing_ok=True)
        if not drained:
            _log.warning("tasks were left to other workers: %s", ", ".join(runner.running()))
            os._exit(0)  # their threads wait for servers; hosts and task processes end with us
    return 0


class _Here:
    """What `run_queued` keeps: it is called often, and starting it takes a second."""

    def __init__(self, config: Config) -> None:
        self.launcher = Launcher(cache=spec.compiled(config))
        self.forker = HostForker()
        atexit.register(self.close)

    def close(self) -> None:
        """Ends the processes."""
        self.launcher.close()
        self.forker.close()


_here: dict[int, _Here] = {}


def run_queued(config: Config | None = None, *, most: int = 1000) -> int:
    """Runs what is queued in this thread, one after the other, until nothing is left (or ``most`` have run); how many.

    For tests and commands without a worker. Tasks whose lease lapsed are run, too.
    """
    config = config or current()
    here = _here.get(os.getpid())
    if here is None:
        here = _here[os.getpid()] = _Here(config)
    runner = Runner(config, here.launcher, partial(HostProcess, forker=here.forker))
    count = 0
    while count < most and (lease := claim(f"here-{os.getpid()}", float(config["worker.lease_seconds"]))) is not None:
        runner.run(lease)
        count += 1
    return count
