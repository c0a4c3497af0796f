"""The task process's side of its pipe: what is waited for, in which order, and what ends a wait."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from vetro.engine.task.pipe_effects import Disconnected, PipeEffects
from vetro.frames import Decoder, encode
from vetro.muranopl.runtime.effects import EffectFailed, NotPlainData
from vetro.muranopl.runtime.exceptions import catches
from vetro.yaql.errors import Cancelled


class Other:
    """The worker's end."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._decoder = Decoder()

    def say(self, *messages: dict[str, Any]) -> None:
        self.sock.sendall(b"".join(encode(m) for m in messages))

    def answers(self, *keys: str) -> None:
        self.say(*({"t": "answer", "key": key, "answer": f"for {key}"} for key in keys))

    def heard(self) -> list[dict[str, Any]]:
        """What was sent so far."""
        found: list[dict[str, Any]] = []
        self.sock.setblocking(False)
        try:
            while data := self.sock.recv(1 << 16):
                found += self._decoder.feed(data)
        except BlockingIOError:
            pass
        finally:
            self.sock.setblocking(True)
        return found


@pytest.fixture
def ends() -> Iterator[tuple[PipeEffects, Other]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield PipeEffects(ours.fileno()), Other(theirs)


Ends = tuple[PipeEffects, Other]


def test_nobody_waits_for_a_report(ends: Ends) -> None:
    effects, other = ends
    assert effects.perform("0/1", "report", {"text": "hello"}) is None
    assert other.heard() == [{"t": "effect", "key": "0/1", "kind": "report", "args": {"text": "hello"}}]


def test_a_quick_effect_leaves_earlier_answers_for_their_branches(ends: Ends) -> None:
    effects, other = ends
    effects.begin("0.0/1", "stack.push", {})
    effects.begin("0.1/1", "stack.push", {})
    other.answers("0.1/1", "0.0/1", "0.2/1")
    assert effects.perform("0.2/1", "clock", {}) == "for 0.2/1"
    delivered = [effects.next_answer(), effects.next_answer()]
    assert [(key, answer()) for key, answer in delivered if answer] == [  # type: ignore[misc]
        ("0.1/1", "for 0.1/1"),
        ("0.0/1", "for 0.0/1"),
    ]


@pytest.mark.parametrize(
    ("kind", "waits"), [("report", False), ("clock", False), ("stack.push", True), ("sleep", True), ("made.up", True)]
)
def test_which_effects_let_others_run(ends: Ends, kind: str, waits: bool) -> None:
    assert ends[0].waits(kind) is waits


def test_an_error_is_raised_under_its_names(ends: Ends) -> None:
    effects, other = ends
    error = {"kind": "stack-failed", "message": "no quota", "names": ["a.Failed"], "code": "CLD1", "hint": "ask"}
    other.say({"t": "answer", "key": "0/1", "error": error})
    with pytest.raises(EffectFailed, match="no quota") as raised:
        effects.perform("0/1", "stack.push", {})
    assert catches(raised.value, ("a.Failed",))
    assert not catches(raised.value, ("another.Name",))
    assert (raised.value.kind, raised.value.code, raised.value.hint) == ("stack-failed", "CLD1", "ask")
    assert EffectFailed.kind == "error"  # that of the class is as it was


def test_cancelling_ends_a_wait_and_refuses_what_follows(ends: Ends) -> None:
    effects, other = ends
    reasons: list[str] = []
    effects.on_cancel = reasons.append
    other.say({"t": "cancel", "reason": "enough"})
    with pytest.raises(Cancelled, match="enough"):
        effects.perform("0/1", "stack.push", {})
    assert reasons == ["enough"]
    other.heard()
    for attempt in (effects.begin, effects.perform):
        with pytest.raises(Cancelled, match="enough"):
            attempt("0/2", "report", {})
    assert other.heard() == []
    assert effects.next_answer() is None


def test_an_answer_that_says_cancelled_stops_the_run(ends: Ends) -> None:
    effects, other = ends
    other.say({"t": "answer", "key": "0/1", "error": {"kind": "cancelled", "message": "by the host", "names": []}})
    with pytest.raises(Cancelled, match="by the host"):
        effects.perform("0/1", "stack.push", {})


def test_looking_takes_in_a_cancellation_without_waiting(ends: Ends) -> None:
    effects, other = ends
    effects.look()
    assert effects.cancelled is None
    other.say({"t": "cancel"})
    effects.look()
    assert effects.cancelled == "the task was cancelled"


def test_a_checkpoint_waits_until_all_branches_do(ends: Ends) -> None:
    effects, other = ends
    taken: list[str] = []
    effects.on_checkpoint = lambda: taken.append("taken")
    other.say({"t": "checkpoint"}, {"t": "answer", "key": "0/1", "answer": 1})
    effects.perform("0/1", "clock", {})
    assert taken == []  # other branches may be in the middle of something
    effects.begin("0/2", "sleep", {"seconds": 1})
    other.answers("0/2")
    effects.next_answer()
    assert taken == ["taken"]
    effects.begin("0/3", "sleep", {"seconds": 1})
    other.answers("0/3")
    effects.next_answer()
    assert taken == ["taken"]


def test_the_end_of_the_pipe_ends_everything(ends: Ends) -> None:
    effects, other = ends
    effects.begin("0/1", "stack.push", {})
    other.sock.close()
    with pytest.raises(Disconnected):
        effects.next_answer()
    with pytest.raises(Disconnected):
        effects.send({"t": "done"})


def test_what_json_cannot_say_is_an_error_of_the_package(ends: Ends) -> None:
    effects, other = ends
    with pytest.raises(NotPlainData, match=r"'report'"):
        effects.perform("0/1", "report", {"x": float("inf")})
    assert other.heard() == []


def test_refused_effects_can_be_allowed_again(ends: Ends) -> None:
    effects, _ = ends
    effects.refuse("not now")
    with pytest.raises(Cancelled, match="not now"):
        effects.perform("0/1", "report", {})
    effects.allow()
    assert effects.perform("0/2", "report", {}) is None


def test_both_sides_may_write_much_at_once(ends: Ends) -> None:
    """Neither end reads before it has written: with plain blocking writes this would stand still for ever."""
    effects, other = ends
    much = "x" * 3_000_000
    received: list[int] = []

    def worker() -> None:
        other.say({"t": "answer", "key": "0/0", "answer": much})
        decoder, total = Decoder(), 0
        while not total:
            total = sum(len(m["args"]["text"]) for m in decoder.feed(other.sock.recv(1 << 16)))
        received.append(total)
        other.answers("0/1")

    thread = threading.Thread(target=worker)
    thread.start()
    assert effects.perform("0/1", "stack.push", {"text": much}) == "for 0/1"
    thread.join(30)
    assert received == [len(much)]
    found = effects.next_answer()
    assert found is not None and len(found[1]()) == len(much)


@pytest.mark.parametrize("branches", [True, False])
def test_an_answer_that_arrives_while_a_checkpoint_is_written_is_not_waited_for_again(
    ends: Ends, branches: bool
) -> None:
    """The checkpoint is larger than the pipe, so the task reads while it writes; no further message ever comes."""
    effects, other = ends
    effects.on_checkpoint = lambda: effects.send({"t": "checkpoint", "model": "x" * 4_000_000})
    done = threading.Event()

    def worker() -> None:
        other.say({"t": "checkpoint"})
        other.answers("0.0/1")  # in the pipe before the task reads again
        decoder = Decoder()
        while not any(message["t"] == "checkpoint" for message in decoder.feed(other.sock.recv(1 << 16))):
            pass
        done.wait(20)
        other.sock.close()  # ends a task that waits for ever

    if branches:
        effects.begin("0.0/1", "stack.push", {})
    other.say({"t": "checkpoint"})
    while not effects._wanted:
        effects.look()
    thread = threading.Thread(target=worker)
    thread.start()
    try:
        if branches:
            found = effects.next_answer()
            assert found is not None and found[1]() == "for 0.0/1"
        else:
            assert effects.perform("0.0/1", "stack.push", {}) == "for 0.0/1"
    finally:
        done.set()
        thread.join()
