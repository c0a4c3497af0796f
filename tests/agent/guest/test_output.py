"""What scripts write is told while they run: whole lines, never waited for, bounded."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from vetro.agent.guest import output
from vetro.agent.guest.output import LARGEST, MOST, Pieces, Teller


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pieces]:
    made = Pieces("plan")
    made.theirs.setblocking(False)
    monkeypatch.setattr(Teller, "told", 0)
    monkeypatch.setattr(output, "EVERY", 0.0)
    yield made
    made.close()


def told(pieces: Pieces) -> list[dict[str, Any]]:
    return [json.loads(body) for _, body in pieces.read()]


def test_whole_lines_are_told_and_the_rest_at_the_end(pieces: Pieces) -> None:
    teller = Teller(pieces.theirs, "install.sh", "stdout")
    teller.add("one\ntw\u00f6".encode()[:-1])
    teller.flush()
    teller.flush()
    assert told(pieces) == [
        {
            "Script": "install.sh", "Stream": "stdout", "Text": "one\n", "Left": 0, "FormatVersion": "2.0.0",
            "Action": "Execution:Output", "PlanID": "plan", "Number": 1,
        }
    ]  # fmt: skip
    teller.add("\u00f6".encode()[1:] + b"\nthree")
    teller.flush(last=True)
    teller.flush(last=True)
    assert [(piece["Text"], piece["Number"]) for piece in told(pieces)] == [("tw\u00f6\nthree", 2)]


def test_there_is_a_pause_between_two_pieces(pieces: Pieces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "EVERY", 60.0)
    teller = Teller(pieces.theirs, "s", "stderr")
    for number in range(10):
        teller.add(b"%d\n" % number)
        teller.flush()
    assert [piece["Text"] for piece in told(pieces)] == ["0\n"]
    teller.flush(last=True)
    assert [piece["Text"] for piece in told(pieces)] == ["".join(f"{number}\n" for number in range(1, 10))]


def test_a_flood_leaves_out_whole_lines_and_counts_them(pieces: Pieces) -> None:
    teller = Teller(pieces.theirs, "s", "stdout")
    lines = [b"line %07d\n" % number for number in range(100_000)]
    begun = time.process_time()
    for first in range(0, len(lines), 100):
        teller.add(b"".join(lines[first : first + 100]))
    teller.flush()
    assert time.process_time() - begun < 2
    (piece,) = told(pieces)
    assert len(piece["Text"]) <= LARGEST and piece["Text"].encode() == b"".join(lines)[-len(piece["Text"]) :]
    assert piece["Text"].startswith("line ") and piece["Left"] + len(piece["Text"]) == len(b"".join(lines))


def test_of_a_line_without_end_nothing_is_told(pieces: Pieces) -> None:
    """Half a line may hold half a secret, which nobody knows."""
    teller = Teller(pieces.theirs, "s", "stdout")
    for _ in range(20):
        teller.add(b"x" * LARGEST)
        teller.flush()
    teller.add(b"end\nnext\n")
    teller.flush()
    (piece,) = told(pieces)
    assert (piece["Text"], piece["Left"]) == ("next\n", 20 * LARGEST + 4)


def test_a_plan_that_writes_for_ever_is_told_of_up_to_a_limit_and_at_its_end(pieces: Pieces) -> None:
    teller = Teller(pieces.theirs, "s", "stdout")
    size = 0
    for _ in range(2 * MOST // LARGEST):
        teller.add(b"x" * 63 + b"\n" + (b"y" * 63 + b"\n") * (LARGEST // 64 - 1))
        teller.flush()
        size += sum(len(piece["Text"]) for piece in told(pieces))
    assert MOST <= size <= MOST + LARGEST
    teller.flush(last=True)
    (last,) = told(pieces)
    assert 0 < len(last["Text"]) <= LARGEST and last["Left"] > MOST // 2


def test_nobody_is_waited_for(pieces: Pieces) -> None:
    teller = Teller(pieces.theirs, "s", "stdout")
    for _ in range(1000):
        teller.add(b"x" * 1000 + b"\n")
        teller.flush()
    nobody = Teller(None, "s", "stdout")
    nobody.add(b"x\n")
    nobody.flush(last=True)
    assert len(told(pieces)) > 3


def test_what_is_no_piece_ends_nothing(pieces: Pieces) -> None:
    for wrong in (b"[]", b"{", b"\xff"):
        pieces.theirs.send(wrong)
        assert pieces.read() == []
    Teller(pieces.theirs, "s", "stdout").flush(last=True)
    assert isinstance(pieces.theirs, socket.socket) and pieces.read() == []
