"""`Effects`: what a task process asks for and what the effects host answers, in the journal and out of it again.

Everything is written before it has an effect: the intent of an effect before the host begins it, a result before the
host may forget it. `vetro.engine.worker.worker` says what waits for a commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from vetro.engine.effect_kinds import Answer, Policy, answer_of
from vetro.engine.worker import ends
from vetro.engine.worker.commits import Commits
from vetro.engine.worker.journal import Ended, Note, RecordedEffect, about
from vetro.engine.worker.replay import EffectRequest, Replay
from vetro.muranopl.runtime.effects import digest
from vetro.muranopl.runtime.stacks import deep_calls

if TYPE_CHECKING:
    from vetro.engine.worker.host_link import HostLink
    from vetro.engine.worker.state import WorkerState

#: Characters of a key; the task process is not trusted.
_LONGEST_KEY = 1000


def request_of(message: Mapping[str, Any]) -> EffectRequest | None:
    """The effect that a message of the task process asks for; None for one that asks for none."""
    key, kind, args = message.get("key"), message.get("kind"), message.get("args")
    if not (isinstance(key, str) and isinstance(kind, str) and isinstance(args, dict)) or len(key) > _LONGEST_KEY:
        return None
    with deep_calls():
        return EffectRequest(key, kind, args, digest(args))


def _characters(args: Mapping[str, Any]) -> int:
    with deep_calls():
        return len(json.dumps(args))


class Effects:
    """Of one task process. ``changed`` is told of what may show in the model."""

    def __init__(self, worker: WorkerState, link: HostLink, commits: Commits, changed: Callable[[], None]) -> None:
        self.worker = worker
        self.journal = worker.journal
        self.link = link
        self.step = worker.step
        self._commits = commits
        self._changed = changed
        entries, notes = self.journal.entries(), self.journal.notes()
        self.replay = Replay(entries, notes)
        self._replayed = not self.replay.active
        #: How many answers the task was given.
        self.given = 0
        #: Intents of this turn: no host has heard of them.
        self._unsent: list[str] = []
        self._stopped = False
        #: What the task has written since it began, also in earlier processes: rows and characters.
        self._effects, self._notes = len(entries), len(notes)
        self._noted = sum(_characters(note.args) for note in notes)

    def committed(self) -> None:
        """What was written is durable: hosts hear of it."""
        self._unsent.clear()

    def stop(self) -> None:
        """The task is over, or has no host: what it asked for in the same breath is not begun."""
        self._stopped = True
        for key in self._unsent:
            self.journal.forget(key)
        self._unsent.clear()

    # -- from the task -------------------------------------------------------------------------------------------------

    def ask(self, request: EffectRequest) -> Ended | None:
        """The task asks for an effect. Gives the end of a task that may not."""
        found = self.replay.ask(request)
        if found is not None:
            if self.worker.cancelled is not None and not self.replay.active:
                return None  # an earlier process heard of the cancellation at another moment, and did other things then
            return ends.diverged(self.worker, found)
        return self._note(request) if answer_of(request.kind) is Answer.NONE else self._effect(request)

    def _note(self, request: EffectRequest) -> Ended | None:
        """Stores what nobody waits for, once."""
        if request.kind == "agent.listen":
            self._commits.after(partial(self._listen, request))
        if self.replay.noted(request.key):
            return None
        limits = self.worker.limits
        self._notes += 1
        self._noted += _characters(request.args)
        if self._notes > limits.notes:
            return ends.wrote_too_much(self.worker, f"wrote more than {limits.notes:,} reports and log lines")
        if self._noted > limits.note_characters:
            text = f"wrote more than {limits.note_characters:,} characters of reports and log lines"
            return ends.wrote_too_much(self.worker, text)
        self.step("before note", request.key)
        self.journal.note(Note(request.key, request.kind, request.args, request.digest, self.worker.clock()))
        self._changed()

        def tell() -> None:
            self.step("after note", request.key)
            self.worker.events({"event": "note", "key": request.key, "kind": request.kind, "args": request.args})

        self._commits.after_soon(tell)
        return None

    def _listen(self, request: EffectRequest) -> None:
        if self.link.stream is not None or not self._stopped:  # no host is started for a task that is over
            self.link.listen(request)

    def _effect(self, request: EffectRequest) -> Ended | None:
        entry = self.replay.entry(request.key)
        if entry is not None and not entry.open:
            return None  # `deliver` gives the recorded answer when it is its turn
        if request.key in self.link.under_way:
            return None  # an earlier process of this task asked for it, and the host is still at it
        if self.worker.cancelled is not None:
            return None  # the task hears of it soon; nothing is begun any more
        if entry is not None:
            if self.worker.policies(request.kind) is Policy.UNSAFE:
                return ends.needs_person(self.worker)
            self._perform(request, entry.begun, adopt=True, written=True)
            return None
        self._effects += 1
        if self._effects > self.worker.limits.effects:
            text = f"asked for more than {self.worker.limits.effects:,} effects"
            return ends.wrote_too_much(self.worker, text)
        begun = self.worker.clock()
        if answer_of(request.kind) is Answer.QUICK:
            self._perform(request, begun, adopt=False, written=False, at_once=True)
            return None
        self.link.open()  # an intent that no host can hear of would be one that nobody knows the end of
        self._intend(request, begun)
        self._perform(request, begun, adopt=False, written=True)
        return None

    def _intend(self, request: EffectRequest, begun: float) -> None:
        unsafe = self.worker.policies(request.kind) is Policy.UNSAFE
        shown = self.worker.redaction.data(dict(request.args) if unsafe else about(request.args))
        self.step("before intent", request.key)
        self.journal.intent(RecordedEffect(request.key, request.kind, request.digest, shown, begun))
        self._unsent.append(request.key)

        def tell() -> None:
            if self._stopped:
                return
            self.step("after intent", request.key)
            told = self.worker.redaction.data(about(request.args))
            self.worker.events({"event": "begun", "key": request.key, "kind": request.kind, "about": told})

        self._commits.after(tell)

    def _perform(
        self, request: EffectRequest, begun: float, *, adopt: bool, written: bool, at_once: bool = False
    ) -> None:
        def perform() -> None:
            if not self._stopped:
                self.step("before effect", request.key)
                self.link.perform(request, begun, adopt=adopt, written=written)

        if at_once:
            perform()
        else:
            self._commits.after(perform)

    # -- from the host -------------------------------------------------------------------------------------------------

    def hear(self, message: Mapping[str, Any]) -> None:
        """The host says how far an effect is, or what came of it."""
        if message["t"] == "progress":
            self.worker.events({**self.worker.redaction.data(message), "event": "progress"})
        if message["t"] != "answer":
            return
        key, at = message["key"], self.worker.clock()
        # What a cloud or an agent complains about is often quoted by it.
        error = self.worker.redaction.data(message.get("error"))
        found = self.link.result(key, message.get("answer"), error, at)
        if found is None:
            return
        entry, written = found
        self.step("after effect", key)
        if not written:
            self._intend_read(entry)
        self.step("before result", key)
        place = self.journal.result(key, entry.answer, entry.error, at)
        self.replay.add(replace(entry, place=place))
        self._changed()
        if not written:
            self._commits.soon()
            self.step("after result", key)
            self.link.stored(key)
            return

        def tell() -> None:
            self.step("after result", key)
            self.link.stored(key)
            self.worker.events({"event": "ended", "key": key, "kind": entry.kind, "error": entry.error})

        if self.worker.policies(entry.kind) is Policy.UNSAFE:
            self._commits.after(tell)
        else:
            self._commits.after_soon(tell)

    def _intend_read(self, entry: RecordedEffect) -> None:
        """An effect that only reads has its intent and its result written together."""
        self.step("before intent", entry.key)
        self.journal.intent(entry)
        self.step("after intent", entry.key)

    # -- to the task ---------------------------------------------------------------------------------------------------

    def deliver(self, send: Callable[[dict[str, Any]], None]) -> None:
        """Gives the task the answers whose turn it is."""
        for entry in self.replay.ready():
            message: dict[str, Any] = {"t": "answer", "key": entry.key}
            if entry.error is None:
                message["answer"] = entry.answer
            else:
                message["error"] = dict(entry.error)
            answer = partial(self._answer, send, message)
            if not self._commits.awaited and self.worker.policies(entry.kind) is not Policy.UNSAFE:
                answer()
            else:
                self._commits.after(answer)
        if not self._replayed and not self.replay.active:
            self._replayed = True
            self._commits.after(lambda: self.worker.events({"event": "replayed"}))

    def _answer(self, send: Callable[[dict[str, Any]], None], message: dict[str, Any]) -> None:
        self.step("before answer", message["key"])
        send(message)
        self.given += 1
        self.step("after answer", message["key"])
