"""A project whose cloud is slow keeps only itself waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from vetro.clouds.interface import Owner
from vetro.server.forms import cloud_lists
from vetro.server.forms.concurrency import FairPool, Full

PATIENCE = 30.0


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Slow clouds answer when it is set."""
    found = threading.Event()
    yield found
    found.set()


def test_one_project_has_only_its_share(gate: threading.Event) -> None:
    pool, began = FairPool(3, 2, 4, "test"), threading.Semaphore(0)

    def slow(number: int) -> int:
        began.release()
        assert gate.wait(PATIENCE)
        return number

    waiting = [pool.submit("slow", lambda number=number: slow(number)) for number in range(6)]
    assert all(began.acquire(timeout=PATIENCE) for _ in range(2))
    assert [pool.submit("other", lambda: "here").result(PATIENCE) for _ in range(3)] == ["here"] * 3
    assert not began.acquire(blocking=False)
    with pytest.raises(Full):
        pool.submit("slow", lambda: None)
    gate.set()
    assert [future.result(PATIENCE) for future in waiting] == list(range(6))
    assert pool.submit("slow", lambda: "again").result(PATIENCE) == "again"


def test_what_fails_or_is_cancelled_holds_no_place(gate: threading.Event) -> None:
    pool = FairPool(2, 1, 9, "test")
    first = pool.submit("p", lambda: gate.wait(PATIENCE))
    failing, cancelled, last = (pool.submit("p", do) for do in (lambda: 1 // 0, lambda: 2, lambda: 3))
    assert cancelled.cancel()
    gate.set()
    assert first.result(PATIENCE) is True and last.result(PATIENCE) == 3
    with pytest.raises(ZeroDivisionError):
        failing.result(PATIENCE)


def test_pickers_of_others_are_filled_while_a_cloud_is_slow(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_cloud(owner: Owner, do: Any, own: Any = None) -> Any:
        assert owner.project != "slow" or gate.wait(PATIENCE)
        return do(owner)

    monkeypatch.setattr(cloud_lists, "_pools", {})
    monkeypatch.setattr(cloud_lists, "_with_cloud", with_cloud)
    slow = [
        cloud_lists.ask(Owner("slow", "forms", "forms"), lambda _: 1)
        for _ in range(cloud_lists._SHARE + cloud_lists._WAITING)
    ]
    for number in range(10):
        assert cloud_lists.ask(Owner(f"p{number}", "forms", "forms"), lambda _: 2).result(PATIENCE) == 2
    with pytest.raises(cloud_lists.ListUnavailable, match="too much of this project"):
        cloud_lists.ask(Owner("slow", "forms", "forms"), lambda _: 1).result(PATIENCE)
    gate.set()
    assert [future.result(PATIENCE) for future in slow] == [1] * len(slow)
