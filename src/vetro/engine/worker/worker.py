"""`Worker`: runs one task to its end, through deaths of its process and of the effects host.

The worker is the only one who writes the journal. For each effect it writes the intent, lets the host perform it,
writes the result, tells the host so (which then acknowledges the agent's message) and answers the task. Should the
worker itself die, another one with the same journal goes on: `vetro.engine.worker.replay` gives the recorded answers
again, and effects without result are performed again with ``adopt`` where their policy allows it, else a person is
asked (`vetro.engine.worker.decisions`). DESIGN, "Running tasks".

Commits are grouped: what arrives together is written together. Answers of effects that only read (`Answer.QUICK`) do
not wait for a commit of their own: nothing that follows from them leaves this worker before a later commit, which
holds them, too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vetro.engine.outcome import OpenEffect, Outcome
from vetro.engine.task.task import Task
from vetro.engine.version import engine_version
from vetro.engine.worker.checkpoint import EVERY_SECONDS, LARGEST_SHARE
from vetro.engine.worker.effect_kinds import Policy
from vetro.engine.worker.ends import died_too_often
from vetro.engine.worker.host_link import HostLink
from vetro.engine.worker.journal import Ended, Journal, OtherEngine, Progress
from vetro.engine.worker.ports import Events, HostPort, LeaseLost, Policies, ProcessLauncher, Step
from vetro.engine.worker.run import Run
from vetro.yaql.redact import Secrets


@dataclass(frozen=True, slots=True)
class Limits:
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
class Worker:
    """Runs ``task`` with ``journal``; `run` once, `cancel` from anywhere.

    ``launcher`` makes task processes, ``host`` performs effects. ``still_mine`` is asked before every commit, and when
    ``wake`` is set: where it says no, nothing more is written and everything ends at once. ``policies`` gives the
    policy of a kind of effect; ``step`` is for tests.
    """

    task: Task
    journal: Journal
    launcher: ProcessLauncher
    host: HostPort
    events: Events = lambda event: None
    engine: str = field(default_factory=engine_version)
    limits: Limits = field(default_factory=Limits)
    policies: Callable[[str], Policy] = field(default_factory=Policies)
    still_mine: Callable[[], bool] = lambda: True
    step: Step = lambda name, key: None
    clock: Callable[[], float] = time.time
    #: Whether events ``{"event": "spans", "spans"}`` tell when methods ran (`vetro.engine.worker.method_spans`).
    spans: bool = False

    def __post_init__(self) -> None:
        self.wake = _Wake()
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

    def require(self) -> None:
        """Raises `LeaseLost` when the task belongs to another worker now."""
        if not self.still_mine():
            raise LeaseLost(f"another worker has task '{self.task.id}' now")

    def run(self) -> Outcome:
        """Runs the task, or goes on with it, to its end; at once when the journal holds its end.

        Raises `OtherTask`, `OtherEngine`, `LeaseLost`, `HostUnavailable`; the journal is then as of its last commit.
        """
        try:
            return self._run()
        finally:
            self.wake.close()

    def _run(self) -> Outcome:
        self.step("before begin", "")
        progress = self.journal.begin(self.task.as_json(), self.engine, self.clock())
        if progress.ended is not None:
            undecided = self.undecided() if progress.ended.state == "needs_person" else []
            if progress.ended.state != "needs_person" or undecided:
                return self._outcome(progress.ended, undecided)
            progress = self._reopened(progress, progress.ended)
        self.commit()
        self.step("after begin", "")
        self.cancelled = self.cancelled or progress.cancelled
        deadline = self._deadline(progress.begun)
        link = HostLink(self, self.host)
        deaths = progress.deaths
        try:
            while True:
                self.meters.runs += 1
                ended = Run(self, link, deadline).go()
                if isinstance(ended, Ended):
                    break
                deaths += 1
                self.journal.attempt(died=True)
                self.commit()
                if deaths >= self.limits.deaths:
                    ended = died_too_often(self, ended.text, deaths)
                    break
                self.events({"event": "restarted", "what": "task", "reason": ended.text})
        except LeaseLost:
            link.close(at_once=True)
            raise
        finally:
            link.close()
        ended = replace(ended, error=self.redaction.data(ended.error))
        self._end(ended)
        return self._outcome(ended, self.undecided() if ended.state == "needs_person" else [])

    def _deadline(self, begun: float) -> float | None:
        """When the task has to be over (`time.monotonic`): a clock that is set meanwhile takes and gives no time."""
        if self.limits.timeout is None:
            return None
        return time.monotonic() + min(begun + self.limits.timeout - self.clock(), self.limits.timeout)

    def _reopened(self, progress: Progress, ended: Ended) -> Progress:
        """A person has decided. The time that this took is none of the task's. Raises `OtherEngine`."""
        if progress.engine != self.engine:
            raise OtherEngine(f"task '{self.task.id}' was begun by engine {progress.engine}, this is {self.engine}")
        waited = self.clock() - max(ended.at, progress.begun)
        begun = progress.begun + max(waited, 0.0)
        self.journal.reopen(begun)
        return replace(progress, begun=begun, ended=None)

    def _end(self, ended: Ended) -> None:
        self.step("before end", "")
        self.journal.end(ended)
        self.commit()
        self.step("after end", "")

    def undecided(self) -> list[OpenEffect]:
        """Effects without result of which only a person can say whether they were done."""
        return [
            OpenEffect(e.key, e.kind, e.about, e.begun)
            for e in self.journal.entries()
            if e.open and self.policies(e.kind) is Policy.UNSAFE
        ]

    def _outcome(self, ended: Ended, undecided: list[OpenEffect]) -> Outcome:
        reports: list[Mapping[str, Any]] = [
            {**note.args, "timestamp": note.at} for note in self.journal.notes("report")
        ]
        return Outcome(
            ended.state,  # type: ignore[arg-type]
            model=self.journal.model(),
            result=ended.result,
            error=ended.error,
            reports=reports,
            open=undecided,
            cpu_seconds=self.meters.cpu_seconds,
            pipe_bytes=self.meters.pipe_bytes,
            journal_bytes=self.journal.written,
            runs=self.meters.runs,
        )
