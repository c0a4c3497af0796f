"""Questions about archives and their answers as bytes: 4 bytes length of a JSON head, the head, then the blobs whose
sizes it lists. `exchange` is the asking end; it believes nothing of what the other one says of its sizes.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, BinaryIO

Blobs = Sequence[bytes]

#: Bytes of an answer: facts with pictures, compiled code and a packed archive, and nothing that fills a memory.
LARGEST = 256 << 20
#: Values of a head, roughly: read as JSON they take much more memory than they have bytes.
MOST = 4_000_000
_HEAD = struct.Struct("<I")
_PIECE = 1 << 18


def packed(head: dict[str, Any], blobs: Blobs) -> list[bytes]:
    """The parts of a question or an answer, to be written one after the other."""
    text = json.dumps({**head, "sizes": [len(b) for b in blobs]}).encode("utf-8", "surrogatepass")
    return [_HEAD.pack(len(text)) + text, *blobs]


def received(file: BinaryIO) -> tuple[dict[str, Any], list[bytes]] | None:
    """(head, blobs) of the next question; None at the end."""
    begin = file.read(_HEAD.size)
    if len(begin) < _HEAD.size:
        return None
    head: dict[str, Any] = json.loads(file.read(_HEAD.unpack(begin)[0]))
    return head, [file.read(size) for size in head.pop("sizes")]


def exchange(pipe: socket.socket, parts: Blobs, seconds: float) -> tuple[dict[str, Any], list[bytes]]:
    """Writes a question and reads its answer. Raises `TimeoutError`, `EOFError`, `ValueError` for what is none."""
    until = time.monotonic() + seconds
    pipe.setblocking(False)
    reader = _Reader()
    waiting = deque(memoryview(part) for part in parts if part)
    poll = select.poll()
    while not reader.complete:
        poll.register(pipe, select.POLLIN | (select.POLLOUT if waiting else 0))
        left = until - time.monotonic()
        if left <= 0 or not (ready := poll.poll(left * 1000)):
            raise TimeoutError
        if ready[0][1] & select.POLLOUT and waiting:
            _write(pipe, waiting)
        if ready[0][1] & ~select.POLLOUT:
            reader.read(pipe)
    return reader.answer()


def _write(pipe: socket.socket, waiting: deque[memoryview]) -> None:
    try:
        sent = pipe.send(waiting[0][:_PIECE])
    except BlockingIOError:
        return
    except OSError:  # it died: the reader sees that, too
        waiting.clear()
        return
    waiting[0] = waiting[0][sent:]
    if not waiting[0]:
        waiting.popleft()


class _Reader:
    """An answer while it arrives."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: dict[str, Any] | None = None
        self._sizes: list[int] = []
        self._wanted = _HEAD.size
        self._length = 0

    @property
    def complete(self) -> bool:
        """Whether all of it is there."""
        return self._head is not None and len(self._buffer) >= self._wanted

    def read(self, pipe: socket.socket) -> None:
        """Takes in what has arrived. Raises `EOFError`, `ValueError`."""
        try:
            data = os.read(pipe.fileno(), _PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise EOFError
        self._buffer += data
        if not self._length and len(self._buffer) >= _HEAD.size:
            (self._length,) = _HEAD.unpack_from(self._buffer)
            self._want(_HEAD.size + self._length)
        if self._head is None and self._length and len(self._buffer) >= self._wanted:
            self._read_head()

    def answer(self) -> tuple[dict[str, Any], list[bytes]]:
        """(head, blobs)."""
        assert self._head is not None
        view = memoryview(self._buffer)[_HEAD.size + self._length :]
        blobs = []
        for size in self._sizes:
            blobs.append(bytes(view[:size]))
            view = view[size:]
        return self._head, blobs

    def _read_head(self) -> None:
        text = self._buffer[_HEAD.size : self._wanted]
        if sum(text.count(mark) for mark in (b",", b"[", b"{")) > MOST:
            raise ValueError("an answer of too many parts")
        try:
            head = json.loads(text.decode("utf-8", "surrogatepass"))
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if not isinstance(head, dict) or not isinstance(sizes := head.pop("sizes", None), list):
            raise ValueError("no answer")
        if not all(type(size) is int and size >= 0 for size in sizes):
            raise ValueError("no answer")
        self._want(self._wanted + sum(sizes))
        self._head, self._sizes = head, sizes

    def _want(self, size: int) -> None:
        if size > LARGEST:
            raise ValueError(f"an answer of {size:,} bytes is larger than {LARGEST:,}")
        self._wanted = size
