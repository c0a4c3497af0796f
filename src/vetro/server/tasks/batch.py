"""`Batch`: work of an app, as a worker knows it while it runs it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from vetro.diagnostics import Text
from vetro.engine.worker.ports import LeaseLost


class Batch:
    """Work of an app, as far as `TaskRunner` has to do with it: see `vetro.engine.worker.worker.Worker`."""

    def __init__(self, lost: Callable[[], bool]) -> None:
        self.wake = threading.Event()
        self._lost = lost
        self._reason: str | None = None

    def cancel(self, reason: str) -> None:
        """It is to end at its next look."""
        self._reason = self._reason or reason

    def stopped(self) -> str | None:
        """Why it is to end. Raises `LeaseLost`."""
        if self._lost():
            raise LeaseLost(Text("another worker has the task now"))
        return self._reason
