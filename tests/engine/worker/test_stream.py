"""Frames both ways without waiting."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator

import pytest

from vetro.engine.worker.stream import Stream
from vetro.frames import FrameError, encode


@pytest.fixture
def pair() -> Iterator[tuple[Stream, socket.socket]]:
    ours, theirs = socket.socketpair()
    stream = Stream(ours.fileno())
    ours.close()
    yield stream, theirs
    stream.close()
    theirs.close()


def test_both_sides_may_write_more_than_fits(pair: tuple[Stream, socket.socket]) -> None:
    stream, theirs = pair
    other = Stream(theirs.fileno())
    large = {"t": "x", "text": "y" * (4 << 20)}
    stream.send(large)
    other.send(large)
    assert stream.writing
    assert other.writing
    got: dict[int, list[dict[str, object]]] = {0: [], 1: []}
    while not (got[0] and got[1]):
        for number, side in enumerate((stream, other)):
            side.flush()
            got[number] += side.receive()
    assert got == {0: [large], 1: [large]}
    assert stream.bytes == other.bytes > 8 << 20
    other.close()


def test_end_of_the_other_side(pair: tuple[Stream, socket.socket]) -> None:
    stream, theirs = pair
    theirs.sendall(encode({"t": "last"}))
    theirs.close()
    assert stream.receive() == [{"t": "last"}]
    assert stream.closed
    assert stream.failure is None
    stream.send({"t": "nobody"})
    assert not stream.writing
    assert stream.receive() == []


def test_what_is_no_frame_closes(pair: tuple[Stream, socket.socket]) -> None:
    stream, theirs = pair
    theirs.sendall(b"\x00\x00\x00\x02[]")
    assert stream.receive() == []
    assert stream.closed
    assert "kind 't'" in str(stream.failure)


def test_deep_values_pass(pair: tuple[Stream, socket.socket]) -> None:
    stream, theirs = pair
    value: object = "end"
    for _ in range(2000):
        value = [value]
    other = Stream(theirs.fileno())
    stream.send({"t": "deep", "value": value})
    select.select([other], [], [], 5)
    (found,) = other.receive()
    depth = 0
    inner = found["value"]
    while isinstance(inner, list):
        inner, depth = inner[0], depth + 1
    assert (inner, depth) == ("end", 2000)
    other.close()


def test_too_large_a_message_is_refused(pair: tuple[Stream, socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vetro.frames.LARGEST", 100)
    with pytest.raises(FrameError):
        pair[0].send({"t": "x", "text": "y" * 100})
