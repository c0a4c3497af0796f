"""The examining children: limits of time and memory, one project does not block another."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from vetro.server.catalog import examiner
from vetro.server.catalog.examiner import Pool
from vetro.server.errors import Invalid, TooMany, Unavailable


class Child:
    """A child whose answers a test decides."""

    made: list[Child] = []

    def __init__(self) -> None:
        self.closed = False
        Child.made.append(self)

    def ask(self, head: dict[str, Any], blobs: Any, seconds: float) -> Any:
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
    Child.made = []
    monkeypatch.setattr(examiner, "_Child", Child)
    found = Pool(2)
    yield found
    found.close()
    assert all(child.closed for child in Child.made)


def test_children_are_used_again(pool: Pool) -> None:
    for _ in range(3):
        assert pool.ask("p", {"answer": {"x": 1}}) == ({"x": 1}, [])
    assert len(Child.made) == 1


@pytest.mark.parametrize(("error", "text"), [(TimeoutError(), "more than 30 seconds"), (EOFError(), "more memory")])
def test_a_child_that_fails_is_replaced(pool: Pool, error: BaseException, text: str) -> None:
    with pytest.raises(Invalid, match=text):
        pool.ask("p", {"answer": error})
    assert Child.made[0].closed
    assert pool.ask("p", {"answer": {"x": 1}})[0] == {"x": 1}
    assert len(Child.made) == 2


def test_a_defect_refuses_the_package_only(pool: Pool) -> None:
    with pytest.raises(Invalid, match="nested too deeply"):
        pool.ask("p", {"answer": {"defect": "it is nested too deeply"}})
    assert not Child.made[0].closed


def test_a_project_holds_few_threads(pool: Pool, monkeypatch: Any) -> None:
    monkeypatch.setattr(examiner, "MOST_TOGETHER", examiner.MOST_WAITING + 1)
    running, go = threading.Event(), threading.Event()
    answers: list[Any] = []

    def slow() -> dict[str, Any]:
        running.set()
        assert go.wait(10)
        return {"slow": True}

    def ask(owner: str) -> threading.Thread:
        thread = threading.Thread(target=lambda: answers.append(pool.ask(owner, {"answer": slow})[0]))
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
        pool.ask("greedy", {"answer": {}})
    assert caught.value.details == {"retry_after": 10}
    assert pool.ask("other", {"answer": {"x": 1}})[0] == {"x": 1}
    running.clear()
    threads.append(ask("second"))
    assert running.wait(10)
    threads.append(ask("third"))
    waiting(examiner.MOST_WAITING + 1)
    with pytest.raises(Unavailable, match="many packages"):
        pool.ask("fourth", {"answer": {}})
    go.set()
    for thread in threads:
        thread.join(10)
    assert answers == [{"slow": True}] * len(threads) and not pool._waiting


def _soon(pool: Pool, count: int) -> bool:
    """Waiters give the lock away only while they wait, so they are counted soon."""
    end = time.monotonic() + 10
    while pool._waiting.total() != count and time.monotonic() < end:
        pool._free.wait(0.01)
    return pool._waiting.total() == count


def test_a_project_occupies_one_child(pool: Pool) -> None:
    running, go = threading.Event(), threading.Event()

    def slow() -> dict[str, Any]:
        running.set()
        assert go.wait(10)
        return {"slow": True}

    asking = threading.Thread(target=lambda: pool.ask("greedy", {"answer": slow}))
    asking.start()
    assert running.wait(10)
    assert pool.ask("other", {"answer": {"x": 1}})[0] == {"x": 1}
    with pytest.raises(Unavailable):
        pool.ask("greedy", {"answer": {"x": 1}}, seconds=0.05)
    go.set()
    asking.join()
    assert pool.ask("greedy", {"answer": {"x": 2}})[0] == {"x": 2}


def test_a_real_child_is_killed_when_it_takes_too_long() -> None:
    pool = Pool(1)
    try:
        limits = {"archive": 1, "entries": 1, "file": 1, "total": 1, "ratio": 1}
        with pytest.raises(Invalid, match="more than 0 seconds"):
            pool.ask("p", {"op": "read", "location": "x", "strict": True, "limits": limits}, [b"x" * 9_000_000], 0.0)
        assert pool._idle == []
        answer, _ = pool.ask("p", {"op": "read", "location": "x", "strict": True, "limits": limits}, [b"no zip"])
        assert answer["facts"]["refused"][0]["code"] == "PKG130"
    finally:
        pool.close()


def test_children_get_no_secrets_of_the_service(monkeypatch: Any) -> None:
    monkeypatch.setenv("VETRO_DATABASE__URL", "postgresql://u:secret@h/d")
    child = examiner._Child()
    try:
        with open(f"/proc/{child._process.pid}/environ", "rb") as file:
            assert b"secret" not in file.read()
    finally:
        child.close()
