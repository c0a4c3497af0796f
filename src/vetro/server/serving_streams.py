"""Answers that go on (server-sent events): as many as the setting ``server.streams`` says in a process, no more.

Each holds a thread of the HTTP server. There are threads for them besides those of ordinary requests, so watching
never keeps anybody from working; one stream too many gets an empty one that tells the browser when to come again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from vetro.server.setup import config

#: Milliseconds after which a client comes again.
RETRY_MS = 5000
#: Set by `vetro serve` for its children: a folder of this run; it holds a file `stopping` once the service ends.
RUN = "VETRO_RUN"
_lock = threading.Lock()
_open = 0


def open_streams() -> int:
    """How many streams this process sends."""
    return _open


def stopping() -> bool:
    """Whether the service is about to end; streams look at it between two events and stop."""
    folder = os.environ.get(RUN)
    return bool(folder) and Path(str(folder), "stopping").exists()


def event_stream(parts: Callable[[], Iterator[bytes | str]]) -> HttpResponseBase:
    """A response that sends what ``parts()`` yields. It is not called where there are too many streams already."""
    global _open
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    with _lock:
        full = _open >= int(config()["server.streams"]) or stopping()
        if not full:
            _open += 1
    if full:
        return HttpResponse(f"retry: {RETRY_MS}\n\n", content_type="text/event-stream", headers=headers)
    return StreamingHttpResponse(_Counted(parts), content_type="text/event-stream", headers=headers)


class _Counted:
    """The parts of one stream; its place is free again when it is closed, read to its end or forgotten."""

    def __init__(self, parts: Callable[[], Iterator[bytes | str]]) -> None:
        self._make = parts
        self._parts: Iterator[bytes | str] | None = None
        self._counts = True

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> bytes | str:
        if self._parts is None:
            self._parts = self._make()
        try:
            return next(self._parts)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Frees the place."""
        global _open
        with _lock:
            if self._counts:
                self._counts = False
                _open -= 1
        closing = getattr(self._parts, "close", None)
        if closing is not None:
            closing()

    def __del__(self) -> None:
        self.close()
