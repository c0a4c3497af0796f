"""Answers that go on (server-sent events): as many as the setting ``server.streams`` says in a process, no more.

Each holds a thread of the HTTP server. There are threads for them besides those of ordinary requests, so watching
never keeps anybody from working; one stream too many gets an empty one that tells the browser when to come again. The
last eighth of the places is for projects that have no stream yet: one project never takes them all. How many one may
have in a process is its quota ``streams``.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from vetro.clouds.quotas import exceeds
from vetro.server.quotas.limits import limit
from vetro.server.setup import config

#: Milliseconds after which a client comes again.
RETRY_MS = 5000
#: Set by `vetro serve` for its children: a folder of this run; it holds a file `stopping` once the service ends.
RUN = "VETRO_RUN"
_lock = threading.Lock()
_open = 0
_by_project: Counter[str] = Counter()


def open_streams() -> int:
    """How many streams this process sends."""
    return _open


def stopping() -> bool:
    """Whether the service is about to end; streams look at it between two events and stop."""
    folder = os.environ.get(RUN)
    return bool(folder) and Path(str(folder), "stopping").exists()


def event_stream(parts: Callable[[], Iterator[bytes | str]], project_id: str = "") -> HttpResponseBase:
    """A response that sends what ``parts()`` yields. It is not called where there are too many streams already, in all
    or of the project."""
    global _open
    own = limit(project_id, "streams")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    with _lock:
        most = int(config()["server.streams"])
        has = _by_project[project_id]
        full = _open >= (most - most // 8 if has else most) or exceeds(own, has, 1) or stopping()
        if not full:
            _open += 1
            _by_project[project_id] += 1
    if full:
        return HttpResponse(f"retry: {RETRY_MS}\n\n", content_type="text/event-stream", headers=headers)
    return StreamingHttpResponse(_Counted(parts, project_id), content_type="text/event-stream", headers=headers)


def text_stream(parts: Iterator[str], name: str) -> HttpResponseBase:
    """A response that sends text as it is read; ``name`` is that of the file where it is saved."""
    answer = StreamingHttpResponse(
        (part.encode("utf-8", "backslashreplace") for part in parts), content_type="text/plain; charset=utf-8"
    )
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


class _Counted:
    """The parts of one stream; its place is free again when it is closed, read to its end or forgotten."""

    def __init__(self, parts: Callable[[], Iterator[bytes | str]], project_id: str) -> None:
        self._make = parts
        self._project = project_id
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
                _by_project[self._project] -= 1
                if not _by_project[self._project]:
                    del _by_project[self._project]
        closing = getattr(self._parts, "close", None)
        if closing is not None:
            closing()

    def __del__(self) -> None:
        self.close()
