"""How long a comparison may take: all of it, and each member of a class."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from vetro.muranopl.runtime.execution import switching
from vetro.yaql.alarm import Alarm
from vetro.yaql.errors import TimeExceeded

T = TypeVar("T")
#: The part of the whole time that one member may take.
_SHARE = 0.2


class TimeLimits:
    """The time of one comparison, on the clock of walls. ``runs``: executions whose code is stopped at its end."""

    def __init__(self, seconds: float, runs: Sequence[Any]) -> None:
        self._each = seconds * _SHARE
        self._until = time.monotonic() + seconds
        self._runs = runs
        #: Whether something was left out, since no time was left.
        self.over = False

    def within(self, find: Callable[[], Iterable[T]], late: Callable[[], T]) -> Iterator[T]:
        """What ``find`` gives, or ``late`` where it took too long; nothing, once the time for all is over."""
        left = self._until - time.monotonic()
        if left <= 0:
            self.over = True
            return
        try:
            with Alarm(min(left, self._each), self._expire, switching):
                found = list(find())
        except (TimeExceeded, RecursionError):
            found = [late()]
        finally:
            for run in self._runs:
                run.pardon()
        yield from found

    def _expire(self) -> None:
        for run in self._runs:
            run.expire("comparing took too long")
