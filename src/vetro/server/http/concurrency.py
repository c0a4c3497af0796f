"""Whose turn it is: `Places` for bodies that arrive slowly, and the `Lane` of requests that are large."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from vetro.clouds.quotas import exceeds
from vetro.server.errors import TooMany, Unavailable
from vetro.server.requests.host_names import network_of

#: Seconds that a large request waits for others, and how many of them wait: of one project, and of all.
_LANE_SECONDS: Final = 30.0
_EACH, _TOGETHER = 3, 6


def whose(environ: Mapping[str, Any]) -> str:
    """For whom a request counts: its project, or the address of somebody who is not signed in."""
    caller = environ.get("vetro.caller")
    if caller is None:
        return f"address {network_of(str(environ.get('REMOTE_ADDR', '')))}"
    return f"project {caller.project_id}"


class Places:
    """``total`` places, of which nobody has more than ``each``, or than is said when he takes one. Strangers together
    have not more than half, and the last quarter is for those who have none."""

    def __init__(self, total: int, each: int) -> None:
        self._total, self._each = total, each
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()
        self._strangers = 0

    @property
    def taken(self) -> int:
        """How many are held."""
        return self._held.total()

    def take(self, whose: str, stranger: bool, each: int | None = None) -> None:
        """Takes one; ``each``: of at most so many of his, -1 of all. Raises `Unavailable`."""
        own = self._each if each is None else each
        with self._lock:
            mine, all_of_them = self._held[whose], self._held.total()
            most = self._total - self._total // 4 if mine else self._total
            if (
                exceeds(own, mine, 1)
                or all_of_them >= most
                or (stranger and self._strangers >= max(self._total // 2, 1))
            ):
                raise Unavailable(
                    "Too many bodies are being received.",
                    hint="send fewer at the same time, and without pauses",
                    details={"retry_after": 2},
                )
            self._held[whose] += 1
            self._strangers += stranger

    def give(self, whose: str, stranger: bool) -> None:
        """Gives one back."""
        with self._lock:
            self._held[whose] -= 1
            self._strangers -= stranger
            if not self._held[whose]:
                del self._held[whose]


class Lane:
    """One large request of a process is answered at a time. Projects take turns, and each has few that wait: they hold
    threads."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._inside = False
        self._last = ""
        #: Who waits, the one that came first at the front.
        self._waiting: list[tuple[str, object]] = []

    @contextmanager
    def turn(self, whose: str) -> Iterator[None]:
        """Within it, nobody else is. Raises `TooMany`, or `Unavailable` where others take too long."""
        self._enter(whose)
        try:
            yield
        finally:
            with self._free:
                self._inside = False
                self._free.notify_all()

    def _enter(self, whose: str) -> None:
        own = (whose, object())
        with self._free:
            mine = sum(name == whose for name, _ in self._waiting)
            if mine >= _EACH or (mine and len(self._waiting) >= _TOGETHER):
                raise TooMany(
                    "Other large requests of this project are being answered.",
                    hint="send one after the other",
                    details={"retry_after": 2},
                )
            self._waiting.append(own)
            try:
                if not self._free.wait_for(lambda: not self._inside and self._next() is own, _LANE_SECONDS):
                    raise Unavailable("Large requests of others are being answered.", hint="try again in a moment")
                self._inside, self._last = True, whose
            finally:
                self._waiting.remove(own)
                self._free.notify_all()

    def _next(self) -> tuple[str, object]:
        """Whose turn it is: the first one of another project than the last time."""
        return next((one for one in self._waiting if one[0] != self._last), self._waiting[0])
