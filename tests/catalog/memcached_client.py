"""A client of Memcached as applications have them: the text protocol, a login, and a server chosen by the key."""

from __future__ import annotations

import socket
import time
import zlib
from collections.abc import Sequence
from types import TracebackType
from typing import Self


class Refused(Exception):
    """Memcached does not take the login, or wants one."""


class Connection:
    """To one server, as the user that clients have where a password is given."""

    def __init__(self, host: str, password: str | None = None, patience: float = 20) -> None:
        end = time.monotonic() + patience
        while True:
            try:
                self._socket = socket.create_connection((host, 11211), 5)
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        self._stream = self._socket.makefile("rwb")
        if password is not None:
            word = f"memcached {password}".encode()
            if (answer := self._say(b"set login 0 0 %d\r\n%s" % (len(word), word))) != "STORED":
                self.close()
                raise Refused(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def _say(self, data: bytes) -> str:
        self._stream.write(data + b"\r\n")
        self._stream.flush()
        answer = self._stream.readline().decode().strip()
        if not answer:
            raise OSError("the connection is closed")
        return answer

    def get(self, key: str) -> str | None:
        head = self._say(f"get {key}".encode()).split()
        if head == ["END"]:
            return None
        if head[0] != "VALUE":
            raise Refused(" ".join(head))
        value = self._stream.read(int(head[3]) + 2)[:-2].decode()
        assert self._stream.readline().strip() == b"END"
        return str(value)

    def set(self, key: str, value: str) -> None:
        data = value.encode()
        if (answer := self._say(b"set %s 0 0 %d\r\n%s" % (key.encode(), len(data), data))) != "STORED":
            self.close()
            raise Refused(answer)


def server_of(key: str, hosts: Sequence[str]) -> str:
    """The one that has a key: each client that knows the same servers chooses the same."""
    return hosts[zlib.crc32(key.encode()) % len(hosts)]
