"""Plans that wait are handed over together; nobody is told before they are written down."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vetro.clouds.interface import CloudError
from vetro.clouds.messages import Message
from vetro.engine.host import outbox as module
from vetro.engine.host.outbox import Outbox


class Single:
    """A channel that takes one message after the other; ``go_on`` holds it."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.go_on = threading.Event()
        self.begun = threading.Event()
        self.go_on.set()

    def send(self, queue: str, message: Message) -> None:
        self.begun.set()
        assert self.go_on.wait(30)
        if message.id == "bad":
            raise CloudError("no such queue")
        self.log.append(message.id)

    def receive(self, queue: str, timeout: float) -> Message | None:
        raise AssertionError("nobody receives")

    def acknowledge(self, queue: str, id: str) -> None:
        self.log.append(f"ack {id}")

    def connected(self, queue: str) -> None:
        return None

    def close(self) -> None:
        pass


class Batched(Single):
    """A channel that writes messages down together."""

    fails = False

    @contextmanager
    def batch(self) -> Iterator[None]:
        self.log.append("begin")
        yield
        if self.fails:
            raise CloudError("the disk is full")
        self.log.append("commit")


def send(outbox: Outbox, channel: Single, *ids: str) -> dict[str, threading.Event]:
    """Sends; ends are noted in the log of the channel."""
    ended = {id: threading.Event() for id in ids}

    def done(id: str, error: Exception | None) -> None:
        channel.log.append(f"{id} {'ok' if error is None else error}")
        ended[id].set()

    for id in ids:
        outbox.send("q", lambda id=id: Message(id, "{}"), lambda error, id=id: done(id, error))  # type: ignore[misc]
    return ended


def held(channel: Single, outbox: Outbox, *ids: str) -> None:
    """Sends ``first``, which is held, then the others, and lets them go: these waited together."""
    channel.go_on.clear()
    first = send(outbox, channel, "first")
    assert channel.begun.wait(30)
    rest = send(outbox, channel, *ids)
    channel.go_on.set()
    for event in (*first.values(), *rest.values()):
        assert event.wait(30)
    outbox.close()


def test_what_waits_is_written_down_once() -> None:
    channel = Batched()
    held(channel, Outbox(channel), "a", "b", "c")
    assert channel.log == ["begin", "first", "commit", "first ok", "begin", *"abc", "commit", "a ok", "b ok", "c ok"]


def test_one_that_fails_does_not_hurt_the_others() -> None:
    for channel in (Batched(), Single()):
        held(channel, Outbox(channel), "a", "bad", "c")
        ends = [line for line in channel.log if " " in line]
        assert ends == ["first ok", "a ok", "bad no such queue", "c ok"]


def test_nobody_is_told_what_was_not_written_down() -> None:
    channel = Batched()
    channel.fails = True
    held(channel, Outbox(channel), "a", "b")
    assert [line for line in channel.log if " " in line] == [f"{id} the disk is full" for id in ("first", "a", "b")]


def test_few_are_written_down_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_IN_BATCH", 2)
    channel = Batched()
    held(channel, Outbox(channel), "a", "b", "c")
    assert channel.log.count("commit") == 3


def test_acknowledgements_are_kept_when_it_closes() -> None:
    channel = Batched()
    outbox = Outbox(channel)
    channel.go_on.clear()
    send(outbox, channel, "a")
    assert channel.begun.wait(30)
    outbox.acknowledge("q", "b")
    channel.go_on.set()
    outbox.close()
    assert channel.log[-3:] == ["begin", "ack b", "commit"]
    single = Single()
    Outbox(single).acknowledge("q", "c")
    assert single.log == ["ack c"]


def test_a_closed_one_says_so() -> None:
    channel = Single()
    outbox = Outbox(channel)
    outbox.close()
    assert send(outbox, channel, "a")["a"].is_set()
    assert channel.log == ["a the effects host was closed"]


def test_nothing_is_sent_for_a_call_that_has_ended() -> None:
    channel = Single()
    outbox = Outbox(channel)
    done = threading.Event()
    outbox.send("q", lambda: None, lambda error: done.set())
    assert done.wait(30)
    outbox.close()
    assert channel.log == []
