"""A relay between a client and a local port whose connections can be cut."""

from __future__ import annotations

import socket
import threading
from types import TracebackType


class Relay:
    """Listens on ``port`` of an address of this machine and passes everything on to ``target``: two threads each."""

    def __init__(self, target: int, host: str = "127.0.0.1") -> None:
        self.target = target
        #: How many connections there have been.
        self.accepted = 0
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family)
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._guard = threading.Lock()
        self._start(self._accept)

    def __enter__(self) -> Relay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self.cut()
        for thread in self._threads:
            thread.join(10)
        self._listener.close()
        for sock in self._sockets:
            sock.close()

    def cut(self) -> None:
        """Ends all connections as a failing network would, without a word of either side."""
        with self._guard:
            for sock in self._sockets:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def _start(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            far = socket.create_connection(("127.0.0.1", self.target))
            with self._guard:
                self._sockets += [near, far]
            self._start(self._pass_on, near, far)
            self._start(self._pass_on, far, near)

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
        except OSError:
            pass
        for sock in (source, sink):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
