"""`Outcome`: how a run of a task ended, for those who show it and those who store it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from vetro.data_classes import dataclass

#: ``done``: it ran to its end. ``failed``: the package or the task process failed. ``cancelled``: somebody (or its
#: deadline) ended it, and its Finally blocks have run. ``killed``: it was cancelled and did not end in time.
#: ``diverged``: run again, it asked for other effects than before. ``needs_person``: an effect may or may not have
#: happened, see `Outcome.open` and `vetro.engine.worker.decisions.resolve`.
State = Literal["done", "failed", "cancelled", "killed", "diverged", "needs_person"]


@dataclass(frozen=True, slots=True)
class OpenEffect:
    """An effect of which only a person can say whether it was done."""

    key: str
    kind: str
    args: Mapping[str, Any]
    begun: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a task."""

    state: State
    #: The model at the end; of a task that could not give one, the last checkpoint; None when there was none.
    model: Mapping[str, Any] | None = None
    #: What the method returned, as plain data.
    result: Any = None
    #: ``{kind, code, message, ...}`` as the task process or the worker describes it; None when ``done``.
    error: Mapping[str, Any] | None = None
    #: Arguments of the reports in the order in which they were stored.
    reports: Sequence[Mapping[str, Any]] = ()
    open: Sequence[OpenEffect] = ()
    #: Processor time of the task process, in seconds; only of runs by this worker.
    cpu_seconds: float = 0.0
    #: Bytes over the pipe of the task process, both ways, and into the journal; only of runs by this worker.
    pipe_bytes: int = 0
    journal_bytes: int = 0
    #: How many task processes this worker started for it.
    runs: int = 0
