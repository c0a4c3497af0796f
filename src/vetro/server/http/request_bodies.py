"""`Bodies`: bodies of requests, bounded in size, in time, and in how many of them arrive at once, by whom.

Nothing is read before the application asks for it: who may not send anything is told so first. Then all of it is
received, into a file beyond a small size, and the application reads that; what is parsed as a whole and large is for
another process (`vetro.server.large_requests`). A body that is not there at once needs one of the places of
the process, and has to arrive at a least rate: who sends slowly holds a thread. No project has more than some of the
places, nor has an address from which somebody sends who is not signed in; the last quarter is for those who hold none
yet.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

from django.core.exceptions import RequestDataTooBig

from vetro.server import large_requests
from vetro.server.config.config import Config
from vetro.server.errors import Invalid, TooSlow, Unavailable
from vetro.server.http.concurrency import Places, whose
from vetro.server.quotas.limits import limit

#: Bytes of a body of somebody who is not signed in.
STRANGER: Final = 65_536
#: Bytes of a body that is parsed as a whole: JSON, and forms without files.
PARSED: Final = 24 << 20
#: Bytes of a body that are kept in memory while it arrives.
_SMALL: Final = 1 << 20
#: Seconds within which most bodies are there, those that a body may take without a place, and before its rate counts.
#: Between the first two, few of a project or address wait without one.
_THERE, _AT_ONCE, _GRACE = 0.02, 0.25, 5.0
_FEW: Final = 2
#: Bytes of an unwanted body that are read all the same, and seconds for it.
_DRAINED, _DRAIN_SECONDS = PARSED, 5.0
_STEP: Final = 1 << 16
_WITH_FILES: Final = ("multipart/form-data", "application/octet-stream")


class BodyRefused(Exception):
    """The body cannot be taken."""

    def __init__(self, status: int, title: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.status_line = f"{status} {title}"


class Bodies:
    """Limits of all bodies of a process, as the settings ``server.max_body_mib`` and ``server.body_*`` say."""

    def __init__(self, settings: Config) -> None:
        self.largest = int(settings["server.max_body_mib"]) << 20
        self.seconds = float(settings["server.body_seconds"])
        self.rate = int(settings["server.body_rate_kib"]) << 10
        # Whatever is set, bodies that are waited for leave a quarter of the threads.
        threads = int(settings["server.threads"])
        self.begun = Places(threads // 4, _FEW)
        places = min(int(settings["server.body_places"]), max(threads // 2, 1))
        self.places = Places(places, int(settings["server.body_places_each"]))

    def prepare(self, environ: dict[str, Any]) -> None:
        """Sees to it that a body has a ``CONTENT_LENGTH`` of at most ``largest`` bytes. Raises `BodyRefused`.

        Django reads as many bytes as are announced; a body that comes in chunks announces none, so it gets the largest
        length, and reading beyond raises `RequestDataTooBig`. Nothing is read here.
        """
        length = environ.get("CONTENT_LENGTH") or ""
        if length:
            if not length.isascii() or not length.isdigit():
                raise BodyRefused(400, "Bad Request", "Content-Length is no number\n")
            if len(length) > 18 or int(length) > self.largest:
                message = f"the body of a request has at most {self.largest >> 20} MiB\n"
                raise BodyRefused(413, "Request Entity Too Large", message)
        elif "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
            environ["CONTENT_LENGTH"] = str(self.largest)
        else:
            environ["wsgi.input"] = io.BytesIO()
            return
        environ["wsgi.input"] = Received(self, environ)

    def drain(self, environ: dict[str, Any]) -> None:
        """Reads what is left of a body that was not wanted.

        A client that still sends when the connection is closed never sees the answer, so one that was refused would
        not learn why. Of strangers no more is read than came with the request.
        """
        body = environ["wsgi.input"]
        if isinstance(body, Received):
            body.drain(announced="HTTP_TRANSFER_ENCODING" not in environ)

    @contextmanager
    def close(self, environ: dict[str, Any]) -> Iterator[None]:
        """Around answering: what was received is forgotten afterwards."""
        try:
            yield
        finally:
            body = environ["wsgi.input"]
            if isinstance(body, Received):
                body.close()


class Received:
    """``wsgi.input``: a body that is received as a whole when somebody reads it for the first time."""

    def __init__(self, bodies: Bodies, environ: dict[str, Any]) -> None:
        self._bodies = bodies
        self._environ = environ
        self._source = environ["wsgi.input"]
        self._announced = int(environ["CONTENT_LENGTH"])
        self._file: IO[bytes] | None = None
        self._size = 0
        self._measured = False
        self._given_up = False

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; nothing at the end."""
        return self._received().read(size)

    def readline(self, size: int = -1) -> bytes:
        """The same up to the end of a line."""
        return self._received().readline(size)

    def whole(self) -> tuple[int, int]:
        """(descriptor of a file with the whole body, its size). Raises as `read`, however large it is."""
        with large_requests.unbounded():
            file = self._received()
        number = file.fileno()
        file.flush()
        return number, self._size

    def rewind(self) -> None:
        """Somebody else is going to read it."""
        self._measured = False
        if self._file is not None:
            self._file.seek(0)

    def close(self) -> None:
        """Forgets what was received."""
        if self._file is not None:
            self._file.close()

    def drain(self, announced: bool) -> None:
        """Reads the body for nothing, if nobody has read it and it may still come."""
        if self._file is not None or self._given_up:
            return
        known = self._environ.get("vetro.caller") is not None
        most, seconds = (_DRAINED, _DRAIN_SECONDS) if known else (STRANGER, _AT_ONCE)
        if not announced or self._announced > most:
            return
        with contextlib.suppress(Unavailable, TooSlow, RequestDataTooBig, Invalid):
            for _ in self._parts(most, seconds):
                pass

    def _received(self) -> IO[bytes]:
        if self._file is None:
            most = self._most()
            if self._announced > most and "HTTP_TRANSFER_ENCODING" not in self._environ:
                raise _too_big(most)
            file = tempfile.SpooledTemporaryFile(_SMALL)  # noqa: SIM115 - closed when the request is over
            try:
                for part in self._parts(most, self._bodies.seconds):
                    file.write(part)
            except BaseException:
                self._given_up = True
                file.close()
                raise
            self._size = file.tell()
            file.seek(0)
            self._file = file
        if not self._measured and self._kind() not in _WITH_FILES:
            large_requests.take(self._size)
            self._measured = True
        return self._file

    def _most(self) -> int:
        """Bytes that this body may have, from whom it is and of its type."""
        if self._environ.get("vetro.caller") is None:
            return min(STRANGER, self._bodies.largest)
        return self._bodies.largest if self._kind() in _WITH_FILES else min(PARSED, self._bodies.largest)

    def _kind(self) -> str:
        return str(self._environ.get("CONTENT_TYPE") or "").partition(";")[0].strip().lower()

    def _parts(self, most: int, seconds: float) -> Iterator[bytes]:
        """The body as it comes. Raises `RequestDataTooBig`, `TooSlow`, `Unavailable` where there is no place."""
        began, received = time.monotonic(), 0
        until = min(_THERE, seconds)
        with contextlib.ExitStack() as holding:
            while True:
                waited = time.monotonic() - began
                if waited >= until and until < seconds:
                    until = self._next_step(holding, until, seconds)
                if until > _AT_ONCE:
                    until = min(seconds, _GRACE + received / self._bodies.rate)
                try:
                    part = self._part(until - waited)
                except TimeoutError:
                    if until <= _AT_ONCE and until < seconds:
                        until = self._next_step(holding, until, seconds)
                        continue
                    raise TooSlow(
                        f"The body came too slowly: {received:,} bytes in {time.monotonic() - began:.0f} seconds.",
                        hint=f"send at least {self._bodies.rate >> 10} KiB a second",
                    ) from None
                except OSError:
                    raise Invalid("The connection ended before the body did.") from None
                if not part:
                    return
                received += len(part)
                if received > most:
                    raise _too_big(most)
                yield part

    def _next_step(self, holding: contextlib.ExitStack, until: float, seconds: float) -> float:
        """Takes what waiting longer needs: how long it may go on. Raises `Unavailable`."""
        holding.close()
        if until < _AT_ONCE:
            with contextlib.suppress(Unavailable):
                self._take(holding, self._bodies.begun, _FEW)
                return min(_AT_ONCE, seconds)
        caller = self._environ.get("vetro.caller")
        self._take(holding, self._bodies.places, None if caller is None else limit(caller.project_id, "bodies"))
        return seconds

    def _take(self, holding: contextlib.ExitStack, places: Places, own: int | None) -> None:
        sender, stranger = whose(self._environ), self._environ.get("vetro.caller") is None
        places.take(sender, stranger, own)
        holding.callback(places.give, sender, stranger)

    def _part(self, seconds: float) -> bytes:
        part = getattr(self._source, "part", None)  # of a `Gateway`
        found: bytes = self._source.read(_STEP) if part is None else part(seconds)
        return found


def _too_big(most: int) -> RequestDataTooBig:
    size = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most:,} bytes"
    return RequestDataTooBig(f"the body of a request has at most {size} here")
