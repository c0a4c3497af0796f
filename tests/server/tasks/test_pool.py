"""Places of a worker: who looks for tasks, how often, and that no look is lost."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from vetro.server.setup import config
from vetro.server.tasks import dispatcher, pool
from vetro.server.tasks.claim import Lease
from vetro.server.tasks.pool import WorkerPool

pytestmark = pytest.mark.database

PATIENCE = 60.0


class Tasks:
    """Those that wait, and who asked for them: whether each was a place for short tasks."""

    def __init__(self) -> None:
        self.waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.asked: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def claim(self, owner: str, seconds: float, *, kinds: Any = None, **_: Any) -> Lease | None:
        self.asked.put(kinds is not None)
        if kinds is not None:
            return None
        try:
            return Lease(self.waiting.get_nowait(), owner, 1, seconds)
        except queue.Empty:
            return None


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Tasks:
    found = Tasks()
    monkeypatch.setattr(pool, "claim", found.claim)
    return found


@pytest.fixture
def begun(db: None, tasks: Tasks) -> Iterator[Callable[[Callable[[Lease], None]], WorkerPool]]:
    """Starts a pool whose places run tasks so."""
    pools: list[WorkerPool] = []

    def start(run: Callable[[Lease], None]) -> WorkerPool:
        made = WorkerPool(config(), SimpleNamespace(run=run, running=list, batches=int, heartbeat_folder=None))  # type: ignore[arg-type]
        pools.append(made)
        made.start()
        return made

    yield start
    for made in pools:
        assert ended(made)
        made.heartbeat_folder.rmdir()


def ended(made: WorkerPool) -> bool:
    return made.stop(lambda: time.monotonic() + PATIENCE)


def test_where_nothing_is_the_database_is_asked_once(begun: Any, tasks: Tasks) -> None:
    made = begun(lambda lease: None)
    assert made.count(False) > 1
    made.look()
    assert tasks.asked.get(timeout=PATIENCE) is False
    assert ended(made)
    assert tasks.asked.empty()


def test_who_is_done_does_not_look_again(begun: Any, tasks: Tasks) -> None:
    """Of what can run only now the dispatcher tells."""
    ran = threading.Event()

    def run(lease: Lease) -> None:
        for _ in range(2):  # the look that found nothing, and that of a place for short tasks
            tasks.asked.get(timeout=PATIENCE)
        ran.set()

    made = begun(run)
    tasks.waiting.put("a deployment")
    made.look()
    tasks.asked.get(timeout=PATIENCE)
    assert ran.wait(PATIENCE)
    while made.free(False) < made.count(False) or made.free(True) < made.count(True):
        time.sleep(0.01)
    assert tasks.asked.empty()


def test_a_process_is_made_ahead_where_no_other_task_waits(
    db: None, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a queue whoever comes next would wait while it is made."""
    made: list[str] = []
    leases = iter([Lease("one", "o", 1, 9.0, True), Lease("two", "o", 1, 9.0, False)])
    monkeypatch.setattr(pool, "claim", lambda *_, **__: next(leases, None))
    runner = SimpleNamespace(run=lambda lease: made.append(lease.task_id), batches=int, heartbeat_folder=None)
    places = WorkerPool(config(), runner, ahead=lambda: made.append("ahead"))  # type: ignore[arg-type]
    while places._take_one(False):
        pass
    places.heartbeat_folder.rmdir()
    assert made == ["one", "two", "ahead"]


def test_who_is_done_looks_for_what_takes_half_of_the_places(begun: Any, tasks: Tasks) -> None:
    over, ran = threading.Event(), queue.SimpleQueue[str]()

    def run(lease: Lease) -> None:
        if lease.task_id == "plans":
            assert over.wait(PATIENCE)
        ran.put(lease.task_id)

    made = begun(run)
    made._runner.batches = lambda: 0 if over.is_set() else made.count(False)  # type: ignore[method-assign]
    tasks.waiting.put("plans")
    made.look()
    for _ in range(2):  # who got it, and the next place, which leaves what takes half of the places
        while tasks.asked.get(timeout=PATIENCE):
            pass
    while made.free(False) != made.count(False) - 1:
        time.sleep(0.01)
    tasks.waiting.put("more plans")  # nobody tells: it was there, and had no place
    over.set()
    assert [ran.get(timeout=PATIENCE) for _ in range(2)] == ["plans", "more plans"]


