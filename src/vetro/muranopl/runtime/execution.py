"""`MuranoExecution`: budgets, clock, randomness of a session, and the trap that serves locks, time, cancellation."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Any, Protocol

from vetro.muranopl.errors import NestingLimit
from vetro.yaql.context import Execution, Limits
from vetro.yaql.errors import Cancelled, StepsExceeded, Stop, TimeExceeded

#: Steps handed out at once: in between nobody looks whether another thread has cancelled the run.
GRANT = 250_000
#: Calls of methods between two looks at messages while several branches are live.
CALLS_PER_LOOK = 2_000
#: Steps for what ends a run that was stopped.
PARDON = 1_000_000_000

_UNTIMED: AbstractContextManager[Any] = nullcontext()
_SWITCHING = frozenset(
    f"vetro.muranopl.runtime.{name}" for name in ("branches", "locks", "outside", "posted", "scheduler")
)


def switching(frame: FrameType) -> bool:
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


class EffectClock:
    """Time as the host tells it: looking at it is an effect ``clock``, waiting an effect ``sleep``.

    `bind` gives it the session's way of performing effects; before that it cannot be read.
    """

    real = True

    def __init__(self) -> None:
        self._perform: Callable[[str, dict[str, Any]], Any] | None = None

    def bind(self, perform: Callable[[str, dict[str, Any]], Any]) -> None:
        """``perform(kind, args)`` is how the session performs an effect."""
        self._perform = perform

    def now(self) -> float:
        """Seconds since the epoch, as the host says."""
        assert self._perform is not None
        return float(self._perform("clock", {}))

    def sleep(self, seconds: float) -> None:
        """Returns when the host says that the time is over."""
        assert self._perform is not None
        self._perform("sleep", {"seconds": seconds})

    advance = sleep


class MuranoExecution(Execution):
    """`steps` falls below zero when the budget is used up, or on purpose: then every method entry comes to `slow`."""

    def __init__(self, limits: Limits | None = None, *, clock: Clock | None = None, seed: int | str = 0) -> None:
        super().__init__(limits)
        self.begin(limits, clock=clock, seed=seed)

    def begin(self, limits: Limits | None = None, *, clock: Clock | None = None, seed: int | str = 0) -> None:
        """Full budgets, and nothing of a run before: compiled code that holds this object takes part in a new one."""
        self.limits = limits or Limits()
        self.rng = random.Random(seed)
        self.task_clock: Clock = clock or RealClock()
        self.clock = self.task_clock.now
        memory = self.limits.max_expression_memory
        self.max_text = memory if memory is not None else sys.maxsize
        self._remaining = self.limits.max_steps
        self._concurrent = False
        self._cancelled: str | None = None
        self._overdue = False
        self._stopped: Stop | None = None
        self._overdue_text = f"the run used up its {self.limits.max_seconds or 0:g} seconds"
        #: Called now and then while package code runs: hosts look for messages.
        self.look: Callable[[], None] | None = None
        self._calls_to_look = 0
        #: After a cancellation only the first step raises; the `Finally` blocks that follow run. Effects stay refused.
        self.finally_runs = False
        self._told = False
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

    @property
    def concurrent(self) -> bool:
        """Whether methods look for locks."""
        return self._concurrent

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
            self._told = True
            raise Cancelled(self._cancelled)
        if self._overdue:
            raise self._stop(TimeExceeded, self._overdue_text)

    def expire(self, text: str) -> None:
        """Makes the run raise `TimeExceeded` with that text at its next step or effect. For signal handlers."""
        self._overdue_text = text
        self._expire()

    def told(self) -> None:
        """An effect has ended the run by `Cancelled`: with `finally_runs` its steps need not do that again."""
        self._told = True

    def pardon(self) -> None:
        """Lets a run that was stopped go on to its end: serialising what there is. Gives it some more steps."""
        self._settle()
        self._cancelled = self._stopped = None
        self._overdue = self._told = False
        self._remaining = max(self._remaining, PARDON)
        self._arm()

    def clocked(self) -> AbstractContextManager[Any]:
        """The context in which `Limits.max_seconds` count; entered when outside code enters the engine."""
        self._stopped = None
        self._told = False
        if self._overdue:
            self._settle()
            self._overdue = False
            self._arm()
        seconds = self.limits.max_seconds
        if seconds is None:
            return _UNTIMED
        from vetro.yaql.alarm import Alarm  # threads and ctypes: only where there is a limit

        return Alarm(seconds, self._expire, switching)

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
        if self.look is not None:
            self._look()
        if not (self._told and self.finally_runs and not self._overdue):
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

    def _look(self) -> None:
        """Lets the host look for messages: each time when we come here once in many steps, else now and then."""
        self._calls_to_look -= 1 if self._trapped else CALLS_PER_LOOK
        if self._calls_to_look <= 0:
            self._calls_to_look = CALLS_PER_LOOK
            assert self.look is not None
            self.look()

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
