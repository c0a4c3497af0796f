"""`WorkerPool`: the places of one worker process, each a thread that runs one task after the other, and its leases.

Some of the places take only short tasks, which somebody waits for, so that long deployments never hold those up.

When there may be something to do, one place looks; when it has got a task it lets the next one look. The first is one
that takes any task where such a one is free: if it finds none, there is no short one either. So a worker that finds
nothing has asked the database once, however many places it has: each new task wakes all workers, and one gets it.
Whoever is done with its task looks again only where somebody has to, or where tasks of a kind were left that take half
of the places: of a task that waited for this one in its environment the dispatcher tells.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from django.db import Error as DatabaseFailed
from django.db import connections

from vetro.engine.host import heartbeat
from vetro.server.config.config import Config
from vetro.server.tasks import hooks, linking, members
from vetro.server.tasks.claim import SHORT, Lease, claim, renew, shorten
from vetro.server.tasks.dispatcher import SWEEP_SECONDS
from vetro.server.tasks.members import Instruction
from vetro.server.tasks.models import Task
from vetro.server.tasks.task_runner import TaskRunner

_log = logging.getLogger("vetro.worker")
#: Seconds between two looks at what is too old.
_SWEEP_EVERY = 3600.0
#: Seconds between two looks for packages that wait to be linked.
_LINK_EVERY = 60.0
#: Seconds after which a worker that nobody hears of is forgotten.
_SILENT = 3600.0
#: Seconds by which the clock was set back, not only adjusted.
_SET_BACK = 30.0
#: Seconds between two looks at whether somebody is in a hurry, while tasks end.
_LOOK = 0.1


class WorkerPool:
    """See the module, and `vetro.server.tasks.dispatcher.TaskPlaces`.

    ``wanted`` is called with what is wanted of this worker, when that changes, in the thread of `beat`; ``ahead`` when
    no task waits, to have the process of the next one made (`Launcher.fork_ahead`), and now and then.
    """

    def __init__(
        self,
        config: Config,
        runner: TaskRunner,
        wanted: Callable[[Instruction], None] = lambda _: None,
        ahead: Callable[[], None] = lambda: None,
    ) -> None:
        self._config = config
        self._runner = runner
        self._wanted = wanted
        self._ahead = ahead
        self._lease = float(config["worker.lease_seconds"])
        self._wait = float(config["worker.version_wait"])
        self.labels = list(config["worker.labels"])
        self._lock = threading.Lock()
        #: Where places wait; which of them are short.
        self._changed = {short: threading.Condition(self._lock) for short in (False, True)}
        #: Whether somebody has to look.
        self._wanted_look = {False: False, True: False}
        #: Whether places for short tasks have not looked since somebody had to: they do when another has got a task.
        self._short_left = False
        #: Whether the last look for any task left those that take half of the places at most.
        self._batches_left = False
        self._orders: dict[bool, deque[Future[bool]]] = {False: deque(), True: deque()}
        self._busy = {False: 0, True: 0}
        self._stop = False
        self._threads: list[threading.Thread] = []
        self.member = members.join(self.labels)
        self.heartbeat_folder = runner.heartbeat_folder = members.make_heartbeats(config, self.member)

    def count(self, short: bool) -> int:
        """See `TaskPlaces.count`."""
        tasks = int(self._config["worker.tasks"])
        return max(1, tasks // 2) if short else tasks

    def start(self) -> None:
        """Starts the threads."""
        for short in (False, True):
            for number in range(self.count(short)):
                name = f"vetro {'short ' if short else ''}task {number}"
                thread = threading.Thread(target=self._serve, args=(short,), name=name, daemon=True)
                thread.start()
                self._threads.append(thread)

    def free(self, short: bool) -> int:
        """See `TaskPlaces.free`."""
        with self._lock:
            return self._free(short)

    def _free(self, short: bool) -> int:
        return 0 if self._stop else self.count(short) - self._busy[short] - len(self._orders[short])

    def look(self) -> None:
        """See `TaskPlaces.look`."""
        with self._lock:
            self._let_look(False)
            if self._free(False) > 0:
                self._short_left = True
            else:
                self._let_look(True)

    def _let_look(self, short: bool) -> None:
        """One of the places that wait looks, now; where none does, the next one that is done with its task."""
        self._wanted_look[short] = True
        self._changed[short].notify()

    def take(self, short: bool) -> Future[bool]:
        """See `TaskPlaces.take`. Cancelled where the worker ends before."""
        order: Future[bool] = Future()
        with self._lock:
            if self._stop:
                order.cancel()
            else:
                self._orders[short].append(order)
                self._changed[short].notify()
        return order

    def look_for_cancels(self, *ids: str) -> None:
        """See `TaskPlaces.look_for_cancels`."""
        if not ids or not set(ids).isdisjoint(self._runner.running()):
            self._runner.look_for_cancels()

    def stop(self, deadline: Callable[[], float]) -> bool:
        """Claims nothing more and waits for what runs, until ``deadline()`` (`time.monotonic`), which may change.

        Whether all of it ended.
        """
        with self._lock:
            self._stop = True
            for orders in self._orders.values():
                while orders:
                    orders.popleft().cancel()
            for places in self._changed.values():
                places.notify_all()
        looked = time.monotonic()
        for thread in self._threads:
            while thread.is_alive() and (left := deadline() - time.monotonic()) > 0:
                thread.join(min(left, _LOOK))
                if time.monotonic() - looked >= SWEEP_SECONDS:  # no dispatcher does this any more
                    looked = time.monotonic()
                    self._runner.look_for_cancels()
        return not any(thread.is_alive() for thread in self._threads)

    def _serve(self, short: bool) -> None:
        orders = self._orders[short]
        try:
            while True:
                with self._lock:
                    while not self._stop and not orders and not self._wanted_look[short]:
                        self._changed[short].wait()
                    if self._stop:
                        return
                    order = orders.popleft() if orders else None
                    if order is None:
                        self._wanted_look[short] = False
                    self._busy[short] += 1
                try:
                    if order is None:
                        while not self._stop and self._take_one(short, others=True) and self._batches_left:
                            pass
                    elif order.set_running_or_notify_cancel():
                        order.set_result(self._take_one(short))
                finally:
                    with self._lock:
                        self._busy[short] -= 1
        finally:
            connections.close_all()

    def _take_one(self, short: bool, others: bool = False) -> bool:
        """Runs one task; whether there was one. ``others``: another place looks then, where more tasks waited."""
        try:
            lease = self._claim(short)
            if lease is None:
                return False
            if others and lease.others:
                with self._lock:
                    self._let_look(short)
                    if self._short_left and not short:
                        self._short_left = False
                        self._let_look(True)
            self._runner.run(lease)
            if not lease.others:  # else the next one would wait while it is made
                self._ahead()
        except DatabaseFailed as error:
            _log.error("the database failed: %s", error)
            connections.close_all()
            return False
        except Exception:
            _log.exception("a defect of the worker")
            return False
        return True

    def _claim(self, short: bool) -> Lease | None:
        kinds = SHORT if short else None
        without = () if short or self._runner.batches() < max(1, self.count(False) // 2) else Task.BATCHES
        if not short:
            self._batches_left = bool(without)
        return claim(
            self.member.id, self._lease, kinds=kinds, labels=self.labels, without=without, version_wait=self._wait
        )

    def beat(self, over: threading.Event) -> None:
        """Renews the leases until ``over``; for a thread of its own."""
        swept, ahead = time.monotonic() - _SWEEP_EVERY + 60.0, math.inf
        linked, working = swept, dict[str, list[threading.Thread]]()
        try:
            while not over.wait(self._lease / 3):
                try:
                    now = heartbeat.moment()
                    self._ahead()  # also while tasks go on for long
                    held = self._runner.held()
                    lost = renew(held)
                    self._runner.lose(lost)
                    # only those that were renewed, and for no longer
                    self._runner.beat([lease for lease in held if lease not in lost], now)
                    before, ahead = ahead, time.time() - time.monotonic()
                    if before - ahead > _SET_BACK:  # also at the first beat
                        shorten(self._lease)
                    wanted = members.beat(self.member, draining=self._stop)
                    if wanted is not Instruction.NOTHING:
                        self._wanted(wanted)
                    if members.take_over(self._config):
                        self.look()
                    busy = {name for name, threads in working.items() if any(t.is_alive() for t in threads)}
                    if time.monotonic() - linked > _LINK_EVERY and "link" not in busy:
                        linked = time.monotonic()
                        working["link"] = [linking.begin()]
                    if "compile" not in busy and (compiling := self._runner.compilation.begin()):
                        working["compile"] = [compiling]
                    if time.monotonic() - swept > _SWEEP_EVERY and "sweep" not in busy:
                        swept = time.monotonic()
                        working["sweep"] = hooks.aged(self._config)
                        members.forget_silent(_SILENT)
                        shorten(self._lease)  # the database may go by another clock
                except DatabaseFailed as error:
                    _log.error("the leases cannot be renewed, the database failed: %s", error)
                    connections.close_all()
                except OSError as error:
                    _log.error("the heartbeats of the leases cannot be written: %s", error)
                except Exception:  # without beats it would lose every task that takes longer than a lease
                    _log.exception("a defect of the worker")
        finally:
            connections.close_all()
