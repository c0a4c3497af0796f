"""`Bodies`: bodies of requests, bounded in size before or while they are read, and in number while they arrive."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from django.core.exceptions import RequestDataTooBig

from vetro.server.errors import Unavailable

#: Bytes of an unwanted body that are read all the same.
_DRAINED = 8 << 20


class BodyRefused(Exception):
    """The body cannot be taken."""

    def __init__(self, status: int, title: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.status_line = f"{status} {title}"


class Bodies:
    """``largest``: bytes of a body; ``at_once``: how many a process receives at the same time.

    A client that sends slowly holds a thread. Beyond ``at_once`` of them further bodies are refused with 503, and
    threads are left for requests without one.
    """

    def __init__(self, largest: int, at_once: int) -> None:
        self._largest = largest
        self._places = threading.BoundedSemaphore(at_once)

    def prepare(self, environ: dict[str, Any]) -> None:
        """Sees to it that a body has a ``CONTENT_LENGTH`` of at most ``largest`` bytes. Raises `BodyRefused`.

        Django reads as many bytes as are announced; a body that comes in chunks announces none, so it gets the largest
        length, and reading beyond raises `RequestDataTooBig`. Nothing is read here: who may not send anything is told
        so before it is read.
        """
        length = environ.get("CONTENT_LENGTH") or ""
        if length:
            if not length.isascii() or not length.isdigit():
                raise BodyRefused(400, "Bad Request", "Content-Length is no number\n")
            if len(length) > 18 or int(length) > self._largest:
                message = f"the body of a request has at most {self._largest >> 20} MiB\n"
                raise BodyRefused(413, "Request Entity Too Large", message)
        elif "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
            environ["CONTENT_LENGTH"] = str(self._largest)
        else:
            return
        environ["wsgi.input"] = _Input(environ["wsgi.input"], self._largest, self._places)

    def drain(self, environ: dict[str, Any]) -> None:
        """Reads what is left of a body that was not wanted, up to 8 MiB that were announced.

        A client that still sends when the connection is closed never sees the answer, so one that was refused would
        not learn why. Who sends more than that, or does not say how much, has to live with it.
        """
        body = environ["wsgi.input"]
        announced = "HTTP_TRANSFER_ENCODING" not in environ
        if isinstance(body, _Input) and announced and 0 < int(environ["CONTENT_LENGTH"]) - body.received <= _DRAINED:
            with contextlib.suppress(Unavailable, RequestDataTooBig, OSError):
                while body.read(1 << 16):
                    pass


class _Input:
    """A body whose end shows itself."""

    def __init__(self, source: Any, largest: int, places: threading.BoundedSemaphore) -> None:
        self._source = source
        self._left = self._largest = largest
        self._places = places

    @property
    def received(self) -> int:
        """Bytes read so far."""
        return self._largest - self._left

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; nothing at the end."""
        return self._received(self._source.read, size)

    def readline(self, size: int = -1) -> bytes:
        """The same up to the end of a line."""
        return self._received(self._source.readline, size)

    def _received(self, read: Callable[[int], bytes], size: int) -> bytes:
        if not self._places.acquire(blocking=False):
            raise Unavailable("Too many bodies are being received.", hint="try again in a moment")
        try:
            part = read(self._left if size < 0 else min(size, self._left))
            self._left -= len(part)
            if not self._left and self._source.read(1):
                raise RequestDataTooBig(f"the body of a request has at most {self._largest >> 20} MiB")
        finally:
            self._places.release()
        return part
