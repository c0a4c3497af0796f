"""A client of Redis as an application has one: the protocol over a socket, one connection a question."""

from __future__ import annotations

import socket
import time
from io import BufferedRWPair


class Refused(Exception):
    """Redis answered with an error."""


def ask(host: str, password: str, *words: str, patience: float = 20) -> str | int | None:
    """The answer to a command. Raises `Refused`; a server that does not listen yet is asked again."""
    end = time.monotonic() + patience
    while True:
        try:
            with socket.create_connection((host, 6379), 5) as connection, connection.makefile("rwb") as file:
                for command in (("AUTH", password), words):
                    parts = [word.encode() for word in command]
                    file.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
                    file.flush()
                    answer = _answer(file.readline(), file)
                return answer
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def _answer(line: bytes, file: BufferedRWPair) -> str | int | None:
    kind, rest = line[:1], line[1:].strip().decode()
    if not line:
        raise OSError("closed")
    if kind == b"-":
        raise Refused(rest)
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if rest == "-1" else file.read(int(rest) + 2)[:-2].decode()
    return rest
