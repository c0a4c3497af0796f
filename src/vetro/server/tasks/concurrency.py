"""`ConcurrencyLimit`: how many questions are answered at once, fairly between projects."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from vetro.diagnostics import Text
from vetro.server.errors import Unavailable

#: So many times the usual number may be answered at once when each is of another project.
_OVERFLOW = 4


class ConcurrencyLimit:
    """At most ``most`` at once. The first question of a project does not wait for those of others: only when there are
    several times ``most`` projects. So whoever asks endless questions waits for nobody but himself.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._running: Counter[str] = Counter()
        self._waiting: list[tuple[str, object]] = []

    @contextmanager
    def entered(self, project: str, seconds: float) -> Iterator[None]:
        """One question of a project. Raises `Unavailable` when it is not its turn within ``seconds``."""
        mark = object()
        until = time.monotonic() + seconds
        with self._changed:
            self._waiting.append((project, mark))
            try:
                while not self._may(project, mark):
                    left = until - time.monotonic()
                    if left <= 0:
                        raise Unavailable(
                            Text("Too many questions of this project are being answered."),
                            hint=Text("try again in a moment"),
                        )
                    self._changed.wait(left)
            finally:
                self._waiting.remove((project, mark))
            self._running[project] += 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._running[project] -= 1
                if not self._running[project]:
                    del self._running[project]
                self._changed.notify_all()

    def _may(self, project: str, mark: object) -> bool:
        first = next(m for p, m in self._waiting if p == project)
        if first is not mark:
            return False
        total = self._running.total()
        if not self._running[project]:
            return total < self._most * _OVERFLOW
        others = any(p != project and not self._running[p] for p, _ in self._waiting)
        return total < self._most and not others
