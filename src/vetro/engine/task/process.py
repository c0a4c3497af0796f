"""`TaskProcess`: one task process, as the worker sees it; `Exit`: how it ended. `launcher` says which frames pass."""

from __future__ import annotations

import json
import select
import signal
import socket
import time
from collections import deque
from types import TracebackType
from typing import Any

from vetro.data_classes import dataclass
from vetro.engine.task.messages import DEFECT, DISCONNECTED, FINE, OUT_OF_MEMORY
from vetro.frames import Decoder, encode
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.yaql.errors import VetroError

#: Seconds a killed process may take to be gone.
END_SECONDS = 30.0
_READ = 1 << 18


class TaskProcessEnded(VetroError):
    """The task process is gone; what it sent before was received."""

    kind = "error"
    code = "ENG306"


@dataclass(frozen=True, slots=True)
class Exit:
    """How a task process ended. ``status`` and ``signal`` are None when nobody could see it (the zygote died)."""

    status: int | None = None
    signal: int | None = None
    #: Processor time in seconds and largest resident memory in KiB.
    cpu_seconds: float = 0.0
    memory_kib: int = 0

    @property
    def reason(self) -> str:
        """A sentence for people."""
        if self.signal == signal.SIGXCPU:
            return "it used up its processor time and did not stop by itself"
        if self.signal is not None:
            return f"it was killed by signal {self.signal} ({signal.strsignal(self.signal)})"
        return _STATUSES.get(self.status, f"it ended with status {self.status}")


_STATUSES: dict[int | None, str] = {
    None: "the process that started it died",
    FINE: "it ended by itself",
    DISCONNECTED: "its pipe was closed",
    OUT_OF_MEMORY: "it ran out of memory",
    DEFECT: "it ended by a defect of the engine",
}


class TaskProcess:
    """One task process. Use it from one thread; `kill` may be called from any. A context manager: it kills at its end.

    ``bytes_sent`` and ``bytes_received`` count the pipe's bytes.
    """

    def __init__(self, pipe: socket.socket, status: socket.socket, pid: int) -> None:
        self.pid = pid
        self.bytes_sent = 0
        self.bytes_received = 0
        self._pipe = pipe
        self._status = status
        self._decoder = Decoder()
        self._messages: deque[dict[str, Any]] = deque()
        self._exit: Exit | None = None

    def __enter__(self) -> TaskProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def fileno(self) -> int:
        """The descriptor to wait on for `receive`; messages that were read already do not show there: see `pending`."""
        return self._pipe.fileno()

    @property
    def stream(self) -> socket.socket:
        """The pipe itself, for those who speak no frames any more (`vetro.engine.query.sandboxed_worker`)."""
        return self._pipe

    @property
    def pending(self) -> bool:
        """Whether `receive` has a message without reading."""
        return bool(self._messages)

    def send(self, message: dict[str, Any]) -> int:
        """Sends one frame; its bytes. Raises `TaskProcessEnded`, and `FrameError` for one that is too large."""
        with deep_calls():
            data = encode(message)
        try:
            self._pipe.sendall(data)
        except OSError:
            raise TaskProcessEnded(f"task process {self.pid} is gone") from None
        self.bytes_sent += len(data)
        return len(data)

    def receive(self, timeout: float | None = None) -> dict[str, Any] | None:
        """The next message; None when none came within ``timeout`` seconds.

        Raises `TaskProcessEnded` when the process is gone and all its messages were received; `FrameError`.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while not self._messages:
            left = None if until is None else max(0.0, until - time.monotonic())
            poll = select.poll()
            poll.register(self._pipe, select.POLLIN)
            if not poll.poll(None if left is None else left * 1000):
                return None
            try:
                data = self._pipe.recv(_READ)
            except ConnectionError:
                data = b""
            if not data:
                raise TaskProcessEnded(f"task process {self.pid} is gone")
            self.bytes_received += len(data)
            with deep_calls():
                self._messages.extend(self._decoder.feed(data))
        return self._messages.popleft()

    def kill(self) -> None:
        """Kills the process at once. Does nothing when it has ended."""
        try:
            self._status.send(b"kill", socket.MSG_DONTWAIT)
        except OSError:
            pass

    def wait(self, timeout: float | None = None) -> Exit | None:
        """How the process ended; None when it did not within ``timeout`` seconds."""
        if self._exit is None:
            poll = select.poll()
            poll.register(self._status, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1000):
                return None
            try:
                data = self._status.recv(4096)
            except ConnectionError:
                data = b""
            found = json.loads(data) if data else {}
            self._exit = Exit(found.get("exit"), found.get("signal"), found.get("cpu", 0.0), found.get("memory", 0))
        return self._exit

    def close(self) -> None:
        """Kills the process unless it has ended, and lets its sockets go."""
        self._pipe.close()
        if self._status.fileno() >= 0:
            if self._exit is None:
                self.kill()
                self.wait(END_SECONDS)
            self._status.close()
