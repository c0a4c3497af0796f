"""A network between a client and a server that can be lost: silently, as behind a dead switch, or with a refusal."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path


class Network:
    """Listens on ``port`` of 127.0.0.1 and passes everything on to a Unix socket, until `lose` or `refuse`."""

    def __init__(self, target: Path) -> None:
        self._target = str(target)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._flows = threading.Event()
        self._flows.set()
        self._refusing = False
        self._over = False
        self._guard = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, name="network", daemon=True)]
        self._threads[0].start()

    def lose(self) -> None:
        """From now on nothing arrives, and nobody is told."""
        self._flows.clear()

    def refuse(self) -> None:
        """All connections break, and new ones do at once."""
        self._refusing = True
        self._break_all()

    def mend(self) -> None:
        """What was held up arrives, and new connections hold."""
        self._refusing = False
        self._flows.set()

    def close(self) -> None:
        """Ends it."""
        self._over = True
        self._flows.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._break_all()
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _break_all(self) -> None:
        with self._guard:
            for sock in self._sockets:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._over:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                near.close()
                continue
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self._target)
            except OSError:
                near.close()
                far.close()
                continue
            with self._guard:
                self._sockets += [near, far]
            thread = threading.Thread(target=self._join, args=(near, far), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _join(self, near: socket.socket, far: socket.socket) -> None:
        """Passes on both ways until both have ended."""
        back = threading.Thread(target=self._pass_on, args=(far, near), daemon=True)
        back.start()
        self._pass_on(near, far)
        back.join()
        with self._guard:
            self._sockets = [sock for sock in self._sockets if sock not in (near, far)]
        near.close()
        far.close()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._flows.wait()
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
