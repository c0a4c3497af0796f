"""`Run` with task processes that say what they are told to, when they are told to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import UNSAFE, Case, make_host, model, package
from tests.support.host_thread import HostThread
from vetro.engine.task.launcher import Exit
from vetro.engine.task.task import Task
from vetro.engine.worker.ports import HostUnavailable, LeaseLost, Policies
from vetro.engine.worker.state import WorkerLimits
from vetro.engine.worker.worker import Worker
from vetro.frames import Decoder, encode


class Scripted:
    """A task process that is a thread; ``play`` is its program."""

    pid = None

    def __init__(self, play: Callable[[Scripted], None]) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._decoder, self._heard = Decoder(), list[dict[str, Any]]()
        self._thread = threading.Thread(target=self._run, args=(play,), daemon=True)
        self._thread.start()

    def _run(self, play: Callable[[Scripted], None]) -> None:
        with self._theirs:
            play(self)

    def hear(self) -> dict[str, Any]:
        """The next message of the worker."""
        while not self._heard:
            data = self._theirs.recv(1 << 16)
            assert data, "the worker has gone"
            self._heard += self._decoder.feed(data)
        return self._heard.pop(0)

    def say(self, **message: Any) -> None:
        self._theirs.sendall(encode(message))

    def ask_clock(self, number: int) -> None:
        self.say(t="effect", key=f"0/{number}", kind="clock", args={})

    def fileno(self) -> int:
        return self._ours.fileno()

    def kill(self) -> None:
        self._ours.shutdown(socket.SHUT_RDWR)

    def wait(self, timeout: float | None = None) -> Exit | None:
        self._thread.join(timeout)
        return None if self._thread.is_alive() else Exit(status=0)

    def close(self) -> None:
        self._ours.close()


class Launcher:
    """One process after the other."""

    def __init__(self, *plays: Callable[[Scripted], None]) -> None:
        self._plays = list(plays)

    def start(self) -> Scripted:
        return Scripted(self._plays.pop(0))


def begun(process: Scripted) -> None:
    """Asks twice and dies."""
    assert process.hear()["t"] == "task"
    for number in (1, 2):
        process.ask_clock(number)
        assert process.hear()["key"] == f"0/{number}"


def run(folder: Path, play: Callable[[Scripted], None]) -> Any:
    task = Task("t", "action", (package(folder / "package", "go: {}"),), model(), method="go", object_id="1", seed="s")
    journal = Case(None, folder, task).journal()  # type: ignore[arg-type]
    with journal:
        limits, host = WorkerLimits(stall_seconds=0.5), HostThread(lambda: make_host(folder))
        return Worker(task, journal, Launcher(begun, play), host, policies=Policies(UNSAFE), limits=limits).run()


def test_a_late_word_that_crosses_an_answer_is_no_divergence(tmp_path: Path) -> None:
    """Found by the kill campaign: a slow replay was asked whether it waits, and an answer came before its word."""

    def slow(process: Scripted) -> None:
        assert process.hear()["t"] == "task"
        assert process.hear()["t"] == "checkpoint"  # after the silence
        process.ask_clock(1)
        assert process.hear()["key"] == "0/1"  # sent while the next word was on its way
        process.say(t="checkpoint", model=None)
        process.ask_clock(2)
        assert process.hear()["key"] == "0/2"
        process.say(t="done", result=7, model=None)

    outcome = run(tmp_path, slow)
    assert (outcome.state, outcome.result, outcome.error) == ("done", 7, None)


def test_who_waits_with_all_answers_for_something_else_diverges(tmp_path: Path) -> None:
    def other(process: Scripted) -> None:
        assert process.hear()["t"] == "task"
        process.ask_clock(1)
        assert process.hear()["key"] == "0/1"
        assert process.hear()["t"] == "checkpoint"
        process.say(t="checkpoint", model=None)

    outcome = run(tmp_path, other)
    assert outcome.state == "diverged"
    assert "did not ask for effect 0/2" in outcome.error["message"]


def test_what_no_host_heard_of_is_no_question_for_a_person(tmp_path: Path) -> None:
    """The last host died in the turn in which the task asked for what only a person can judge."""

    def unsafe(process: Scripted) -> None:
        assert process.hear()["t"] == "task"
        process.say(t="effect", key="0/1", kind="test.unsafe", args={"name": "pay"})
        process._theirs.recv(1)

    def step(name: str, key: str) -> None:
        if name == "before intent":
            host.stop()

    path = package(tmp_path / "package", "go: {}")
    task = Task("t", "action", (path,), model(), method="go", object_id="1", seed="s")
    host = HostThread(lambda: make_host(tmp_path))
    with Case(None, tmp_path, task).journal() as journal:  # type: ignore[arg-type]
        limits, policies = WorkerLimits(host_deaths=0), Policies(UNSAFE)
        worker = Worker(task, journal, Launcher(unsafe), host, policies=policies, limits=limits, step=step)
        with pytest.raises(HostUnavailable):
            worker.run()
    with Case(None, tmp_path, task).journal() as journal:  # type: ignore[arg-type]
        assert journal.entries() == []


def test_who_is_cancelled_at_another_moment_has_not_diverged(tmp_path: Path) -> None:
    """The first process reported from its Finally block at once; the second one asks for something before."""

    def first(process: Scripted) -> None:
        assert process.hear()["t"] == "task"
        process.ask_clock(1)
        assert process.hear()["key"] == "0/1"
        workers[0].cancel("enough")
        assert process.hear()["t"] == "cancel"
        process.say(t="effect", key="0/2", kind="report", args={"text": "closing"})
        process._theirs.recv(1)

    def second(process: Scripted) -> None:
        assert process.hear()["t"] == "task"
        process.ask_clock(1)
        assert process.hear()["key"] == "0/1"
        process.say(t="effect", key="0/2", kind="sleep", args={"seconds": 3600})
        assert process.hear()["t"] == "cancel"
        process.say(t="effect", key="0/3", kind="report", args={"text": "closing"})
        process.say(t="failed", error={"kind": "cancelled", "message": "enough"}, model=None)

    def step(name: str, key: str) -> None:
        if (name, key) == ("after note", "0/2"):
            raise LeaseLost("the worker died")

    path = package(tmp_path / "package", "go: {}")
    task = Task("t", "action", (path,), model(), method="go", object_id="1", seed="s")
    workers = list[Worker]()

    def work(play: Callable[[Scripted], None], **more: Any) -> Any:
        with Case(None, tmp_path, task).journal() as journal:  # type: ignore[arg-type]
            host = HostThread(lambda: make_host(tmp_path))
            workers.append(Worker(task, journal, Launcher(play), host, policies=Policies(UNSAFE), **more))
            return workers[-1].run()

    with pytest.raises(LeaseLost):
        work(first, step=step)
    outcome = work(second)
    assert (outcome.state, outcome.error["message"]) == ("cancelled", "enough")
    assert [report["text"] for report in outcome.reports] == ["closing", "closing"]


def test_the_end_of_a_process_that_dies_of_a_cancellation_is_in_the_journal(tmp_path: Path) -> None:
    """Else a worker that dies before the row of its task is written would leave one that begins again."""

    def dies(process: Scripted) -> None:
        assert process.hear()["t"] == "task"
        assert process.hear()["t"] == "cancel"

    path = package(tmp_path / "package", "go: {}")
    task = Task("t", "action", (path,), model(), method="go", object_id="1", seed="s")
    with Case(None, tmp_path, task).journal() as journal:  # type: ignore[arg-type]
        host = HostThread(lambda: make_host(tmp_path))
        worker = Worker(task, journal, Launcher(dies), host, policies=Policies(UNSAFE))
        worker.cancel("enough")
        assert worker.run().state == "killed"
        ended = journal.begin(task.as_json(), worker.engine, 0.0).ended
    assert ended is not None and ended.state == "killed"
