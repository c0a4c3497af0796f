"""`MuranoExecution`: budgets, clock and chance of a session, and the trap that serves locks, time and cancellation."""

from __future__ import annotations

import random
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Any, Protocol

from vetro.muranopl.errors import NestingLimit
from vetro.yaql.context import Execution, Limits
from vetro.yaql.errors import Cancelled, StepsExceeded, Stop, TimeExceeded

#: Steps handed out at once: in between nobody looks whether another thread has cancelled the run.
GRANT = 250_000

_UNTIMED: AbstractContextManager[Any] = nullcontext()
_SWITCHING = frozenset(f"vetro.muranopl.{name}" for name in ("branches", "locks", "outside", "scheduler"))


def _switching(frame: FrameType) -> bool:
    """Whether the code of ``frame`` moves from branch to branch: it cannot be interrupted."""
    return frame.f_globals.get("__name__") in _SWITCHING


class Clock(Protocol):
    """The task's time."""

    #: Whether waiting on it takes real time.
    real: bool

    def now(self) -> float:
        """Seconds since the epoch."""

    def advance(self, seconds: float) -> None:
        """Lets so much time pass."""


class RealClock:
    """The machine's clock."""

    real = True

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def advance(self, seconds: float) -> None:
        """Sleeps."""
        time.sleep(seconds)


class VirtualClock:
    """A clock that jumps: nothing waits in tests."""

    real = False

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        """Seconds since the epoch, on this clock."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Moves the clock forward at once."""
        self._now += seconds


class MuranoExecution(Execution):
    """`steps` falls below zero when the budget is used up, or on purpose: then every method entry comes to `slow`."""

    def __init__(self, limits: Limits | None = None, *, clock: Clock | None = None, seed: int | str = 0) -> None:
        super().__init__(limits, rng=random.Random(seed))
        self.task_clock: Clock = clock or RealClock()
        self.clock = self.task_clock.now
        memory = self.limits.max_expression_memory
        self.max_text = memory if memory is not None else sys.maxsize
        self._remaining = self.limits.max_steps
        self._concurrent = False
        self._cancelled: str | None = None
        self._overdue = False
        self._stopped: Stop | None = None
        self.scheduler: Any = None
        self._arm()

    # -- the trap ------------------------------------------------------------------------------------------------------

    @property
    def _trapped(self) -> bool:
        return self._concurrent or self._overdue or self._cancelled is not None or self.limits.max_calls is not None

    def _arm(self) -> None:
        self._granted = self.steps = -1 if self._trapped else min(self._remaining, GRANT)

    def _settle(self) -> None:
        """Takes what was used since the last look from ``_remaining``."""
        self._remaining -= self._granted - self.steps
        self._granted = self.steps

    def steps_left(self) -> int:
        """What remains of the budget."""
        self._settle()
        return self._remaining

    def set_concurrent(self, value: bool) -> None:
        """More than one branch is live: methods must look for locks."""
        if value != self._concurrent:
            self._settle()
            self._concurrent = value
            self._arm()

    def cancel(self, reason: str = "the task was cancelled") -> None:
        """Stops the run at its next step or effect. May be called from any thread and from signal handlers."""
        self._cancelled = reason
        self._settle()
        self._arm()
        if self.scheduler is not None:
            self.scheduler.wake()

    def check(self) -> None:
        """Raises `Cancelled` or `TimeExceeded` when the run is to stop."""
        if self._cancelled is not None:
            raise Cancelled(self._cancelled)
        if self._overdue:
            raise self._stop(TimeExceeded, f"the run used up its {self.limits.max_seconds:g} seconds")

    def clocked(self) -> AbstractContextManager[Any]:
        """The context in which `Limits.max_seconds` count; entered when outside code enters the engine."""
        self._stopped = None
        if self._overdue:
            self._settle()
            self._overdue = False
            self._arm()
        seconds = self.limits.max_seconds
        if seconds is None:
            return _UNTIMED
        from vetro.yaql.alarm import Alarm  # threads and ctypes: only where there is a limit

        return Alarm(seconds, self._expire, _switching)

    def _expire(self) -> None:
        self._settle()
        self._overdue = True
        self._arm()
        if self.scheduler is not None:
            self.scheduler.wake()

    def slow(self, receiver: Any = None, key: Any = None) -> None:
        """Decides why ``steps`` is negative: cancellation, an empty budget, calls to count, locks to take."""
        self._settle()
        self._arm()
        self.check()
        if self._remaining < 0:
            raise self._stop(StepsExceeded, f"the run used up its {self.limits.max_steps:,} steps")
        if key is None:
            return
        frame = sys._getframe(1)
        if self.limits.max_calls is not None:
            self._count_calls(frame, self.limits.max_calls)
        if self._concurrent:
            self.scheduler.enter(receiver, key, frame)

    def _stop(self, kind: type[Stop], text: str) -> Stop:
        """Always the same error: thousands of Finally blocks that meet another one would chain them all up."""
        if self._stopped.__class__ is not kind:
            self._stopped = kind(text)
        return self._stopped

    def _count_calls(self, frame: Any, limit: int) -> None:
        depth = 0
        while frame is not None:
            space = frame.f_globals
            if "__lock__" in space and space.get("__code__") is frame.f_code:
                depth += 1
            frame = frame.f_back
        if depth > limit:
            raise NestingLimit(f"method calls are nested deeper than {limit} levels")