def test_places_for_short_tasks_look_once_a_task_was_there(begun: Any, tasks: Tasks) -> None:
    made = begun(lambda lease: None)
    tasks.waiting.put("a deployment")
    made.look()
    while tasks.asked.get(timeout=PATIENCE) is False:
        pass


def test_places_for_short_tasks_look_while_the_others_are_busy(begun: Any, tasks: Tasks) -> None:
    busy, free = threading.Semaphore(0), threading.Event()

    def run(lease: Lease) -> None:
        busy.release()
        assert free.wait(PATIENCE)

    made = begun(run)
    for number in range(made.count(False)):
        tasks.waiting.put(str(number))
    made.look()
    for _ in range(made.count(False)):
        assert busy.acquire(timeout=PATIENCE)
    while tasks.asked.get(timeout=PATIENCE) is False:  # the look that came with the first task
        pass
    while not tasks.asked.empty():
        tasks.asked.get()
    made.look()
    assert tasks.asked.get(timeout=PATIENCE) is True
    free.set()


def test_who_gets_a_task_lets_the_next_place_look(begun: Any, tasks: Tasks) -> None:
    together = threading.Barrier(config()["worker.tasks"] + 1)
    made = begun(lambda lease: together.wait(PATIENCE))
    for number in range(made.count(False)):
        tasks.waiting.put(str(number))
    made.look()
    together.wait(PATIENCE)  # every place runs one


def test_who_gets_the_only_task_lets_nobody_look(begun: Any, tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = threading.Event()

    def claim(*given: Any, **options: Any) -> Lease | None:
        lease = tasks.claim(*given, **options)
        if lease is not None:
            lease.others = False
        return lease

    monkeypatch.setattr(pool, "claim", claim)
    made = begun(lambda lease: ran.set())
    tasks.waiting.put("one")
    made.look()
    assert ran.wait(PATIENCE) and ended(made)
    assert tasks.asked.get_nowait() is False and tasks.asked.empty()


def test_a_look_while_all_are_busy_is_not_lost(begun: Any, tasks: Tasks) -> None:
    busy, free, ran = threading.Semaphore(0), threading.Event(), queue.SimpleQueue[str]()

    def run(lease: Lease) -> None:
        busy.release()
        assert free.wait(PATIENCE)
        ran.put(lease.task_id)

    made = begun(run)
    for number in range(made.count(False)):
        tasks.waiting.put(f"first {number}")
    made.look()
    for _ in range(made.count(False)):
        assert busy.acquire(timeout=PATIENCE)
    assert made.free(False) == 0
    tasks.waiting.put("last")
    made.look()
    free.set()
    assert "last" in [ran.get(timeout=PATIENCE) for _ in range(made.count(False) + 1)]


@pytest.mark.parametrize(
    ("hearing", "lease", "pauses"),
    [
        (True, 60.0, [2.0, 4.0, 5.0, 1.0, 2.0]),
        (False, 60.0, [1.0] * 5),
        # Nobody tells of a lease that lapses, and it is to be taken over within a third of it.
        (True, 15.0, [2.0, 3.75, 3.75, 1.0, 2.0]),
        (True, 3.0, [0.75] * 5),
    ],
)
def test_a_worker_looks_less_often_while_the_database_tells_and_nothing_happens(
    hearing: bool, lease: float, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, waited, stop, looks = 1000.0, list[float](), threading.Event(), list[float]()

    class Letters:
        def __enter__(self) -> Letters:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def wait(self, seconds: float) -> list[str]:
            nonlocal now
            waited.append(seconds)
            if len(waited) > len(pauses):
                stop.set()
            if len(waited) == 4:  # somebody makes a task, half a second after the last look
                now += 0.5
                return ["task"]
            now += max(seconds, 0.0)
            return []

    monkeypatch.setattr(dispatcher.Dispatcher, "inbox", lambda _: Letters())
    monkeypatch.setattr(dispatcher, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(dispatcher.notifications, "hearing", lambda: hearing)
    places: Any = SimpleNamespace(look=lambda: looks.append(now), look_for_cancels=lambda: None)
    dispatcher.DatabaseDispatcher(config().changed({"worker.lease_seconds": lease}), "w").serve(places, stop)
    assert waited[1:] == pauses
    assert len(looks) == len(waited)
