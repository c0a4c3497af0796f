"""`Replay`: gives a task its answers in the order in which the journal recorded them.

A run is a function of its task and of its answers *in their order*. So live and recorded answers go the same way: what
has a place among the results is delivered when the task has asked for it and everything with an earlier place was
delivered. In a first run that is at once; in a run after a death it repeats the first one step by step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from vetro.data_classes import dataclass
from vetro.engine.worker.journal import Note, RecordedEffect, about


@dataclass(frozen=True, slots=True)
class EffectRequest:
    """An effect as the task process asks for it."""

    key: str
    kind: str
    args: Mapping[str, Any]
    digest: str


@dataclass(frozen=True, slots=True)
class Divergence:
    """The task does something else than the journal holds. ``asked`` or ``recorded`` is None where there is nothing."""

    key: str
    recorded: Mapping[str, Any] | None
    asked: Mapping[str, Any] | None

    @property
    def message(self) -> str:
        """One sentence for people."""
        if self.asked is None:
            return f"run again, the task did not ask for effect {self.key}, a '{_kind(self.recorded)}' that it had used"
        then, now = _kind(self.recorded), _kind(self.asked)
        if then == now:
            return f"run again, the task asked for effect {self.key}, a '{now}', with other arguments than before"
        return f"run again, the task asked for effect {self.key} as '{now}', which was '{then}' before"


def _kind(side: Mapping[str, Any] | None) -> str:
    return "nothing" if side is None else str(side["kind"])


def _side(kind: str, digest: str, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "digest": digest, "args": dict(args)}


class Replay:
    """The answers of one task process."""

    def __init__(self, entries: Iterable[RecordedEffect] = (), notes: Iterable[Note] = ()) -> None:
        self._recorded = {entry.key: entry for entry in entries}
        self._notes = {note.key: note for note in notes}
        done = sorted((e for e in self._recorded.values() if not e.open), key=lambda e: e.place or 0)
        self._order: deque[RecordedEffect] = deque(done)
        #: Results that stood in the journal when this process began and that it has not got yet.
        self._old = len(self._order)
        self._asked: set[str] = set()

    @property
    def active(self) -> bool:
        """Whether recorded answers are left to deliver."""
        return self._old > 0

    @property
    def missing(self) -> RecordedEffect | None:
        """The next recorded effect, when the task has not asked for it."""
        head = self._order[0] if self._order else None
        return head if head is not None and head.key not in self._asked else None

    def ask(self, request: EffectRequest) -> Divergence | None:
        """The task asks. Gives the divergence when the journal holds another effect at this key, or it asked before."""
        entry = self._recorded.get(request.key)
        note = self._notes.get(request.key)
        if request.key in self._asked:
            return self._differs(request, _side(request.kind, request.digest, {"again": True}))
        self._asked.add(request.key)
        if entry is not None and (entry.kind, entry.digest) != (request.kind, request.digest):
            return self._differs(request, _side(entry.kind, entry.digest, entry.about))
        if note is not None and (note.kind, note.digest) != (request.kind, request.digest):
            return self._differs(request, _side(note.kind, note.digest, about(note.args)))
        return None

    def _differs(self, request: EffectRequest, recorded: Mapping[str, Any]) -> Divergence:
        return Divergence(request.key, recorded, _side(request.kind, request.digest, about(request.args)))

    def entry(self, key: str) -> RecordedEffect | None:
        """What the journal holds of an effect that was not delivered yet."""
        return self._recorded.get(key)

    def noted(self, key: str) -> bool:
        """Whether the journal holds a note with this key."""
        return key in self._notes

    def add(self, entry: RecordedEffect) -> None:
        """A result that was recorded just now."""
        self._recorded[entry.key] = entry
        self._order.append(entry)

    def ready(self) -> list[RecordedEffect]:
        """What is to be delivered now, in this order. Each entry is given once."""
        found = []
        while self._order and self._order[0].key in self._asked:
            found.append(self._order.popleft())
            self._old = max(self._old - 1, 0)
            self._recorded.pop(found[-1].key, None)  # answers may be large; the key stays asked
        return found

    def never_asked(self, entry: RecordedEffect) -> Divergence:
        """The divergence of a task that does not ask for this recorded effect."""
        return Divergence(entry.key, _side(entry.kind, entry.digest, entry.about), None)

    def unused(self) -> Divergence | None:
        """At the end of the task: a recorded effect that it never asked for."""
        for key, entry in self._recorded.items():
            if key not in self._asked:
                return self.never_asked(entry)
        for key, note in self._notes.items():
            if key not in self._asked:
                return Divergence(key, _side(note.kind, note.digest, about(note.args)), None)
        return None
