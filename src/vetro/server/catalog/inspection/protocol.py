"""Questions about archives and their answers as bytes: 4 bytes length of a JSON head, the head, then the blobs whose
sizes it lists. `exchange` is the asking end; it believes nothing of what the other one says of its sizes.
"""

from __future__ import annotations

import contextlib
import io
import json
import mmap
import os
import select
import socket
import struct
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, BinaryIO

Blobs = Sequence[bytes | memoryview]

#: Bytes of the blobs of an answer (compiled code, models, a packed archive), and of its head: facts with pictures.
LARGEST, LARGEST_HEAD = 256 << 20, 32 << 20
#: Values of a head, roughly: read as JSON they take much more memory than they have bytes.
MOST = 4_000_000
_HEAD = struct.Struct("<I")
_PIECE = 1 << 18
#: Bytes of what is large that are kept in memory.
_SMALL = 1 << 20


def content_of(file: Any) -> bytes | memoryview:
    """All of a file. One on a disk is mapped: however large it is and however many wait, that takes no memory."""
    size = file.seek(0, os.SEEK_END)
    if size > _SMALL:
        with contextlib.suppress(io.UnsupportedOperation):  # it is none of a disk
            file.flush()
            return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
    file.seek(0)
    return bytes(file.read())


def packed(head: dict[str, Any], blobs: Blobs) -> list[bytes | memoryview]:
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


def exchange(pipe: socket.socket, parts: Blobs, seconds: float) -> tuple[dict[str, Any], list[bytes | memoryview]]:
    """Writes a question and reads its answer. Raises `TimeoutError`, `EOFError`, `ValueError` for what is none."""
    until = time.monotonic() + seconds
    pipe.setblocking(False)
    waiting = deque(memoryview(part) for part in parts if part)
    poll = select.poll()
    with tempfile.SpooledTemporaryFile(_SMALL) as file:
        reader = _Reader(file)
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
    """An answer while it arrives: in a file, which is mapped where it is large, so that it takes no memory."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._begin = bytearray()
        self._head: dict[str, Any] | None = None
        self._sizes: list[int] = []
        self._wanted = _HEAD.size
        self._length = 0

    @property
    def complete(self) -> bool:
        """Whether all of it is there."""
        return self._head is not None and self._file.tell() >= self._wanted

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
        if self._head is not None:
            self._file.write(data)
            return
        self._begin += data
        if not self._length and len(self._begin) >= _HEAD.size:
            (self._length,) = _HEAD.unpack_from(self._begin)
            self._want(self._length, LARGEST_HEAD)
            self._wanted = _HEAD.size + self._length
        if self._length and len(self._begin) >= self._wanted:
            self._read_head()

    def answer(self) -> tuple[dict[str, Any], list[bytes | memoryview]]:
        """(head, blobs)."""
        assert self._head is not None
        view = content_of(self._file)
        blobs = []
        for size in self._sizes:
            blobs.append(view[:size])
            view = view[size:]
        return self._head, blobs

    def _read_head(self) -> None:
        text = self._begin[_HEAD.size : self._wanted]
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
        self._want(sum(sizes), LARGEST)
        self._file.write(self._begin[self._wanted :])
        self._head, self._sizes, self._wanted = head, sizes, sum(sizes)
        self._begin.clear()

    @staticmethod
    def _want(size: int, most: int) -> None:
        if size > most:
            raise ValueError(f"an answer of {size:,} bytes is larger than {most:,}")
