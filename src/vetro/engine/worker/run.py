"""`Run`: one task process from its start to its end, driven by the worker's loop.

Each turn of the loop takes everything both sides have sent, writes it with one commit, and only then lets effects out
to the host. Results are committed with the next effect, or soon (`vetro.engine.worker.worker`), and then news of them
are let out to those who watch.
"""

from __future__ import annotations

import json
import select
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vetro.engine.effect_kinds import Answer, Policy, answer_of
from vetro.engine.task.launcher import Exit
from vetro.engine.worker import ends
from vetro.engine.worker.checkpoint import Throttle, cpu_seconds, sleeps
from vetro.engine.worker.journal import Ended, Entry, Note, about
from vetro.engine.worker.ports import HostUnavailable, Process
from vetro.engine.worker.replay import EffectRequest, Replay
from vetro.engine.worker.stream import Stream
from vetro.muranopl.runtime.effects import digest
from vetro.muranopl.runtime.stacks import deep_calls

if TYPE_CHECKING:
    from vetro.engine.worker.host_link import HostLink
    from vetro.engine.worker.state import WorkerState

#: Seconds after which what nobody waits for is committed: results that only were read, and notes. A task that reports
#: ten times in a row costs one commit.
_IDLE = 0.02
#: The same for the beginning of a process, which who looks at the task is told: it is committed with the first effect
#: of a task that does not compute first.
_BEGIN = 1.0
#: Characters of a key; the task process is not trusted.
_LONGEST_KEY = 1000
#: Seconds a process may take to be gone after its last word, and when it was killed.
_LAST_BREATH = 2.0
_PATIENCE = 30.0


def _characters(args: Mapping[str, Any]) -> int:
    with deep_calls():
        return len(json.dumps(args))


@dataclass(frozen=True, slots=True)
class Died:
    """The task process ended by itself."""

    text: str


