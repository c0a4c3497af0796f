"""A client of a message queue as an application has one: AMQP 0-9-1 over a socket, one connection and one channel.

Messages are published with confirms, and taken with acknowledgements.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_METHOD, _HEADER, _BODY, _HEARTBEAT = 1, 2, 3, 8


class Refused(Exception):
    """The other side closed the connection or the channel, and says why."""


def _short(text: str) -> bytes:
    data = text.encode()
    return bytes([len(data)]) + data


def _long(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


class Client:
    """One channel of a connection. `Refused` for what is refused, `OSError` where nobody answers."""

    def __init__(self, host: str, user: str, password: str, virtual_host: str, port: int = 5672) -> None:
        self._socket = socket.create_connection((host, port), 10)
        self._file = self._socket.makefile("rwb")
        try:
            self._open(user, password, virtual_host)
        except BaseException:
            self.close()
            raise

    def _open(self, user: str, password: str, virtual_host: str) -> None:
        self._file.write(b"AMQP\x00\x00\x09\x01")
        self._file.flush()
        self._wait(10, 10)
        plain = _long(f"\0{user}\0{password}".encode())
        told = _short("authentication_failure_close") + b"t\x01"  # else a refused login is not told from a broken line
        properties = _short("capabilities") + b"F" + _long(told)
        self._send(0, 10, 11, _long(properties) + _short("PLAIN") + plain + _short("en_US"))
        channels, frame, _ = struct.unpack(">HIH", self._wait(10, 30)[:8])
        self._send(0, 10, 31, struct.pack(">HIH", channels, frame, 0))
        self._send(0, 10, 40, _short(virtual_host) + _short("") + b"\0")
        self._wait(10, 41)
        self._send(1, 20, 10, _short(""))
        self._wait(20, 11)
        self._send(1, 85, 10, b"\0")
        self._wait(85, 11)

    def close(self) -> None:
        """Ends the connection, whatever it did."""
        with suppress(OSError):
            self._file.close()
        self._socket.close()

    def declare(self, queue: str) -> tuple[int, int]:
        """A durable queue is there, of the kind that the virtual host gives; its ready messages and consumers."""
        self._send(1, 50, 10, b"\0\0" + _short(queue) + b"\x02" + _long(b""))
        data = self._wait(50, 11)
        ready, consumers = struct.unpack(">II", data[1 + data[0] :])
        return ready, consumers

    def delete(self, queue: str) -> None:
        """A queue goes, and its messages."""
        self._send(1, 50, 40, b"\0\0" + _short(queue) + b"\0")
        self._wait(50, 41)

    def publish(self, queue: str, message: bytes) -> None:
        """Ends when the queue has the message. Raises `Refused` where it says that it has not."""
        self._frame(_METHOD, 1, struct.pack(">HH", 60, 40) + b"\0\0" + _short("") + _short(queue) + b"\0")
        self._frame(_HEADER, 1, struct.pack(">HHQHB", 60, 0, len(message), 0x1000, 2))
        self._frame(_BODY, 1, message)
        self._file.flush()
        self._wait(60, 80)

    def take(self, queue: str, keep: bool = False) -> bytes | None:
        """The next message, which is gone then unless it is to be kept; null where there is none."""
        self._send(1, 60, 70, b"\0\0" + _short(queue) + b"\0")
        kind, data = self._next()
        if kind == (60, 72):
            return None
        self._expect(kind, (60, 71), data)
        tag = data[:8]
        size = struct.unpack(">Q", self._read(_HEADER)[4:12])[0]
        body = b""
        while len(body) < size:
            body += self._read(_BODY)
        self._send(1, 60, 90 if keep else 80, tag + (b"\x01" if keep else b"\0"))
        return body

    # -- frames --------------------------------------------------------------------------------------------------------

    def _send(self, channel: int, group: int, method: int, arguments: bytes) -> None:
        self._frame(_METHOD, channel, struct.pack(">HH", group, method) + arguments)
        self._file.flush()

    def _frame(self, kind: int, channel: int, payload: bytes) -> None:
        self._file.write(struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce")

    def _read(self, wanted: int) -> bytes:
        while True:
            head = self._file.read(7)
            if len(head) < 7:
                raise OSError("the connection is closed")
            kind, _, size = struct.unpack(">BHI", head)
            payload = self._file.read(size + 1)
            if len(payload) < size + 1:
                raise OSError("the connection is closed")
            if kind == wanted:
                return bytes(payload[:-1])
            assert kind == _HEARTBEAT, kind

    def _next(self) -> tuple[tuple[int, int], bytes]:
        payload = self._read(_METHOD)
        group, method = struct.unpack(">HH", payload[:4])
        return (group, method), payload[4:]

    def _expect(self, kind: tuple[int, int], wanted: tuple[int, int], data: bytes) -> None:
        if kind in ((10, 50), (20, 40)):
            raise Refused(data[3 : 3 + data[2]].decode("utf-8", "replace"))
        if kind == (60, 120):
            raise Refused("the message is not taken")
        assert kind == wanted, kind

    def _wait(self, *wanted: int) -> bytes:
        kind, data = self._next()
        self._expect(kind, (wanted[0], wanted[1]), data)
        return data


@contextmanager
def connected(hosts: list[str], login: dict[str, str], patience: float = 60) -> Iterator[Client]:
    """A client of whichever of the servers answers. A login that is refused is not tried again."""
    end = time.monotonic() + patience
    while True:
        for host in hosts:
            try:
                client = Client(host, login["user"], login["password"], login["host"])
            except OSError:
                continue
            try:
                yield client
            finally:
                client.close()
            return
        if time.monotonic() > end:
            raise OSError(f"none of {', '.join(hosts)} answers")
        time.sleep(0.2)


def messages(hosts: list[str], login: dict[str, str], queue: str, patience: float = 60) -> list[bytes]:
    """All messages of a queue, which it has no more then. A queue that looks for another leader is asked again."""
    end, found = time.monotonic() + patience, list[bytes]()
    while True:
        try:
            with connected(hosts, login) as client:
                while (message := client.take(queue)) is not None:
                    found.append(message)
                return found
        except Refused as error:
            if "INTERNAL_ERROR" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.5)
