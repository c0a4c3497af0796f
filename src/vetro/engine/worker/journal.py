"""What a journal keeps of a task, so that a task whose process, host or worker died goes on where it was.

A journal holds the task itself (start model included), one *entry* for each effect (intent, then result), one *note*
for each effect that nobody waits for (reports, log lines), the newest checkpoint, and how the task ended. Writing
methods collect; `Journal.commit` makes everything collected so far durable at once and in order, so whoever finds a
later write also finds the earlier ones. `vetro.server.tasks.journal` has the implementation; decision 0009
says why it is made so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from vetro.data_classes import dataclass
from vetro.yaql.errors import VetroError


class JournalError(VetroError):
    """A journal cannot be used as asked."""

    kind = "invalid-operation"
    code = "ENG330"


class OtherTask(JournalError):
    """The journal holds a task with this id that began with other data."""

    code = "ENG331"
    hint = "give the new task an id of its own"


class OtherEngine(JournalError):
    """Another version of the engine began this task; only the same one may continue it."""

    code = "ENG332"
    hint = "retry the task: a new deployment that starts from the last checkpoint"


class NoSuchTask(JournalError):
    """The journal holds no task with this id."""

    code = "ENG333"


class NotOpen(JournalError):
    """There is no effect with this key that waits for a decision."""

    code = "ENG334"


@dataclass(frozen=True, slots=True)
class RecordedEffect:
    """One effect of a task."""

    key: str
    kind: str
    #: Digest of the arguments (`vetro.muranopl.runtime.effects.digest`).
    digest: str
    #: What a person needs to recognise it: short arguments; all of them where only a person can decide.
    about: Mapping[str, Any]
    #: Seconds since the epoch when the intent was written.
    begun: float
    #: Its number among the results, from 1; None while the result is not known.
    place: int | None = None
    answer: Any = None
    #: ``{kind, message, names}`` of the error it was answered with.
    error: Mapping[str, Any] | None = None
    ended: float | None = None

    @property
    def open(self) -> bool:
        """Whether the effect was begun and nobody knows its end."""
        return self.place is None


@dataclass(frozen=True, slots=True)
class Note:
    """One effect nobody waits for: a report, a log line, statistics."""

    key: str
    kind: str
    args: Mapping[str, Any]
    digest: str
    at: float


@dataclass(frozen=True, slots=True)
class Ended:
    """How a task ended; see `vetro.engine.outcome.Outcome` for the states."""

    state: str
    result: Any = None
    error: Mapping[str, Any] | None = None
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """What is known of a task besides its effects."""

    task: Mapping[str, Any]
    engine: str
    begun: float
    #: How often a task process was started for it.
    attempts: int = 0
    #: How many of them died without being told to.
    deaths: int = 0
    #: Why somebody cancelled it; None when nobody did.
    cancelled: str | None = None
    ended: Ended | None = field(default=None)


class Journal(Protocol):
    """The journal of one task. Used by one worker at a time; readers may look meanwhile."""

    #: Bytes of data handed to the journal by this object.
    written: int

    def begin(self, task: Mapping[str, Any], engine: str, at: float) -> Progress:
        """Writes down the task, or finds it. Raises `OtherTask`, `OtherEngine`."""
        ...  # pragma: no cover - protocol

    def progress(self) -> Progress:
        """What is known of the task. Raises `NoSuchTask`."""
        ...  # pragma: no cover - protocol

    def attempt(self, *, died: bool = False) -> None:
        """A task process begins, or (``died``) has ended by itself."""
        ...  # pragma: no cover - protocol

    def cancel(self, reason: str) -> None:
        """Somebody wants the task to end. The first reason stays."""
        ...  # pragma: no cover - protocol

    def intent(self, entry: RecordedEffect) -> None:
        """An effect is about to be performed."""
        ...  # pragma: no cover - protocol

    def result(self, key: str, answer: Any, error: Mapping[str, Any] | None, at: float) -> int:
        """The effect ended; its place among the results."""
        ...  # pragma: no cover - protocol

    def forget(self, key: str) -> None:
        """Removes an intent without result: the effect is asked anew. Raises `NotOpen`."""
        ...  # pragma: no cover - protocol

    def note(self, note: Note) -> None:
        """Stores an effect nobody waits for; nothing when its key is stored already."""
        ...  # pragma: no cover - protocol

    def checkpoint(self, model: Mapping[str, Any], at: float) -> None:
        """The model as it is now; replaces the one before."""
        ...  # pragma: no cover - protocol

    def end(self, ended: Ended) -> None:
        """The task is over."""
        ...  # pragma: no cover - protocol

    def reopen(self, begun: float) -> None:
        """A task that ended because a person was to decide may go on, as if it had begun at ``begun``."""
        ...  # pragma: no cover - protocol

    def commit(self) -> None:
        """Makes what was collected durable."""
        ...  # pragma: no cover - protocol

    def entries(self) -> Sequence[RecordedEffect]:
        """All effects in the order of their intents."""
        ...  # pragma: no cover - protocol

    def notes(self, *kinds: str) -> Sequence[Note]:
        """Notes of these kinds (none given: all) in the order in which they were stored."""
        ...  # pragma: no cover - protocol

    def model(self) -> Mapping[str, Any] | None:
        """The newest checkpoint; None when there is none."""
        ...  # pragma: no cover - protocol

    def close(self) -> None:
        """Lets the file go; what was not committed is forgotten."""
        ...  # pragma: no cover - protocol


#: Texts of an effect's arguments that are longer are left out of `RecordedEffect.about`.
_LONGEST_TEXT = 200


def about(args: Mapping[str, Any]) -> dict[str, Any]:
    """The short arguments of an effect: numbers, flags and texts of a line, and the name of a plan."""
    found = {
        key: value
        for key, value in args.items()
        if isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= _LONGEST_TEXT)
    }
    plan = args.get("plan")
    if isinstance(plan, dict) and isinstance(plan.get("Name"), str):
        found.setdefault("name", plan["Name"][:_LONGEST_TEXT])
    return found
