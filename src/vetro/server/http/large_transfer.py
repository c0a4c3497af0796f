"""How a large request goes to the process that answers those (`large_process`), and its answer comes back.

What goes over is what the application knows of the request, and its body as an open file. The answer is received into a
file before anything of it is sent, so that a client that reads slowly keeps no other large request waiting.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, cast
from wsgiref.util import FileWrapper

from vetro.data_classes import dataclass
from vetro.server.config.address import RUN
from vetro.server.errors import TooLarge, TooMany, Unavailable
from vetro.server.http.concurrency import Places

#: Name of the socket in the folder of a run.
SOCKET: Final = "large"
#: Seconds that an answer may take, and bytes of it that are kept in memory.
SECONDS: Final = 120.0
_SMALL, _BLOCK = 1 << 20, 1 << 18
#: Bytes of an answer that the gateway gets as a whole, which needs no thread for sending that.
_AT_ONCE: Final = 16 << 20
_LENGTH: Final = struct.Struct("!I")


@dataclass(slots=True)
class SentResponse:
    """What is sent to the client. ``route``: the pattern that its path has; None where there is none."""

    status: str
    headers: list[tuple[str, str]]
    parts: Iterable[bytes]
    route: str | None = None

    @property
    def code(self) -> int:
        """The number of the status."""
        return int(self.status[:3])


class Files:
    """Answers that are sent from files: each holds a thread for as long as its client reads, so nobody has two."""

    def __init__(self) -> None:
        self._places = Places(4, 1)

    def sent(self, answer: SentResponse, whose: str) -> SentResponse:
        """The same, with a place until it was sent. Raises `TooMany`; then the file is closed."""
        file = cast(FileWrapper, answer.parts)
        try:
            self._places.take(whose, False)
        except Unavailable:
            file.close()
            raise TooMany(
                "Another large answer is being sent to this project.",
                hint="wait for its end",
                details={"retry_after": 5},
            ) from None
        answer.parts = _Sent(file, lambda: self._places.give(whose, False))
        return answer


class _Sent:
    def __init__(self, file: FileWrapper, after: Callable[[], None]) -> None:
        self._file, self._after = file, after

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._file)

    def close(self) -> None:
        """The file is closed and the place free."""
        self._file.close()
        self._after()


def there() -> bool:
    """Whether this process is one of a `vetro serve`, which has a process for large requests."""
    return bool(os.environ.get(RUN))


@contextlib.contextmanager
def address(folder: Path) -> Iterator[str]:
    """The path of the socket, short enough however long that of the folder is."""
    number = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{number}/{SOCKET}"
    finally:
        os.close(number)


def hand_over(environ: Mapping[str, Any], whose: str, body: tuple[int, int] | None) -> SentResponse:
    """The answer of the other process. ``body``: descriptor and size.

    Raises `Unavailable` when it cannot be reached, `TooLarge` when it gives up.
    """
    told = {key: value for key, value in environ.items() if isinstance(value, str)}
    told["CONTENT_LENGTH"] = str(body[1]) if body is not None else ""
    told.pop("HTTP_TRANSFER_ENCODING", None)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(SECONDS)
        try:
            with address(Path(os.environ[RUN])) as path:
                connection.connect(path)
            given = json.dumps({"whose": whose, "environ": told}).encode()
            socket.send_fds(connection, [_LENGTH.pack(len(given))], [body[0]] if body is not None else [])
            connection.sendall(given)
        except OSError:
            raise Unavailable("Large requests cannot be answered at the moment.", hint="try again soon") from None
        try:
            return _received(connection)
        except (OSError, EOFError):  # it ended: the kernel killed it, or one of its limits did
            raise TooLarge(
                "Answering this takes more memory or time than a request may use.", hint="ask for less at once"
            ) from None


def request_of(connection: socket.socket) -> tuple[str, dict[str, Any], int | None]:
    """What `hand_over` sent: whose it is, its environ, the descriptor of its body. Raises `OSError`, `EOFError`."""
    data, numbers, _, _ = socket.recv_fds(connection, _LENGTH.size, 1)
    try:
        while 0 < len(data) < _LENGTH.size:
            data += _exactly(connection, _LENGTH.size - len(data))
        if not data:
            raise EOFError
        given = json.loads(_exactly(connection, *_LENGTH.unpack(data)))
    except BaseException:
        for number in numbers:
            os.close(number)
        raise
    return given["whose"], given["environ"], numbers[0] if numbers else None


def send(connection: socket.socket, answer: SentResponse) -> None:
    """Sends an answer back. Raises `OSError` where nobody waits for it any more."""
    head = json.dumps([answer.status, answer.headers, answer.route]).encode()
    for part in itertools.chain([head], answer.parts):
        if part:
            connection.sendall(_LENGTH.pack(len(part)))
            connection.sendall(part)
    connection.sendall(_LENGTH.pack(0))


def _received(connection: socket.socket) -> SentResponse:
    status, headers, route = json.loads(_part(connection))
    file = tempfile.SpooledTemporaryFile(_SMALL)  # noqa: SIM115 - closed when the answer was sent
    try:
        while part := _part(connection):
            file.write(part)
        size = file.tell()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    found = [(name, value) for name, value in headers if name.lower() != "content-length"]
    if status[:3] not in ("204", "304"):
        found.append(("Content-Length", str(size)))
    if size <= _AT_ONCE:
        with file:
            return SentResponse(status, found, [file.read()], route)
    return SentResponse(status, found, FileWrapper(cast(IO[bytes], file), _BLOCK), route)


def _part(connection: socket.socket) -> bytes:
    return _exactly(connection, *_LENGTH.unpack(_exactly(connection, _LENGTH.size)))


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        data = connection.recv(min(size - len(found), 1 << 20))
        if not data:
            raise EOFError
        found += data
    return bytes(found)
