"""`HostProcess`: an effects host in a process of its own, as the worker starts it."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from typing import Any

from vetro.engine.host.answer import GRACE
from vetro.engine.host.forker import HostForker
from vetro.engine.worker.ports import HostUnavailable
from vetro.frames import Decoder, FrameError, encode

#: Seconds it may take to open its cloud: a first start prepares data and removes leftovers.
START_SECONDS = 120.0


class _Forked:
    """A process that is not our child, by its descriptor."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor = descriptor

    def wait(self, timeout: float | None = None) -> None:
        """Until it has ended. Raises `subprocess.TimeoutExpired`."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        if not poll.poll(None if timeout is None else timeout * 1000):
            raise subprocess.TimeoutExpired("vetro.engine.host", timeout or 0.0)
        os.close(self._descriptor)

    def kill(self) -> None:
        """Ends it at once."""
        try:
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        except ProcessLookupError:
            pass


class HostProcess:
    """``config`` is what `vetro.engine.host.config.build_host` takes; it goes over the pipe, never by arguments.

    ``forker`` forks the process, which takes milliseconds once it runs itself. A context manager that stops the process
    at its end. Use it from one thread.
    """

    def __init__(self, config: Mapping[str, Any], forker: HostForker) -> None:
        self._config = dict(config)
        self._forker = forker
        self._process: _Forked | None = None
        self._ours: socket.socket | None = None

    def __enter__(self) -> HostProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """Its process id; None when it does not run."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Starts it, after its end again. Raises `HostUnavailable` with what it said."""
        self.stop()
        self._ours, pid, descriptor = self._forker.fork()
        self._process = _Forked(pid, descriptor)
        try:
            self._ours.sendall(encode({"t": "config", "config": self._config}))
            answer = self._first()
        except (OSError, FrameError):
            answer = None
        if answer is None or answer["t"] != "ready":
            said = "" if answer is None else f": {answer['error']['message']}"
            self._end(0.0)
            raise HostUnavailable(f"the effects host could not begin{said}")

    def _first(self) -> dict[str, Any] | None:
        """Its first word; None when it ended or said nothing for too long."""
        assert self._ours is not None
        decoder, until = Decoder(), time.monotonic() + START_SECONDS
        while (left := until - time.monotonic()) > 0:
            poll = select.poll()
            poll.register(self._ours, select.POLLIN)
            if poll.poll(left * 1000):
                data = self._ours.recv(1 << 16)
                if not data:
                    return None
                messages = decoder.feed(data)
                if messages:
                    return messages[0]
        return None

    def fileno(self) -> int:
        """Our end of its socket pair."""
        assert self._ours is not None, "the host is not running"
        return self._ours.fileno()

    def kill(self) -> None:
        """See `HostPort.kill`."""
        if self._process is not None:
            self._process.kill()
            self._end(2 * GRACE)

    def stop(self) -> None:
        """Ends it; what its cloud is doing gets `GRACE` seconds. Nothing when it does not run."""
        if self._ours is not None:
            try:
                self._ours.setblocking(False)
                self._ours.send(encode({"t": "finish"}))
            except OSError:
                pass
        self._end(2 * GRACE)

    def _end(self, grace: float) -> None:
        if self._process is not None:
            try:
                self._process.wait(grace)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._ours is not None:
            self._ours.close()
            self._ours = None
