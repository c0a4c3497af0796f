"""What a worker knows of a task while it runs it: `Batch`, work of an app, and `Ending`, how it comes to its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vetro.diagnostics import Text
from vetro.engine.worker.ports import LeaseLost
from vetro.server.tasks.journal import DbJournal


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


@dataclass
class Ending:
    """What the end of a task is written with."""

    #: Of it, what is not committed yet is written with the end.
    journal: DbJournal | None = None
    #: Called when the end is stored.
    stored: Callable[[], None] = lambda: None
    #: What `vetro.engine.task.method_spans` found.
    methods: list[Any] = field(default_factory=list)

    def close(self) -> None:
        """What was not written is forgotten."""
        if self.journal is not None:
            self.journal.close()
