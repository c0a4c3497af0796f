"""`Bodies`: bodies of requests, bounded in size, in time, and in how many of them arrive at once, by whom.

Nothing is read before the application asks for it: who may not send anything is told so first. Then all of it is
received, into a file beyond a small size, and the application reads that. A body that is not there at once needs one of
the places of the process, and has to arrive at a least rate: who sends slowly holds a thread. No project has more than
some of the places, nor has an address from which somebody sends who is not signed in; the last quarter is for those who
hold none yet.
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

from vetro.server.config import Config
from vetro.server.errors import Invalid, TooSlow, Unavailable
from vetro.server.quotas.limits import limit
from vetro.server.serving_places import Lane, Places, whose

#: Bytes of a body of somebody who is not signed in.
STRANGER: Final = 65_536
#: Bytes of a body that is parsed as a whole: JSON, and forms without files.
PARSED: Final = 24 << 20
#: Bytes of a body that are kept in memory while it arrives.
_SMALL: Final = 1 << 20
#: Seconds that a body may take without a place, and before its rate counts.
_AT_ONCE: Final = 0.25
_GRACE: Final = 5.0
#: Bytes of an unwanted body that are read all the same, and seconds for it.
_DRAINED, _DRAIN_SECONDS = 8 << 20, 5.0
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
        self.lane = Lane()
        self.places = Places(int(settings["server.body_places"]), int(settings["server.body_places_each"]))

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
        environ["wsgi.input"] = _Input(self, environ)

    def drain(self, environ: dict[str, Any]) -> None:
        """Reads what is left of a body that was not wanted.

        A client that still sends when the connection is closed never sees the answer, so one that was refused would
        not learn why. Of strangers no more is read than came with the request.
        """
        body = environ["wsgi.input"]
        if isinstance(body, _Input):
            body.drain(announced="HTTP_TRANSFER_ENCODING" not in environ)

    @contextmanager
    def close(self, environ: dict[str, Any]) -> Iterator[None]:
        """Around answering: what was received is forgotten afterwards."""
        try:
            yield
        finally:
            body = environ["wsgi.input"]
            if isinstance(body, _Input):
                body.close()


class _Input:
    """``wsgi.input``: a body that is received as a whole when somebody reads it for the first time."""

    def __init__(self, bodies: Bodies, environ: dict[str, Any]) -> None:
        self._bodies = bodies
        self._environ = environ
        self._source = environ["wsgi.input"]
        self._announced = int(environ["CONTENT_LENGTH"])
        self._file: IO[bytes] | None = None
        self._in_lane = False
        self._too_slow = False

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; nothing at the end."""
        return self._received().read(size)

    def readline(self, size: int = -1) -> bytes:
        """The same up to the end of a line."""
        return self._received().readline(size)

    def close(self) -> None:
        """Forgets what was received."""
        if self._in_lane:
            self._in_lane = False
            self._bodies.lane.leave()
        if self._file is not None:
            self._file.close()

    def drain(self, announced: bool) -> None:
        """Reads the body for nothing, if nobody has read it and it did not come too slowly."""
        if self._file is not None or self._too_slow:
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
                file.close()
                raise
            try:
                if file.tell() > _SMALL and self._kind() not in _WITH_FILES:
                    self._bodies.lane.enter(whose(self._environ))
                    self._in_lane = True
            except BaseException:
                file.close()
                raise
            file.seek(0)
            self._file = file
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
        caller, sender = self._environ.get("vetro.caller"), whose(self._environ)
        began, received, placed = time.monotonic(), 0, False
        try:
            while True:
                waited = time.monotonic() - began
                if waited >= _AT_ONCE and not placed and seconds > _AT_ONCE:
                    own = None if caller is None else limit(caller.project_id, "bodies")
                    self._bodies.places.take(sender, caller is None, own)
                    placed = True
                until = min(seconds, _GRACE + received / self._bodies.rate) if placed else min(seconds, _AT_ONCE)
                try:
                    part = self._part(until - waited)
                except TimeoutError:
                    if placed or seconds <= _AT_ONCE:
                        self._too_slow = True
                        raise TooSlow(
                            f"The body came too slowly: {received:,} bytes in {time.monotonic() - began:.0f} seconds.",
                            hint=f"send at least {self._bodies.rate >> 10} KiB a second",
                        ) from None
                    continue
                except OSError:
                    raise Invalid("The connection ended before the body did.") from None
                if not part:
                    return
                received += len(part)
                if received > most:
                    raise _too_big(most)
                yield part
        finally:
            if placed:
                self._bodies.places.give(sender, caller is None)

    def _part(self, seconds: float) -> bytes:
        part = getattr(self._source, "part", None)  # of a `Gateway`
        found: bytes = self._source.read(_STEP) if part is None else part(seconds)
        return found


def _too_big(most: int) -> RequestDataTooBig:
    size = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most:,} bytes"
    return RequestDataTooBig(f"the body of a request has at most {size} here")
