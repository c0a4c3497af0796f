"""A small load generator: one thread, some connections that stay open, each with one request under way."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Load:
    """What came of a run: answers by status, and how long each took (seconds)."""

    seconds: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.times) / self.seconds

    def percentile(self, share: float) -> float:
        """Seconds within which this share of the answers came."""
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def request(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def run(port: int, make: Callable[[int], bytes], clients: int, seconds: float) -> Load:
    """Sends ``make(0)``, ``make(1)``… over ``clients`` connections for so long."""
    load = Load()
    number = 0
    with selectors.DefaultSelector() as selector:
        connections = [_Connection(port) for _ in range(clients)]
        began = time.perf_counter()
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.send(make(number))
            number += 1
        end = began + seconds
        waiting = len(connections)
        while waiting:
            for key, _ in selector.select(30):
                connection = key.data
                status = connection.receive()
                if status is None:
                    continue
                now = time.perf_counter()
                load.times.append(now - connection.sent)
                load.statuses[status] = load.statuses.get(status, 0) + 1
                if now < end:
                    connection.send(make(number))
                    number += 1
                else:
                    waiting -= 1
        load.seconds = time.perf_counter() - began
        for connection in connections:
            connection.socket.close()
    return load


class _Connection:
    """One connection; answers must bear a length."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent = 0.0
        self._buffer = b""

    def send(self, data: bytes) -> None:
        self.sent = time.perf_counter()
        self.socket.sendall(data)

    def receive(self) -> int | None:
        """The status of the answer once all of it is there."""
        part = self.socket.recv(1 << 18)
        if not part:
            raise ConnectionError("the service closed the connection")
        self._buffer += part
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return None
        _, _, rest = head.lower().partition(b"content-length:")
        if len(body) < int(rest.partition(b"\r\n")[0]):
            return None
        self._buffer = b""
        return int(head[9:12])
