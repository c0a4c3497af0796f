"""`Run` with task processes that say what they are told to, when they are told to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.faults.harness import UNSAFE, Case, make_host, model, package
from tests.support.host_thread import HostThread
from vetro.engine.task.launcher import Exit
from vetro.engine.task.task import Task
from vetro.engine.worker.ports import Policies
from vetro.engine.worker.state import Limits
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
        limits, host = Limits(stall_seconds=0.5), HostThread(lambda: make_host(folder))
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
