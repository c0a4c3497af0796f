"""Whose turn it is: `Places` for bodies that arrive slowly, and the `Lane` for large ones that are worked on."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from vetro.clouds.quotas import exceeds
from vetro.server.errors import TooMany, Unavailable
from vetro.server.serving_hosts import network_of

#: Seconds that a large body waits for those of others.
_LANE_SECONDS: Final = 20.0


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
    """One large body is worked on at a time: parsing it holds the interpreter, and takes a lot of memory."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._inside = ""
        self._waiting: set[str] = set()

    def enter(self, whose: str) -> None:
        """Waits until it is free. Raises `TooMany` where one of the same sender is in it or waits, `Unavailable`."""
        with self._free:
            if whose == self._inside or whose in self._waiting:
                raise TooMany(
                    "Another large body of this project is being worked on.",
                    hint="send one after the other",
                    details={"retry_after": 2},
                )
            self._waiting.add(whose)
            try:
                if not self._free.wait_for(lambda: not self._inside, _LANE_SECONDS):
                    raise Unavailable("Large bodies of others are being worked on.", hint="try again in a moment")
            finally:
                self._waiting.discard(whose)
            self._inside = whose

    def leave(self) -> None:
        """Lets the next one in."""
        with self._free:
            self._inside = ""
            self._free.notify()
