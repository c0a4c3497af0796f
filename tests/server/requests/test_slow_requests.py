"""Requests that wait: one project never holds all threads of a process."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from vetro.server.errors import TooMany
from vetro.server.requests import slow_requests
from vetro.server.requests.slow_requests import held


class Waiting:
    """Threads that wait in the name of projects until the end of the test."""

    def __init__(self) -> None:
        self._end = threading.Event()
        self._threads: list[threading.Thread] = []
        self.refused: list[TooMany] = []

    def come(self, project: str) -> bool:
        """One more; False when it is refused."""
        inside = threading.Event()

        def stay() -> None:
            try:
                with held(project):
                    inside.set()
                    self._end.wait(60)
            except TooMany as error:
                self.refused.append(error)
                inside.set()

        before = len(self.refused)
        self._threads.append(threading.Thread(target=stay))
        self._threads[-1].start()
        assert inside.wait(30)
        return len(self.refused) == before

    def go(self) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(30)


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waiting]:
    monkeypatch.setattr(slow_requests, "_most", lambda: 3)
    monkeypatch.setattr(slow_requests, "_connected", lambda: math.inf)
    made = Waiting()
    yield made
    made.go()


def test_one_project_does_not_hold_all_threads(waiting: Waiting) -> None:
    assert [waiting.come("hog") for _ in range(5)] == [True, True, True, False, False]
    assert waiting.refused[0].details == {"retry_after": 2}
    # The first of another project gets in all the same, the second one has to come again.
    assert [waiting.come("other"), waiting.come("third"), waiting.come("other")] == [True, True, False]
    waiting.go()
    with held("hog"), held("hog"):
        assert slow_requests._holding == {"hog": 1}
    assert not slow_requests._holding


def test_event_streams_hold_threads_too(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_requests, "open_streams", lambda: 2)
    assert [waiting.come("hog"), waiting.come("hog")] == [True, False]


def test_a_place_is_free_again_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_requests, "_most", lambda: 1)
    for _ in range(3):
        with ExitStack() as stack, pytest.raises(ValueError, match="x"):
            stack.enter_context(held("hog"))
            raise ValueError("x")
        stack.close()
        assert not slow_requests._holding


def test_half_of_the_threads_for_requests_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    for threads, streams, most in ((16, 32, 40), (2, 1, 2)):
        monkeypatch.setattr(
            slow_requests, "config", lambda t=threads, s=streams: {"server.threads": t, "server.streams": s}
        )
        assert slow_requests._most() == most


def test_connections_are_left_too(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_requests, "_connected", lambda: 2)
    assert [waiting.come("hog") for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("pool", "sqlite", "most"), [(20, False, 15), (1, False, 0), (0, False, math.inf), (20, True, math.inf)]
)
def test_a_quarter_of_the_connections_is_left(
    monkeypatch: pytest.MonkeyPatch, pool: int, sqlite: bool, most: float
) -> None:
    monkeypatch.setattr(slow_requests, "config", lambda: {"database.pool": pool})
    monkeypatch.setattr(slow_requests, "on_sqlite", lambda: sqlite)
    assert slow_requests._connected() == most
