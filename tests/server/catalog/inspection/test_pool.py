"""The examining processes: limits of time and memory, one project does not block another."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.engine.taskworld import NATIVES
from vetro.engine.task.launcher import Launcher
from vetro.server.catalog.inspection import pool as examiner
from vetro.server.catalog.inspection.pool import Pool
from vetro.server.errors import Invalid, TooMany, Unavailable
from vetro.server.requests import slow_requests


class Process:
    """A process whose answers a test decides."""

    made: list[Process] = []

    def __init__(self, owner: str, readable: Any) -> None:
        self.owner = owner
        self.fresh = True
        self.closed = False
        self.given: list[float] = []
        Process.made.append(self)

    def ask(self, head: dict[str, Any], blobs: Any, seconds: float) -> Any:
        self.given.append(round(seconds))
        answer = head["answer"]
        if callable(answer):
            answer = answer()
        if isinstance(answer, BaseException):
            raise answer
        return answer, []

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def pool(monkeypatch: Any) -> Iterator[Pool]:
    Process.made = []
    monkeypatch.setattr(examiner, "_Process", Process)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    found = Pool(2)
    yield found
    found.close()
    assert all(process.closed for process in Process.made)


FINE = {"op": "read", "answer": {"x": 1}}


def test_a_process_is_used_again_for_what_its_project_brings(pool: Pool) -> None:
    for op in ("read", "check", "read"):
        assert pool.ask("p", {**FINE, "op": op}) == ({"x": 1}, [])
    assert [process.owner for process in Process.made] == ["p"]


@pytest.mark.attack("uploads", "examiners")
def test_no_process_sees_archives_of_two_projects(pool: Pool) -> None:
    for owner in ("p", "q", "p", "q"):
        pool.ask(owner, FINE)
    assert [process.owner for process in Process.made] == ["p", "q"]
    pool.ask("r", FINE)  # no more are kept than work at once
    assert [process.closed for process in Process.made] == [True, False, False]
    pool.ask("p", FINE)
    assert len(Process.made) == 4


@pytest.mark.parametrize(
    ("head", "readable"), [({**FINE, "op": "describe"}, []), ({**FINE, "op": "highlight"}, []), (FINE, ["/x"])]
)
def test_a_process_that_saw_work_of_others_is_not_used_again(pool: Pool, head: Any, readable: list[str]) -> None:
    pool.ask("p", FINE)
    pool.ask("p", head, readable=readable)
    assert [process.closed for process in Process.made] == [False, True]


def test_a_question_gets_a_process_of_its_own_where_that_is_wanted(pool: Pool) -> None:
    for fresh in (False, True, False):
        pool.ask("p", {**FINE, "op": "check"}, fresh=fresh)
    assert [process.closed for process in Process.made] == [False, True]


def test_a_process_that_has_worked_for_long_is_replaced(pool: Pool) -> None:
    pool.ask("p", FINE)
    Process.made[0].fresh = False
    pool.ask("p", FINE)
    assert Process.made[0].closed
    pool.ask("p", FINE)
    assert len(Process.made) == 2


@pytest.mark.parametrize(("error", "text"), [(TimeoutError(), "more than 60 seconds"), (EOFError(), "more memory")])
def test_a_process_that_fails_is_replaced(pool: Pool, error: BaseException, text: str) -> None:
    with pytest.raises(Invalid, match=text):
        pool.ask("p", {"op": "read", "answer": error})
    assert Process.made[0].closed
    assert pool.ask("p", FINE)[0] == {"x": 1}
    assert len(Process.made) == 2


def test_it_may_take_longer_where_others_want_the_processors(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """These processes stand behind all others: a sound archive is not refused for what else the machine does."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for load in (0.5, 2.0, 5.0, 100.0):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        pool.ask("p", FINE)
    assert Process.made[0].given == [60, 60, 150, 300]
    with pytest.raises(Invalid, match="more than 300 seconds"):
        pool.ask("p", {"op": "read", "answer": TimeoutError()})


def test_a_kept_process_that_has_died_is_no_fault_of_the_question(pool: Pool) -> None:
    answers: list[Any] = [{"x": 1}, EOFError(), {"x": 2}]
    for wanted in (1, 2):
        assert pool.ask("p", {"op": "read", "answer": lambda: answers.pop(0)})[0] == {"x": wanted}
    assert [process.closed for process in Process.made] == [True, False]


