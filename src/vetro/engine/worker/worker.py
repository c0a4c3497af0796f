"""`Worker`: runs one task to its end, through deaths of its process and of the effects host.

The worker is the only one who writes the journal. For each effect it writes the intent, lets the host perform it,
answers the task, writes the result, and tells the host so (which then acknowledges the agent's message). Should the
worker itself die, another one with the same journal goes on: `vetro.engine.worker.replay` gives the recorded answers
again, and effects without result are performed again with ``adopt`` where their policy allows it, else a person is
asked (`vetro.engine.worker.decisions`). See docs/internals.md, "A task".

Commits are grouped: what arrives together is written together. Answers do not wait for a commit of their own: nothing
that follows from them leaves this worker before a later commit, which holds them, too, and who dies before it finds an
intent whose effect may be done again. So only answers that a person would have to be asked for (`Policy.UNSAFE`) are
committed before the task has them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vetro.data_classes import dataclass
from vetro.engine.effect_kinds import Policy
from vetro.engine.outcome import OpenEffect, Outcome
from vetro.engine.worker.ends import died_too_often
from vetro.engine.worker.host_link import HostLink
from vetro.engine.worker.journal import Ended, OtherEngine, Progress
from vetro.engine.worker.ports import LeaseLost
from vetro.engine.worker.run import Run
from vetro.engine.worker.state import WorkerState


@dataclass
class Worker(WorkerState):
    """Runs ``task`` with ``journal``; `run` once, `cancel` from anywhere.

    ``launcher`` makes task processes, ``host`` performs effects. ``still_mine`` is asked before every commit, and when
    ``wake`` is set: where it says no, nothing more is written and everything ends at once. ``policies`` gives the
    policy of a kind of effect; ``step`` is for tests.
    """

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
        self.step("after begin", "")  # it is committed with the first attempt
        self.cancelled = self.cancelled or progress.cancelled
        deadline = self._deadline(progress.begun)
        link = HostLink(self, self.host)
        deaths, written = progress.deaths, False
        try:
            while True:
                self.meters.runs += 1
                run = Run(self, link, deadline)
                ended = run.go()
                if isinstance(ended, Ended):
                    written = run.wrote_end
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
        if not written:  # what the host still did has ended: before, nobody would have gone on with it
            ended = self.write_end(ended)
            self.commit()
        if self.left is None:
            self.step("after end", "")
        return self._outcome(ended, self.undecided() if ended.state == "needs_person" else [])

    def end_is_stored(self) -> None:
        """Whoever runs this has committed the end (`leaves_end`): those who watch hear of what was committed with it.
        Nothing where it was committed here."""
        if self.left is not None:
            self.left.let_out()
            self.step("after end", "")

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

    def undecided(self) -> list[OpenEffect]:
        """Effects without result of which only a person can say whether they were done."""
        return [
            OpenEffect(e.key, e.kind, e.about, e.begun)
            for e in self.journal.entries()
            if e.open and self.policies(e.kind) is Policy.UNSAFE
        ]

    def _outcome(self, ended: Ended, undecided: list[OpenEffect]) -> Outcome:
        notes = self.journal.notes("report") if self.reports else ()
        reports: list[Mapping[str, Any]] = [{**note.args, "timestamp": note.at} for note in notes]
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
