"""`Run`: one task process from its start to its end, driven by the worker's loop.

Each turn of the loop takes everything both sides have sent (`vetro.engine.worker.effects`), writes it with one commit
(`vetro.engine.worker.commits`), and only then lets effects out to the host. Results are committed with the next effect,
or soon (`vetro.engine.worker.worker`), and then news of them are let out to those who watch.
"""

from __future__ import annotations

import select
import signal
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vetro.data_classes import dataclass
from vetro.engine.task.launcher import Exit
from vetro.engine.worker import ends
from vetro.engine.worker.checkpoint import Throttle, cpu_seconds, sleeps
from vetro.engine.worker.commits import Commits
from vetro.engine.worker.effects import Effects, request_of
from vetro.engine.worker.journal import Ended
from vetro.engine.worker.ports import Process
from vetro.engine.worker.stream import Stream
from vetro.yaql.errors import VetroError

if TYPE_CHECKING:
    from vetro.engine.worker.host_link import HostLink
    from vetro.engine.worker.state import WorkerState

#: Seconds a process may take to be gone after its last word, and when it was killed.
_LAST_BREATH = 2.0
_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Died:
    """The task process ended by itself."""

    text: str


class Run:
    """Made for one task process; `go` once."""

    _now = staticmethod(time.monotonic)

    def __init__(self, worker: WorkerState, link: HostLink, deadline: float | None) -> None:
        self.worker = worker
        self.journal = worker.journal
        self.link = link
        self.step = worker.step
        self._deadline = deadline
        limits = worker.limits
        self._throttle = Throttle(limits.checkpoint_seconds, limits.checkpoint_share, now=self._now())
        self._commits = Commits(self._write, self._now)
        self._effects = Effects(worker, link, self._commits, self._throttle.changed)
        self._replay = self._effects.replay
        self._kill_at: float | None = None
        self._told = False
        self._silent_since = self._now()
        #: When it was asked whether it waits: its processor time and the answers given since it was looked at last.
        self._probe: tuple[float, int] | None = None
        #: The answers that it had been given when it was asked.
        self._had = 0
        self._ended: Ended | None = None
        #: Whether the end is in the journal.
        self.wrote_end = False

    # -- the loop ------------------------------------------------------------------------------------------------------

    def go(self) -> Ended | Died:
        """Runs the task process to its end or death."""
        if self.worker.host_first:
            self.link.open()
        self._process: Process = self.worker.launcher.start()
        self._task = Stream(self._process.fileno())
        try:
            self.worker.require()
            self.journal.attempt()
            self._commits.begun()
            self._task.send({"t": "task", "task": self.worker.task.as_json(), "spans": self.worker.spans})
            self._silent_since = self._now()  # a zygote that had to be started is no silence of the task
            while self._ended is None:
                self._wait()
                self._turn()
                if self._task.closed and self._ended is None:
                    self._commits.commit()  # what it noted last, which the next process does not tell again
                    found = self._died()
                    if isinstance(found, Died):
                        return found
                    self._ended = found
            self._effects.stop()
            if not self.link.under_way:  # else it is written when the host has ended that, too
                self._ended, self.wrote_end = self.worker.write_end(self._ended), True
            if self._leaves_end():
                self.worker.left = self._commits
            else:
                self._commits.commit()
            return self._ended
        finally:
            self._close()

    def _leaves_end(self) -> bool:
        """Whether whoever runs the task commits its end. Not where a host waits for results to be stored, or may take
        its time to end: what was done is not to be undone by a cancellation that comes meanwhile."""
        assert self._ended is not None
        return self.worker.leaves_end and self.link.stream is None and self._ended.state != "needs_person"

    def _write(self) -> None:
        self.worker.commit()
        self._effects.committed()

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
        pauses = [self._throttle.wait(now) if self._steady else None, self._commits.wait(now)]
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
        try:
            self._hear()
        except VetroError:  # no host, or none that can be made
            self._effects.stop()  # no host ever heard of it: a person need not be asked
            self.worker.commit()
            raise
        if self._ended is not None:
            return
        if self.link.lost:
            self._ended = ends.needs_person(self.worker)
            return
        self._effects.deliver(self._task.send)
        if self._commits.due():
            self._commits.commit()
        self._look_at_the_clock()

    def _hear(self) -> None:
        """Takes in what both sides have sent, up to the end of the task. Raises `HostUnavailable`."""
        messages = self._task.receive()
        if messages:
            self._silent_since = self._now()
        for message in messages:
            self._from_task(message)
            if self._ended is not None:
                return
        for answer in self.link.receive():
            self._effects.hear(answer)
        if self.link.gone:
            self.worker.commit()  # the next host drops what nobody expects: answers have to be stored
        self.link.revive()

    # -- from the task -------------------------------------------------------------------------------------------------

    def _from_task(self, message: Mapping[str, Any]) -> None:
        kind = message["t"]
        if kind == "effect":
            request = request_of(message)
            if request is None:
                self._task.closed, self._task.failure = True, "it sent an effect that is none"
                return
            self._ended = self._effects.ask(request)
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
        missing, seen = self._replay.missing, (cpu_seconds(self._process.pid), self._effects.given)
        if missing is None:
            return
        if self._probe is None:
            self._task.send({"t": "checkpoint"})
            self._had = self._effects.given
        elif self._probe == seen and sleeps(self._process.pid):
            self._ended = ends.diverged(self.worker, self._replay.never_asked(missing))
        self._probe, self._silent_since = seen, self._now()

    def _checkpoint(self, message: Mapping[str, Any]) -> None:
        if self._probe is not None or self._replay.active:
            # It waits (only then it answers) although what the journal has next was not asked for; unless an answer
            # and these words have crossed: it may not have waited with that answer, and is asked again if need be.
            missing, self._probe = self._replay.missing, None
            if missing is not None and self._replay.active and self._effects.given == self._had:
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

        self._commits.after(tell)

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
