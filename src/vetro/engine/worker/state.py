"""What a worker has and what its parts see of it: the task, its journal, the ways out, and whether it is cancelled."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import field, replace

from vetro.data_classes import dataclass
from vetro.engine.effect_kinds import Policy
from vetro.engine.task.task import Task
from vetro.engine.version import engine_version
from vetro.engine.worker.checkpoint import EVERY_SECONDS, LARGEST_SHARE
from vetro.engine.worker.commits import Commits
from vetro.engine.worker.journal import Ended, Journal
from vetro.engine.worker.ports import Events, HostPort, LeaseLost, Policies, ProcessLauncher, Step
from vetro.yaql.redact import Secrets


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """How patient a worker is."""

    #: Seconds after the task began when it is cancelled; None: never.
    timeout: float | None = None
    #: How often the task process may die before the task has failed.
    deaths: int = 3
    #: How often the host may die during one call of `Worker.run`.
    host_deaths: int = 5
    checkpoint_seconds: float = EVERY_SECONDS
    checkpoint_share: float = LARGEST_SHARE
    #: Reports, log lines and the like that a task may write, and their characters.
    notes: int = 100_000
    note_characters: int = 64 << 20
    #: Effects that a task may ask for: each leaves a row in the journal.
    effects: int = 100_000
    #: Seconds of silence in a replay after which the task is asked whether it waits for something else.
    stall_seconds: float = 10.0


@dataclass(slots=True)
class Meters:
    """What a worker counts."""

    cpu_seconds: float = 0.0
    pipe_bytes: int = 0
    runs: int = 0


class _Wake:
    """Ends a wait from another thread or a signal handler."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock = threading.RLock()

    def fileno(self) -> int:
        return self._fd

    def set(self) -> None:
        with self._lock:
            if self._fd >= 0:
                os.eventfd_write(self._fd, 1)

    def clear(self) -> None:
        try:
            os.eventfd_read(self._fd)
        except BlockingIOError:
            pass

    def close(self) -> None:
        with self._lock:
            os.close(self._fd)
            self._fd = -1


@dataclass
class WorkerState:
    """The state of one run of a task."""

    task: Task
    journal: Journal
    launcher: ProcessLauncher
    host: HostPort
    events: Events = lambda event: None
    engine: str = field(default_factory=engine_version)
    limits: WorkerLimits = field(default_factory=WorkerLimits)
    policies: Callable[[str], Policy] = field(default_factory=Policies)
    still_mine: Callable[[], bool] = lambda: True
    step: Step = lambda name, key: None
    clock: Callable[[], float] = time.time
    #: Whether events ``{"event": "spans", "spans"}`` tell when methods ran (`vetro.engine.task.method_spans`).
    spans: bool = False
    #: Whether the outcome has the reports: they are read back from the journal.
    reports: bool = True
    #: Whether the host is started before the task, and not with its first effect: a plan is told from what it writes.
    host_first: bool = False
    #: Whether who runs this commits the end of a task without a host, with all that is not committed yet and with what
    #: the end means elsewhere, and calls `Worker.end_is_stored` then.
    leaves_end: bool = False

    def __post_init__(self) -> None:
        self.wake = _Wake()
        #: What waits for the end to be committed (`leaves_end`).
        self.left: Commits | None = None
        self.cancelled: str | None = None
        self.meters = Meters()
        #: What the task process has found to be secret.
        self.redaction = Secrets()

    def cancel(self, reason: str = "the task was cancelled") -> None:
        """Ends the task: its Finally blocks run, then its model is stored. From any thread, also signal handlers."""
        if self.cancelled is None:
            self.cancelled = reason
        self.wake.set()

    def commit(self) -> None:
        """Makes what was written durable. Raises `LeaseLost` when the task belongs to another worker now."""
        self.require()
        self.journal.commit()

    def write_end(self, ended: Ended) -> Ended:
        """Writes the end, durable with the next commit. Gives it as it was written: without what is secret."""
        ended = replace(ended, error=self.redaction.data(ended.error))
        self.step("before end", "")
        self.journal.end(ended)
        return ended

    def require(self) -> None:
        """Raises `LeaseLost` when the task belongs to another worker now."""
        if not self.still_mine():
            raise LeaseLost(f"another worker has task '{self.task.id}' now")
