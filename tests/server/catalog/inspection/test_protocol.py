"""Questions and answers as bytes: whoever asks believes nothing of what is answered, and never waits for ever."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest

from vetro.server.catalog.inspection import protocol
from vetro.server.catalog.inspection.protocol import LARGEST, exchange, packed, received


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_large_questions_and_answers(pair: Any) -> None:
    """Larger than the pipe holds, both ways, several after each other."""
    ours, theirs = pair
    asked: list[Any] = []

    def answer() -> None:
        with theirs.makefile("rb") as file:
            while (found := received(file)) is not None:
                asked.append(found[0])
                theirs.sendall(b"".join(packed({"got": [len(b) for b in found[1]]}, found[1][::-1])))

    thread = threading.Thread(target=answer)
    thread.start()
    blobs = [b"a" * 3_000_000, b"", b"b" * 10]
    for number in (1, 2):
        head, back = exchange(ours, packed({"n": number, "text": "\ud800"}, blobs), 60)
        assert head == {"got": [3_000_000, 0, 10]} and back == blobs[::-1]
    ours.shutdown(socket.SHUT_WR)
    thread.join(60)
    assert asked == [{"n": 1, "text": "\ud800"}, {"n": 2, "text": "\ud800"}]


def test_the_end_of_questions() -> None:
    assert received(BytesIO(b"")) is None
    assert received(BytesIO(b"\1\0")) is None


def framed(text: bytes) -> bytes:
    return struct.pack("<I", len(text)) + text


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<I", LARGEST),
        framed(json.dumps({"sizes": [LARGEST + 1]}).encode()),
        framed(json.dumps({"sizes": [-1]}).encode()),
        framed(json.dumps({"sizes": [True]}).encode()),
        framed(json.dumps({"sizes": 1}).encode()),
        framed(b"{}"),
        framed(b"[]"),
        framed(b"nonsense"),
        framed(b"\xff"),
        framed(b"[" * 4_900),
        framed(b'{"sizes":[],"x":[' + b"[]," * 3_000 + b"[]]}"),
    ],
    ids=["head", "blob", "negative", "bool", "number", "no sizes", "list", "no json", "no text", "nesting", "many"],
)  # fmt: skip
def test_answers_that_are_none(pair: Any, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pair
    monkeypatch.setattr(protocol, "MOST", 5_000)  # a list of no bytes takes twenty times those of its brackets
    theirs.sendall(data)
    with pytest.raises(ValueError, match=r"answer|Expecting|codec|nested"):
        exchange(ours, packed({}, []), 30)


def test_somebody_who_goes_away(pair: Any) -> None:
    ours, theirs = pair
    theirs.sendall(b"\5\0\0\0{")
    theirs.close()
    with pytest.raises(EOFError):
        exchange(ours, packed({}, [b"x" * 1_000_000]), 30)


def test_somebody_who_neither_reads_nor_answers(pair: Any) -> None:
    with pytest.raises(TimeoutError):
        exchange(pair[0], packed({}, [b"x" * 5_000_000]), 0.05)
