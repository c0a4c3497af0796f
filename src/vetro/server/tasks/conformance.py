"""Tests that every dispatcher has to pass, for authors of dispatcher plug-ins (`vetro.server.tasks.backends`).

Derive a test class and run it with pytest-django or Django's test runner, with `vetro.server.settings` for a database
that the backend works on and ``VETRO_DISPATCH__BACKEND`` naming it::

    from vetro.server.tasks import conformance

    class TestMine(conformance.DispatcherConformance):
        backend = "mine"
        distribution = "my-plugin"

The core's own dispatcher passes the same class, on SQLite and on PostgreSQL. No task is really run: the places of the
workers are in the test, which claims tasks and ends them.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any, ClassVar

from django.db import connections, transaction
from django.test import TransactionTestCase

from vetro.engine.version import engine_version
from vetro.server.config.config import Config
from vetro.server.setup import config
from vetro.server.tasks import clock
from vetro.server.tasks.backends import EMBEDDED, ENTRY_POINT_GROUP, backend
from vetro.server.tasks.claim import SHORT, claim
from vetro.server.tasks.dispatch import dispatcher
from vetro.server.tasks.dispatcher import Dispatcher, wake
from vetro.server.tasks.models import Task, WorkerProcess

#: Seconds that anything may take on a busy machine.
PATIENCE = 60.0
_LEASE = 2.0


class Places:
    """The places of one worker: what the dispatcher wants of them is done by `work`, in the thread of the test."""

    def __init__(self, name: str, labels: list[str]) -> None:
        self.name = name
        self.labels = labels
        #: Tasks that were claimed, in their order, and cancels that were to be looked for.
        self.claimed: list[str] = []
        self.cancels: queue.SimpleQueue[tuple[str, ...]] = queue.SimpleQueue()
        self._orders: queue.SimpleQueue[tuple[bool, Future[bool]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._taken = {False: 0, True: 0}

    def count(self, short: bool) -> int:
        """See `TaskPlaces.count`."""
        return 1 if short else 2

    def free(self, short: bool) -> int:
        """See `TaskPlaces.free`."""
        with self._lock:
            return self.count(short) - self._taken[short]

    def look(self) -> None:
        """See `TaskPlaces.look`."""
        self._orders.put(None)

    def take(self, short: bool) -> Future[bool]:
        """See `TaskPlaces.take`."""
        order: Future[bool] = Future()
        with self._lock:
            self._taken[short] += 1
        self._orders.put((short, order))
        return order

    def look_for_cancels(self, *ids: str) -> None:
        """See `TaskPlaces.look_for_cancels`."""
        self.cancels.put(ids)

    def work(self) -> None:
        """Does what was wanted until now."""
        while True:
            try:
                order = self._orders.get_nowait()
            except queue.Empty:
                return
            if order is None:
                while self._claim(short=False):
                    pass
                continue
            short, answer = order
            if answer.set_running_or_notify_cancel():
                answer.set_result(self._claim(short=short))
            with self._lock:
                self._taken[short] -= 1

    def _claim(self, *, short: bool) -> bool:
        lease = claim(self.name, _LEASE, kinds=SHORT if short else None, labels=self.labels)
        if lease is None:
            return False
        self.claimed.append(lease.task_id)
        lease.hold(state="done", owner="", finished=clock.after())
        return True


class DispatcherConformance(TransactionTestCase):
    """The tests. Set `backend`, and `distribution` for a plug-in."""

    #: The value of the setting ``dispatch.backend``.
    backend: ClassVar[str]
    #: The distribution that registers it; None for the core's own.
    distribution: ClassVar[str | None] = None

    # -- helpers ------------------------------------------------------------------------------------------------

    @property
    def _config(self) -> Config:
        return config().changed({"worker.lease_seconds": _LEASE})

    def _dispatcher(self, name: str = "") -> Dispatcher:
        return dispatcher(self._config, name)

    def _task(self, kind: str = "deploy", **values: Any) -> Task:
        """A row as `vetro.server.tasks.queue.enqueue` makes it, of which nobody was notified."""
        return Task.objects.create(project_id="p", user_id="u", kind=kind, spec={}, **values)

    def _enqueued(self, kind: str = "deploy", **values: Any) -> Task:
        with transaction.atomic():
            task = self._task(kind, **values)
            self._dispatcher().notify(task)
        return task

    @contextmanager
    def _worker(self, *labels: str) -> Iterator[Places]:
        """A worker that the dispatcher serves; it has to end when it is told to."""
        places = Places(f"conformance-{secrets.token_hex(4)}", list(labels))
        stop = threading.Event()
        serving = threading.Thread(target=self._serve, args=(places, stop), daemon=True)
        serving.start()
        try:
            yield places
        finally:
            stop.set()
            until = time.monotonic() + PATIENCE
            while serving.is_alive() and time.monotonic() < until:
                wake(self._config, places.name)
                places.work()
                serving.join(0.05)
            self.assertFalse(serving.is_alive(), "the dispatcher does not end")

    def _serve(self, places: Places, stop: threading.Event) -> None:
        try:
            self._dispatcher(places.name).serve(places, stop)
        finally:
            connections.close_all()

    def _until(self, found: Callable[[], object], *workers: Places) -> None:
        """Has workers work until something is true."""
        until = time.monotonic() + PATIENCE
        while not found():
            self.assertLess(time.monotonic(), until, "waited in vain")
            for worker in workers:
                worker.work()
            time.sleep(0.01)

    def _until_done(self, tasks: list[Task], *workers: Places) -> None:
        ids = [task.id for task in tasks]
        self._until(lambda: not Task.objects.filter(id__in=ids).exclude(state="done").exists(), *workers)

    # -- tests --------------------------------------------------------------------------------------------------

    def test_the_distribution_registers_it(self) -> None:
        """The entry point is there once, and the configuration of these tests leads to it."""
        self.assertEqual(self._config["dispatch.backend"], self.backend)
        found = [point for point in entry_points(group=ENTRY_POINT_GROUP) if point.name == self.backend]
        if self.distribution is None:
            self.assertEqual((self.backend, found), (EMBEDDED, []))
        else:
            self.assertEqual([point.dist.name for point in found if point.dist], [self.distribution])
            self.assertIs(backend(self._config), found[0].load())
        self.assertIsInstance(self._dispatcher(), Dispatcher)

    def test_each_task_is_claimed_once(self) -> None:
        """Also those that were made before the worker came."""
        before = [self._enqueued() for _ in range(3)]
        with self._worker() as worker:
            self._until_done(before, worker)
            after = [self._enqueued(), self._enqueued("static")]
            self._until_done(after, worker)
        self.assertEqual(sorted(worker.claimed), sorted(task.id for task in [*before, *after]))

    def test_workers_share_the_tasks(self) -> None:
        """None is claimed by two."""
        with self._worker() as one, self._worker() as other:
            tasks = [self._enqueued() for _ in range(10)]
            self._until_done(tasks, one, other)
        self.assertEqual(sorted([*one.claimed, *other.claimed]), sorted(task.id for task in tasks))

    def test_what_is_undone_leaves_nothing(self) -> None:
        """A task whose transaction fails was never there, and holds up no other."""
        with self._worker() as worker:
            with self.assertRaises(ZeroDivisionError), transaction.atomic():
                self._dispatcher().notify(self._task())
                _ = 1 / 0
            task = self._enqueued()
            self._until_done([task], worker)
        self.assertEqual(worker.claimed, [task.id])

    def test_tasks_that_nobody_was_notified_of_are_found(self) -> None:
        """As after a move of the database, or the death of whoever was to notify."""
        with self._worker() as worker:
            self._until_done([self._task(), self._task("static")], worker)

    def test_a_lease_that_lapses_is_taken_over(self) -> None:
        """Nobody tells that a worker has died."""
        held: dict[str, Any] = {"state": Task.RUNNING, "owner": "dead", "fence": 1, "engine": engine_version()}
        with self._worker() as worker:
            task = self._task(**held, attempts=1, lease_until=clock.after(0.5))
            self._until_done([task], worker)
        task.refresh_from_db()
        self.assertEqual((task.attempts, task.fence), (2, 2))

    def test_a_cancel_reaches_whoever_runs_the_task(self) -> None:
        """The worker looks for cancels, at that of this task among others."""
        mine: dict[str, Any] = {"state": Task.RUNNING, "owner": "me", "fence": 1, "engine": engine_version()}
        task = self._task(**mine, lease_until=clock.after(600.0))
        with self._worker() as worker:
            with transaction.atomic():
                task.cancel = "enough"
                task.save()
                self._dispatcher().notify(task)
            looked = False
            while not looked:
                ids = worker.cancels.get(timeout=PATIENCE)
                looked = not ids or task.id in ids
        self.assertEqual(worker.claimed, [])

    def test_only_workers_with_its_label_get_a_task(self) -> None:
        """A worker without labels gets all of them."""
        with self._worker("here") as here:
            there, anywhere = self._enqueued(label="there"), self._enqueued()
            self._until_done([anywhere], here)
            with self._worker() as all_of_them:
                self._until_done([there], here, all_of_them)
        self.assertEqual(here.claimed, [anywhere.id])

    def test_health(self) -> None:
        """It is well when a worker lives that serves what waits."""
        self._task(label="there")
        found = self._dispatcher().health()
        self.assertEqual((found["ok"], found["backend"], found["workers"]), (False, self.backend, 0))
        self.assertEqual((found["queued"], found["unserved"]), (1, ["there"]))
        self.assertIn("vetro worker", found["detail"])
        for labels in (["here"], []):
            name = f"w{len(labels)}"
            WorkerProcess.objects.create(id=name, host="h", pid=1, version="1", labels=labels, seen=clock.after())
            found = self._dispatcher().health()
            self.assertEqual((found["ok"], found["detail"] == ""), (not labels, not labels))
