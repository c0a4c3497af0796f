"""`Stream`: frames over one end of a socket pair, neither reading nor writing ever waits.

The worker talks to two processes at once. If it waited while it writes a large answer, and the other side waited while
it writes a large question, both would wait for ever; so what cannot be written now is kept until it can.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from typing import Any

from vetro.frames import Decoder, FrameError, encode
from vetro.muranopl.runtime.stacks import deep_calls

_CHUNK = 1 << 18
#: Bytes that are taken in at once: what arrives together is committed together, and others wait for that commit.
_AT_ONCE = 1 << 18


class Stream:
    """Frames over the socket ``fd``, which stays the caller's: this is a duplicate."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=os.dup(fd))
        self._decoder = Decoder()
        self._out: deque[memoryview] = deque()
        #: Bytes in both directions.
        self.bytes = 0
        #: The other side has gone (or sent what is no frame: `failure`).
        self.closed = False
        self.failure: str | None = None

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._socket.fileno()

    @property
    def writing(self) -> bool:
        """Whether something is left to write."""
        return bool(self._out) and not self.closed

    def send(self, message: dict[str, Any]) -> None:
        """Sends as soon as the other side takes it. Raises `FrameError` when it is too large."""
        if not self.closed:
            with deep_calls():
                data = encode(message)
            self.bytes += len(data)
            self._out.append(memoryview(data))
            self.flush()

    def flush(self) -> None:
        """Writes what can be written now."""
        try:
            while self._out:
                sent = self._socket.send(self._out[0], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
                if sent < len(self._out[0]):
                    self._out[0] = self._out[0][sent:]
                else:
                    self._out.popleft()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._out.clear()  # what it still said can be read; its end is noticed there

    def receive(self) -> list[dict[str, Any]]:
        """The messages that are there; of many only the first ones, and the others the next time."""
        found: list[dict[str, Any]] = []
        taken = 0
        try:
            while not self.closed and taken < _AT_ONCE:
                data = self._socket.recv(_CHUNK, socket.MSG_DONTWAIT)
                taken += len(data)
                self.bytes += len(data)
                if not data:
                    self.closed = True
                with deep_calls():
                    found += self._decoder.feed(data)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.closed = True
        except FrameError as error:
            self.closed, self.failure = True, error.message
        return found

    def close(self) -> None:
        """Lets the socket go."""
        self.closed = True
        self._socket.close()
