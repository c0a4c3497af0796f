"""One lock for each thing, for as long as somebody uses it: drivers never get two calls for one at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Alone:
    """The locks of one process, by the names of things."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[threading.RLock, list[int]]] = {}
        self._guard = threading.Lock()

    @contextmanager
    def __call__(self, thing: str) -> Iterator[None]:
        """Holds the lock of a thing."""
        with self._guard:
            lock, users = self._locks.setdefault(thing, (threading.RLock(), [0]))
            users[0] += 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                users[0] -= 1
                if not users[0]:
                    self._locks.pop(thing, None)
