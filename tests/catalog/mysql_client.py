"""A client of MySQL's protocol as an application has one: a connection a question, rows of texts."""

from __future__ import annotations

import hashlib
import socket
import struct
import time
from typing import Any


class Refused(Exception):
    """The database answered with an error."""


def ask(host: str, login: dict[str, str], statement: str, database: str = "", patience: float = 20) -> list[list[Any]]:
    """The rows of a statement. Raises `Refused`; a server that does not listen yet is asked again."""
    end = time.monotonic() + patience
    while True:
        try:
            with socket.create_connection((host, 3306), 10) as connection, connection.makefile("rb") as file:
                return _Session(connection, file, login, database).query(statement)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


class _Session:
    def __init__(self, connection: socket.socket, file: Any, login: dict[str, str], database: str) -> None:
        self.connection, self.file, self.number = connection, file, 0
        hello = self._receive()
        rest = hello[hello.index(b"\0", 1) + 1 :]
        nonce = rest[4:12] + rest[31:43]
        once = hashlib.sha1(login["password"].encode()).digest()
        twice = hashlib.sha1(nonce + hashlib.sha1(once).digest()).digest()
        proof = bytes(left ^ right for left, right in zip(once, twice, strict=True))
        flags = 0x0001 | 0x0200 | 0x8000 | 0x80000 | (0x0008 if database else 0)
        answer = struct.pack("<IIB23x", flags, 1 << 24, 45) + login["user"].encode() + b"\0" + bytes([20]) + proof
        answer += database.encode() + b"\0" if database else b""
        self._send(answer + b"mysql_native_password\0")
        self._checked(self._receive())

    def query(self, statement: str) -> list[list[Any]]:
        """The rows of one statement."""
        self.number = 0
        self._send(b"\x03" + statement.encode())
        first = self._checked(self._receive())
        if first[0] == 0:
            return []
        for _ in range(first[0]):
            self._receive()
        self._receive()  # the end of the columns
        rows = []
        while (packet := self._checked(self._receive()))[0] != 0xFE or len(packet) >= 9:
            row, at = [], 0
            while at < len(packet):
                size, at = _length(packet, at)
                row.append(None if size is None else packet[at : at + size].decode())
                at += size or 0
            rows.append(row)
        return rows

    def _receive(self) -> bytes:
        head = self.file.read(4)
        if len(head) < 4:
            raise OSError("closed")
        self.number = head[3] + 1
        body: bytes = self.file.read(int.from_bytes(head[:3], "little"))
        return body

    def _send(self, body: bytes) -> None:
        self.connection.sendall(len(body).to_bytes(3, "little") + bytes([self.number & 255]) + body)

    def _checked(self, packet: bytes) -> bytes:
        if packet[0] == 0xFF:
            text = packet[9:] if packet[3:4] == b"#" else packet[3:]
            raise Refused(f"{int.from_bytes(packet[1:3], 'little')} {text.decode('utf-8', 'replace')}")
        return packet


def _length(packet: bytes, at: int) -> tuple[int | None, int]:
    first = packet[at]
    if first == 0xFB:
        return None, at + 1
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first, 0)
    if not width:
        return first, at + 1
    return int.from_bytes(packet[at + 1 : at + 1 + width], "little"), at + 1 + width
