"""Answers that go on (server-sent events) or are made while they are sent (logs as text, files of any size): as many as
the setting ``server.streams`` says in a process, no more.

Each holds a thread of the HTTP server. There are threads for them besides those of ordinary requests, so watching
never keeps anybody from working, nor does who reads a log slowly. One stream of events too many gets an empty one that
tells the browser when to come again; one log too many is refused. The last eighth of the places is for projects that
have none yet: one project never takes them all. How many one may have in a process is its quota ``streams``.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from vetro.clouds.quotas import exceeds
from vetro.server import large_requests
from vetro.server.config.address import RUN
from vetro.server.errors import TooLarge, TooMany
from vetro.server.requests import hooks
from vetro.server.setup import config

#: Milliseconds after which a client comes again.
RETRY_MS = 5000
#: Bytes of a file that are sent at once: each time the loop of the process has its turn.
_BLOCK = 1 << 18
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


def event_stream(
    parts: Callable[[], Iterator[bytes | str]], project_id: str = "", *, once: bool = False
) -> HttpResponseBase:
    """A response that sends what ``parts()`` yields. It is not called where there are too many streams already, in all
    or of the project: the browser is told to come again, or, for what is asked for ``once``, `TooMany` is raised.

    What is asked for ``once`` begins here, so that what it raises is the answer. Raises `TooLarge` where large requests
    are answered, which have an end.
    """
    if large_requests.collects:
        raise TooLarge("A request with an answer that goes on has to be small.")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if not _take(project_id):
        if once:
            raise _too_many("end a command or a terminal, or close a page that follows what happens")
        return HttpResponse(f"retry: {RETRY_MS}\n\n", content_type="text/event-stream", headers=headers)
    counted = _Counted(parts, project_id)
    if once:
        counted.begin()
    return StreamingHttpResponse(counted, content_type="text/event-stream", headers=headers)


def text_stream(
    parts: Callable[[], Iterator[str]], name: str, project_id: str, kind: str = "text/plain"
) -> HttpResponseBase:
    """A response that sends text of a ``kind`` as it is read; ``name`` is that of the file where it is saved.

    Raises `TooMany`.
    """
    if not _take(project_id):
        raise _too_many("read one log after the other")

    def encoded() -> Iterator[bytes]:
        for part in parts():
            yield part.encode("utf-8", "backslashreplace")

    answer = StreamingHttpResponse(_Counted(encoded, project_id), content_type=f"{kind}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def file_stream(file: IO[bytes], project_id: str, kind: str) -> HttpResponseBase:
    """A response that sends a file of any size, as large as it is now, and closes it. Raises `TooMany`, and closes it.

    Like a log it holds a thread for as long as its client reads.
    """
    if not _take(project_id):
        file.close()
        raise _too_many("save one file after the other")
    size = os.fstat(file.fileno()).st_size
    counted = _Counted(lambda: _Blocks(file, size), project_id)
    counted.begin()  # from now on closing the response closes the file
    answer = StreamingHttpResponse(counted, content_type=kind)
    answer["Content-Length"] = str(size)
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


class _Blocks:
    """So many bytes of a file; others may be adding to it."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def __iter__(self) -> _Blocks:
        return self

    def __next__(self) -> bytes:
        data = self._file.read(min(_BLOCK, self._left))
        if not data:
            raise StopIteration
        self._left -= len(data)
        return data

    def close(self) -> None:
        self._file.close()


def _too_many(hint: str) -> TooMany:
    return TooMany(
        "Too many event streams are open, and logs and files being read.", hint=hint, details={"retry_after": 2}
    )


def _take(project_id: str) -> bool:
    """Takes a place for a stream of this project, if there is one."""
    global _open
    own = max(hooks.most_streams(project_id))
    with _lock:
        most = int(config()["server.streams"])
        has = _by_project[project_id]
        if _open >= (most - most // 8 if has else most) or exceeds(own, has, 1) or stopping():
            return False
        _open += 1
        _by_project[project_id] += 1
        return True


class _Counted:
    """The parts of one stream; its place is free again when it is closed, read to its end or forgotten."""

    def __init__(self, parts: Callable[[], Iterator[bytes | str]], project_id: str) -> None:
        self._make = parts
        self._project = project_id
        self._parts: Iterator[bytes | str] | None = None
        self._counts = True

    def __iter__(self) -> _Counted:
        return self

    def begin(self) -> Iterator[bytes | str]:
        """Makes them, unless they are made."""
        if self._parts is None:
            try:
                self._parts = self._make()
            except BaseException:
                self.close()
                raise
        return self._parts

    def __next__(self) -> bytes | str:
        try:
            return next(self.begin())
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