def test_a_defect_refuses_the_package_only(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    told = {"defect": "it is nested too deeply", "trace": "first\nsecond\x1b[2J"}
    with pytest.raises(Invalid, match="nested too deeply"):
        pool.ask("p", {"op": "read", "answer": told})
    assert Process.made[0].closed
    assert "first\nsecond\\x1b[2J" in caplog.text


@pytest.mark.attack("uploads", "examiners")
def test_a_project_holds_few_threads(pool: Pool, monkeypatch: Any) -> None:
    monkeypatch.setattr(examiner, "MOST_TOGETHER", examiner.MOST_WAITING + 1)
    running, go = threading.Event(), threading.Event()
    answers: list[Any] = []

    def slow() -> dict[str, Any]:
        running.set()
        assert go.wait(10)
        return {"slow": True}

    def ask(owner: str) -> threading.Thread:
        thread = threading.Thread(target=lambda: answers.append(pool.ask(owner, {"op": "read", "answer": slow})[0]))
        thread.start()
        return thread

    def waiting(count: int) -> None:
        with pool._free:
            assert _soon(pool, count)

    threads = [ask("greedy")]
    assert running.wait(10)
    threads += [ask("greedy") for _ in range(examiner.MOST_WAITING)]
    waiting(examiner.MOST_WAITING)
    with pytest.raises(TooMany) as caught:
        pool.ask("greedy", {"op": "read", "answer": {}})
    assert caught.value.details == {"retry_after": 10}
    assert pool.ask("other", {"op": "read", "answer": {"x": 1}})[0] == {"x": 1}
    running.clear()
    threads.append(ask("second"))
    assert running.wait(10)
    threads.append(ask("third"))
    waiting(examiner.MOST_WAITING + 1)
    with pytest.raises(Unavailable, match="many packages"):
        pool.ask("third", {"op": "read", "answer": {}})
    threads.append(ask("fourth"))  # who has none waiting is not to blame
    waiting(examiner.MOST_WAITING + 2)
    go.set()
    for thread in threads:
        thread.join(10)
    assert answers == [{"slow": True}] * len(threads) and not pool._waiting


def test_who_waits_most_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions of a project that asks all the time do not keep one away that asks now and then."""
    monkeypatch.setattr(examiner, "_Process", Process)
    pool = Pool(1)
    go, order = threading.Event(), list[str]()

    def ask(owner: str) -> threading.Thread:
        def slow() -> dict[str, Any]:
            order.append(owner)
            assert go.wait(30)
            return {}

        thread = threading.Thread(target=pool.ask, args=(owner, {"op": "describe", "answer": slow}))
        thread.start()
        return thread

    threads = []
    for number, owner in enumerate(["first", "first", "second", "second", "third"]):
        threads.append(ask(owner))
        with pool._free:
            assert pool._free.wait_for(lambda: len(pool._busy) == 1, 10) and _soon(pool, number)
    go.set()
    for thread in threads:
        thread.join(30)
    assert order[0] == "first" and set(order[1:3]) == {"second", "third"} and not pool._waiting
    assert set(order[3:]) == {"first", "second"}


def test_questions_count_among_what_holds_threads(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_requests, "_most", lambda: 1)

    def again() -> dict[str, Any]:
        with ThreadPoolExecutor(1) as threads, pytest.raises(TooMany):
            threads.submit(pool.ask, "p", FINE).result(30)
        return {"x": 2}

    assert pool.ask("p", {"op": "describe", "answer": again})[0] == {"x": 2}


def _soon(pool: Pool, count: int) -> bool:
    """Waiters give the lock away only while they wait, so they are counted soon."""
    end = time.monotonic() + 10
    while pool._waiting.total() != count and time.monotonic() < end:
        pool._free.wait(0.01)
    return pool._waiting.total() == count


@pytest.mark.attack("uploads", "examiners")
def test_a_project_occupies_one_process(pool: Pool) -> None:
    running, go = threading.Event(), threading.Event()

    def slow() -> dict[str, Any]:
        running.set()
        assert go.wait(10)
        return {"slow": True}

    asking = threading.Thread(target=lambda: pool.ask("greedy", {"op": "read", "answer": slow}))
    asking.start()
    assert running.wait(10)
    assert pool.ask("other", {"op": "read", "answer": {"x": 1}})[0] == {"x": 1}
    with pytest.raises(Unavailable):
        pool.ask("greedy", {"op": "read", "answer": {"x": 1}}, seconds=0.05)
    go.set()
    asking.join()
    assert pool.ask("greedy", {"op": "read", "answer": {"x": 2}})[0] == {"x": 2}


LIMITS = {"archive": 1 << 20, "entries": 10, "file": 1 << 20, "total": 1 << 20, "ratio": 100}
READ = {"op": "read", "location": "x", "strict": True, "limits": LIMITS}


@pytest.fixture
def real() -> Iterator[Pool]:
    found = Pool(1)
    yield found
    found.close()


@pytest.mark.attack("uploads", "examiners")
def test_a_real_process_is_killed_when_it_takes_too_long(real: Pool) -> None:
    with pytest.raises(Invalid, match="more than 0 seconds"):
        real.ask("p", READ, [b"x" * 9_000_000], 0.0)
    assert real._kept == []
    answer, _ = real.ask("p", READ, [b"no zip"])
    assert answer["facts"]["refused"][0]["code"] == "PKG130"
    assert len(real._kept) == 1


def test_a_real_process_that_was_killed_is_replaced(real: Pool) -> None:
    real.ask("p", READ, [b"no zip"])
    os.kill(real._kept[0]._process.pid, signal.SIGKILL)
    assert "refused" in real.ask("p", READ, [b"no zip"])[0]["facts"]


@pytest.mark.attack("uploads", "examiners")
def test_processes_get_no_secrets_of_the_service(real: Pool, monkeypatch: Any) -> None:
    monkeypatch.setenv("VETRO_DATABASE__URL", "postgresql://u:secret@h/d")
    from vetro.server import sandboxed_workers

    sandboxed_workers.close()  # the next zygote begins with this environment
    try:
        real.ask("p", READ, [b"no zip"])
        for pid in (real._kept[0]._process.pid, sandboxed_workers.launcher().pid):
            with open(f"/proc/{pid}/environ", "rb") as file:
                assert b"secret" not in file.read()
    finally:
        sandboxed_workers.close()


@pytest.mark.attack("uploads", "examiners")
def test_nothing_is_examined_where_a_required_wall_is_missing(real: Pool, monkeypatch: Any) -> None:
    """The same refusal as for tasks."""
    from vetro.server import sandboxed_workers

    with Launcher(
        natives=["no_network_natives:register"],
        path=[str(NATIVES)],
        require=["network"],
        answering=sandboxed_workers.ANSWERING,
    ) as launcher:
        monkeypatch.setattr(sandboxed_workers, "launcher", lambda: launcher)
        with pytest.raises(Unavailable, match="lacks the protection that its settings ask for: network") as caught:
            real.ask("p", READ, [b"no zip"])
    assert "vetro doctor" in str(caught.value.hint)
    assert not real._busy and not real._kept
