"""Processes below `vetro serve` that end: how long each is missing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from vetro.server.http import processes
from vetro.server.http.processes import Child


class Clock:
    """The time, and processes that end so many seconds after their start."""

    def __init__(self, lives: float) -> None:
        self.now = 1000.0
        self.lives = lives
        self.starts: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def popen(self, *_: object, **__: object) -> SimpleNamespace:
        began = self.now
        self.starts.append(began)
        return SimpleNamespace(poll=lambda: -9 if self.now >= began + self.lives else None)


def missing(monkeypatch: pytest.MonkeyPatch, lives: float, times: int) -> list[float]:
    """Seconds from each end to the next start, by a parent that looks ten times a second."""
    clock = Clock(lives)
    monkeypatch.setattr(processes, "time", clock)
    monkeypatch.setattr(processes.subprocess, "Popen", clock.popen)
    child = Child("worker", ["-c", ""], {})
    child.start()
    while len(clock.starts) <= times:
        clock.now = round(clock.now + 0.1, 1)
        child.look()
    ends = [start + lives for start in clock.starts]
    return [round(start - end, 1) for end, start in zip(ends, clock.starts[1:], strict=False)]


def test_one_that_is_killed_again_and_again_is_missed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tasks wait for it where it is the only worker."""
    assert max(missing(monkeypatch, lives=12.0, times=20)) < 1.0


def test_one_that_cannot_run_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    found = missing(monkeypatch, lives=1.0, times=12)
    assert max(found[:3]) < 1.0
    assert found[3:7] == sorted(found[3:7]) and found[-1] >= 30.0
