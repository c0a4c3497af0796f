"""An effects host inside the process of a test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

from vetro.engine.host.frame_server import Service
from vetro.engine.host.performer import EffectsHost

#: Seconds that effects in progress get at the end.
GRACE = 5.0


class HostThread:
    """An effects host on threads of this process (`vetro.engine.worker.ports.HostPort`); ``make`` makes one."""

    def __init__(self, make: Callable[[], EffectsHost]) -> None:
        self._make = make
        self._ours: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts it, after its end again."""
        self.stop()
        self._ours, theirs = socket.socketpair()
        host = self._make()
        self._thread = threading.Thread(target=self._serve, args=(theirs, host), name="effects host", daemon=True)
        self._thread.start()

    @staticmethod
    def _serve(theirs: socket.socket, host: EffectsHost) -> None:
        with theirs:
            Service(theirs.fileno(), host).run()
            host.close(GRACE)

    def fileno(self) -> int:
        """Our end of its socket pair."""
        assert self._ours is not None
        return self._ours.fileno()

    def kill(self) -> None:
        """A thread cannot be killed: as `stop`."""
        self.stop()

    def stop(self) -> None:
        """Ends it."""
        if self._ours is not None:
            self._ours.shutdown(socket.SHUT_WR)
            assert self._thread is not None
            self._thread.join(2 * GRACE)
            self._ours.close()
            self._ours = None