class Run:
    """Made for one task process; `go` once."""

    def __init__(self, worker: WorkerState, link: HostLink, deadline: float | None) -> None:
        self.worker = worker
        self.journal = worker.journal
        self.link = link
        self.step = worker.step
        self._deadline = deadline
        entries, notes = self.journal.entries(), self.journal.notes()
        self._replay = Replay(entries, notes)
        self._replayed = not self._replay.active
        self._now = time.monotonic
        limits = worker.limits
        self._throttle = Throttle(limits.checkpoint_seconds, limits.checkpoint_share, now=self._now())
        self._kill_at: float | None = None
        self._told = False
        self._silent_since = self._now()
        #: How many answers the task was given.
        self._given = 0
        #: When it was asked whether it waits: its processor time and the answers given since it was looked at last.
        self._probe: tuple[float, int] | None = None
        #: The answers that it had been given when it was asked.
        self._had = 0
        #: What is let out after the next commit, in this order; whether it waits for that one, which is made at once.
        self._then: list[Callable[[], None]] = []
        self._due = False
        #: Intents of this turn whose effects were not handed over yet.
        self._unsent: list[str] = []
        #: What the task has written since it began, also in earlier processes: rows and characters.
        self._effects, self._notes = len(entries), len(notes)
        self._noted = sum(_characters(note.args) for note in notes)
        #: Since when results that were only read, and notes, wait for a commit (`_IDLE`).
        self._lazy: float | None = None
        self._ended: Ended | None = None
        #: Whether the end is in the journal.
        self.wrote_end = False

    # -- the loop ------------------------------------------------------------------------------------------------------

    def go(self) -> Ended | Died:
        """Runs the task process to its end or death."""
        self.link.open()
        self._process: Process = self.worker.launcher.start()
        self._task = Stream(self._process.fileno())
        try:
            self.worker.require()
            self.journal.attempt()
            self._lazy = self._now() + _BEGIN - _IDLE
            self._task.send({"t": "task", "task": self.worker.task.as_json(), "spans": self.worker.spans})
            self._silent_since = self._now()  # a zygote that had to be started is no silence of the task
            while self._ended is None:
                self._wait()
                self._turn()
                if self._task.closed and self._ended is None:
                    self._commit()  # what it noted last, which the next process does not tell again
                    found = self._died()
                    if isinstance(found, Died):
                        return found
                    self._ended = found
            self._drop_unsent()
            if not self.link.under_way:  # else it is written when the host has ended that, too
                self._ended, self.wrote_end = self.worker.write_end(self._ended), True
            self._commit()
            return self._ended
        finally:
            self._close()

    def _drop_unsent(self) -> None:
        """The task is over: what it asked for in the same breath is not begun."""
        for key in self._unsent:
            self.journal.forget(key)
        self._unsent.clear()

    def _close(self) -> None:
        meters = self.worker.meters
        meters.pipe_bytes += self._task.bytes
        ended = self._end_of_process()
        self._task.close()
        meters.cpu_seconds += 0.0 if ended is None else ended.cpu_seconds
        self._process.close()

    def _end_of_process(self) -> Exit | None:
        """How it ended. Killed, unless it is about to end: it has said its last word, or closed its pipe."""
        said = self._ended is not None and self._ended.state in ("done", "failed", "cancelled")
        ended = self._process.wait(_LAST_BREATH if said or (self._task.closed and self._task.failure is None) else 0.0)
        if ended is None:
            self._process.kill()
            ended = self._process.wait(_PATIENCE)
        return ended

    def _died(self) -> Ended | Died:
        ended = self._end_of_process()
        how = self._task.failure or ("nobody knows how it ended" if ended is None else ended.reason)
        if self._told:
            return ends.killed(self.worker, how)
        if ended is not None and ended.signal == signal.SIGXCPU:  # it would be so again
            return ends.used_up(self.worker)
        return Died(how)

    def _wait(self) -> None:
        """Until one side has something to say, or it is time for something."""
        now = self._now()
        pauses = [self._throttle.wait(now) if self._steady else None]
        if self._lazy is not None:
            pauses.append(self._lazy + _IDLE - now)
        if self._kill_at is not None:
            pauses.append(self._kill_at - now)
        elif self._deadline is not None and self.worker.cancelled is None:
            pauses.append(self._deadline - now)
        if self._replay.active:
            pauses.append(self._silent_since + self.worker.limits.stall_seconds - now)
        known = [pause for pause in pauses if pause is not None]
        poll = select.poll()
        host = self.link.stream
        for stream in (self._task, host):
            if stream is not None:
                poll.register(stream, select.POLLIN | (select.POLLOUT if stream.writing else 0))
        poll.register(self.worker.wake, select.POLLIN)
        poll.poll(max(min(known), 0.0) * 1000 + 1 if known else None)

    @property
    def _steady(self) -> bool:
        """Whether a checkpoint would show something new: neither a repetition nor an end."""
        return not (self._replay.active or self._told)

    def _turn(self) -> None:
        for stream in (self._task, self.link.stream):
            if stream is not None and stream.writing:
                stream.flush()
        self.worker.wake.clear()
        self.worker.require()
        messages = self._task.receive()
        if messages:
            self._silent_since = self._now()
        for message in messages:
            self._from_task(message)
            if self._ended is not None:
                return
        for answer in self.link.receive():
            self._from_host(answer)
        if self.link.gone:
            self.worker.commit()  # the next host drops what nobody expects: answers have to be stored
        try:
            self.link.revive()
        except HostUnavailable:
            self._drop_unsent()  # no host ever heard of it: a person need not be asked
            self.worker.commit()
            raise
        if self.link.lost:
            self._ended = ends.needs_person(self.worker)
            return
        self._deliver()
        if self._due or (self._lazy is not None and self._now() - self._lazy >= _IDLE):
            self._commit()
        self._look_at_the_clock()

    def _commit(self) -> None:
        self.worker.commit()
        self._lazy, self._due = None, False
        self._unsent.clear()
        then, self._then = self._then, []
        for action in then:
            action()

    def _after_commit(self, action: Callable[[], None]) -> None:
        """Something waits for the commit: it is made in this turn."""
        self._then.append(action)
        self._due = True

    def _soon(self) -> None:
        """Nothing waits for what was written: it is committed with the next commit, or after `_IDLE` seconds."""
        now = self._now()
        if self._lazy is None or self._lazy > now:
            self._lazy = now

    # -- from the task -------------------------------------------------------------------------------------------------

    def _from_task(self, message: Mapping[str, Any]) -> None:
        kind = message["t"]
        if kind == "effect":
            asked = self._asked(message)
            if asked is None:
                self._task.closed, self._task.failure = True, "it sent an effect that is none"
                return
            found = self._replay.ask(asked)
            if found is not None and self.worker.cancelled is not None and not self._replay.active:
                return  # an earlier process heard of the cancellation at another moment: it did other things after that
            if found is not None:
                self._ended = ends.diverged(self.worker, found)
            elif answer_of(asked.kind) is Answer.NONE:
                self._note(asked)
            else:
                self._effect(asked)
        elif kind == "checkpoint":
            self._checkpoint(message)
        elif kind in ("done", "failed"):
            self._end(message)
        elif kind == "secrets":
            self._secrets(message.get("texts"))
        elif kind == "spans" and self.worker.spans:
            self.worker.events({"event": "spans", "spans": message.get("spans")})

    def _secrets(self, texts: Any) -> None:
        for text in texts if isinstance(texts, list) else ():
            if isinstance(text, str):
                self.worker.redaction.add(text)
        self.worker.redaction.fresh.clear()

    def _asked(self, message: Mapping[str, Any]) -> EffectRequest | None:
        key, kind, args = message.get("key"), message.get("kind"), message.get("args")
        if not (isinstance(key, str) and isinstance(kind, str) and isinstance(args, dict)) or len(key) > _LONGEST_KEY:
            return None
        with deep_calls():
            return EffectRequest(key, kind, args, digest(args))

    def _note(self, asked: EffectRequest) -> None:
        """Stores what nobody waits for, once."""
        if asked.kind == "agent.listen":
            self._after_commit(lambda: self.link.listen(asked))
        if self._replay.noted(asked.key):
            return
        limits = self.worker.limits
        self._notes += 1
        self._noted += _characters(asked.args)
        if self._notes > limits.notes:
            self._ended = ends.wrote_too_much(self.worker, f"wrote more than {limits.notes:,} reports and log lines")
            return
        if self._noted > limits.note_characters:
            text = f"wrote more than {limits.note_characters:,} characters of reports and log lines"
            self._ended = ends.wrote_too_much(self.worker, text)
            return
        self.step("before note", asked.key)
        self.journal.note(Note(asked.key, asked.kind, asked.args, asked.digest, self.worker.clock()))
        self._throttle.changed()

        def tell() -> None:
            self.step("after note", asked.key)
            self.worker.events({"event": "note", "key": asked.key, "kind": asked.kind, "args": asked.args})

        self._then.append(tell)
        self._soon()

    def _effect(self, asked: EffectRequest) -> None:
        entry = self._replay.entry(asked.key)
        if entry is not None and not entry.open:
            return  # `_deliver` gives the recorded answer when it is its turn
        if asked.key in self.link.under_way:
            return  # an earlier process of this task asked for it, and the host is still at it
        if self._told or self.worker.cancelled is not None:
            return  # the task hears of it soon; nothing is begun any more
        if entry is not None:
            if self.worker.policies(asked.kind) is Policy.UNSAFE:
                self._ended = ends.needs_person(self.worker)
            else:
                self._perform(asked, entry.begun, adopt=True, written=True)
            return
        self._effects += 1
        if self._effects > self.worker.limits.effects:
            text = f"asked for more than {self.worker.limits.effects:,} effects"
            self._ended = ends.wrote_too_much(self.worker, text)
            return
        begun = self.worker.clock()
        if answer_of(asked.kind) is Answer.QUICK:
            self._perform(asked, begun, adopt=False, written=False, at_once=True)
            return
        self._intend(asked, begun)
        self._perform(asked, begun, adopt=False, written=True)

    def _intend(self, asked: EffectRequest, begun: float) -> None:
        unsafe = self.worker.policies(asked.kind) is Policy.UNSAFE
        shown = self.worker.redaction.data(dict(asked.args) if unsafe else about(asked.args))
        self.step("before intent", asked.key)
        self.journal.intent(Entry(asked.key, asked.kind, asked.digest, shown, begun))
        self._unsent.append(asked.key)

        def tell() -> None:
            if self._ended is not None:
                return
            self.step("after intent", asked.key)
            told = self.worker.redaction.data(about(asked.args))
            self.worker.events({"event": "begun", "key": asked.key, "kind": asked.kind, "about": told})

        self._after_commit(tell)

    def _perform(
        self, asked: EffectRequest, begun: float, *, adopt: bool, written: bool, at_once: bool = False
    ) -> None:
        def perform() -> None:
            if self._ended is None:
                self.step("before effect", asked.key)
                self.link.perform(asked, begun, adopt=adopt, written=written)

        if at_once:
            perform()
        else:
            self._after_commit(perform)

    # -- from the host -------------------------------------------------------------------------------------------------

    def _from_host(self, message: Mapping[str, Any]) -> None:
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
        self._replay.add(
            Entry(key, entry.kind, entry.digest, entry.about, entry.begun, place, entry.answer, entry.error, at)
        )
        self._throttle.changed()
        if not written:
            self._soon()
            self.step("after result", key)
            self.link.stored(key)
            return

        def tell() -> None:
            self.step("after result", key)
            self.link.stored(key)
            self.worker.events({"event": "ended", "key": key, "kind": entry.kind, "error": entry.error})

        if self.worker.policies(entry.kind) is Policy.UNSAFE:
            self._after_commit(tell)
        else:
            self._then.append(tell)
            self._soon()

    def _intend_read(self, entry: Entry) -> None:
        """An effect that only reads has its intent and its result written together."""
        self.step("before intent", entry.key)
        self.journal.intent(entry)
        self.step("after intent", entry.key)

    def _deliver(self) -> None:
        for entry in self._replay.ready():
            message: dict[str, Any] = {"t": "answer", "key": entry.key}
            if entry.error is None:
                message["answer"] = entry.answer
            else:
                message["error"] = dict(entry.error)
            if not self._due and self.worker.policies(entry.kind) is not Policy.UNSAFE:
                self._answer(message)
            else:
                self._after_commit(lambda message=message: self._answer(message))  # type: ignore[misc]
        if not self._replayed and not self._replay.active:
            self._replayed = True
            self._after_commit(lambda: self.worker.events({"event": "replayed"}))

    def _answer(self, message: dict[str, Any]) -> None:
        self.step("before answer", message["key"])
        self._task.send(message)
        self._given += 1
        self.step("after answer", message["key"])

    # -- time ----------------------------------------------------------------------------------------------------------

    def _look_at_the_clock(self) -> None:
        now = self._now()
        if self.worker.cancelled is None and self._deadline is not None and now >= self._deadline:
            self.worker.cancel(f"the task did not end within {self.worker.limits.timeout:g} seconds")
        if self.worker.cancelled is not None:
            self._cancel(self.worker.cancelled, now)
        if self._kill_at is not None and now >= self._kill_at:
            grace = self.worker.task.budget.grace_seconds
            self._ended = ends.killed(self.worker, f"it did not end within {grace:g} seconds")
        elif self._steady:
            cpu = cpu_seconds(self._process.pid) if self._throttle.wait(now) == 0 else 0.0
            if self._throttle.due(now, cpu):
                self._throttle.asked(now, cpu)
                self._task.send({"t": "checkpoint"})
        elif self._replay.active and now - self._silent_since >= self.worker.limits.stall_seconds:
            self._ask_whether_it_waits()

    def _cancel(self, reason: str, now: float) -> None:
        if self._kill_at is None:
            self.journal.cancel(reason)
            self.worker.commit()
            self._kill_at = now + self.worker.task.budget.grace_seconds
        # What the journal holds comes first: the model shall show all that was done.
        if not self._told and not self._replay.active:
            self._told = True
            self.link.abandon()
            self._task.send({"t": "cancel", "reason": reason})

    def _ask_whether_it_waits(self) -> None:
        """Nothing was heard for a while in a replay: perhaps the task waits, and not for what comes next."""
        missing, seen = self._replay.missing, (cpu_seconds(self._process.pid), self._given)
        if missing is None:
            return
        if self._probe is None:
            self._task.send({"t": "checkpoint"})
            self._had = self._given
        elif self._probe == seen and sleeps(self._process.pid):
            self._ended = ends.diverged(self.worker, self._replay.never_asked(missing))
        self._probe, self._silent_since = seen, self._now()

    def _checkpoint(self, message: Mapping[str, Any]) -> None:
        if self._probe is not None or self._replay.active:
            # It waits (only then it answers) although what the journal has next was not asked for; unless an answer
            # and these words have crossed: it may not have waited with that answer, and is asked again if need be.
            missing, self._probe = self._replay.missing, None
            if missing is not None and self._replay.active and self._given == self._had:
                self._ended = ends.diverged(self.worker, self._replay.never_asked(missing))
            return
        self._throttle.came(cpu_seconds(self._process.pid))
        if message.get("model") is None:
            return
        self.step("before checkpoint", "")
        self.journal.checkpoint(message["model"], self.worker.clock())

        def tell() -> None:
            self.step("after checkpoint", "")
            self.worker.events({"event": "checkpoint"})

        self._after_commit(tell)

    # -- ends ----------------------------------------------------------------------------------------------------------

    def _end(self, message: Mapping[str, Any]) -> None:
        unused = None if self._told else self._replay.unused()
        if unused is not None:
            self._ended = ends.diverged(self.worker, unused)
            return
        if message.get("model") is not None:
            self.step("before checkpoint", "")
            self.journal.checkpoint(message["model"], self.worker.clock())
        if message["t"] == "done":
            self._ended = Ended("done", message.get("result"), None, self.worker.clock())
        else:
            state = "cancelled" if self._told else "failed"
            self._ended = Ended(state, None, message.get("error"), self.worker.clock())
