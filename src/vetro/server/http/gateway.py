"""`Gateway`: the edge of the service. What the HTTP server hands over (ASGI) becomes a request of the application
(WSGI) in one of a fixed number of threads, and its answer goes back.

A body is read only when the application asks for it, and each step has a time limit, which the body itself cannot
stretch (`vetro.server.http.request_bodies`). How a client reads does not say how long an answer holds a thread or
memory (`vetro.server.http.responses`); what is made while it is sent holds its thread, and needs a place
(`vetro.server.requests.streams`). Headers whose names hold an underscore are dropped: WSGI could not tell them from
those with a hyphen, and proxies that check ``X-Forwarded-For`` let ``X_Forwarded_For`` pass.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final
from urllib.parse import unquote_to_bytes
from wsgiref.util import FileWrapper

from vetro.server.http.concurrency import whose
from vetro.server.http.responses import SEND_SECONDS, Answers, Head, Send
from vetro.server.requests.buffered_response import SMALL, BufferedResponse

Receive = Callable[[], Awaitable[dict[str, Any]]]
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_BLOCK: Final = 1 << 18
#: Seconds for which parts of a body are put together.
_MOMENT: Final = 0.02
_JOINED: Final = {"cookie": "; "}


class Gateway:
    """ASGI: ``gateway(scope, receive, send)``. ``threads``: requests that are answered at once, streams among them."""

    def __init__(self, application: Application, threads: int) -> None:
        self._application = application
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._answers = Answers()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            return
        if self._pool is None:  # not before the process was forked
            self._pool = ThreadPoolExecutor(self._threads, "request")
        loop = asyncio.get_running_loop()
        body = Body(receive, loop)
        environ = environ_of(scope, body)
        try:
            large = await loop.run_in_executor(self._pool, self._answer, environ, body, send)
            if large is not None:
                await self._answers.send(send, *large, whose(environ))
        finally:
            body.close()

    def _answer(self, environ: dict[str, Any], body: Body, send: Send) -> tuple[Head, bytes | BufferedResponse] | None:
        """Runs in a thread of the pool. Head and body of an answer that is too large to be sent here."""
        start = _Start()
        parts = self._application(environ, start)
        head = {"type": "http.response.start", "status": start.status, "headers": start.headers}
        if isinstance(parts, BufferedResponse):
            return head, parts
        if isinstance(parts, list):
            data = b"".join(parts)
            if len(data) > SMALL and environ["REQUEST_METHOD"] != "HEAD":
                return head, data
            # Such a message is never waited for, so that nobody has to wake the loop for it.
            _send_now(send(head))
            _send_now(send({"type": "http.response.body", "body": data}))
            return None
        try:
            body.call(_awaited(send(head)), SEND_SECONDS)
            for part in parts:
                if body.gone():
                    return None
                if part:
                    message = {"type": "http.response.body", "body": part, "more_body": True}
                    body.call(_awaited(send(message)), SEND_SECONDS)
            body.call(_awaited(send({"type": "http.response.body", "body": b""})), SEND_SECONDS)
        except TimeoutError:  # it does not read what it asked for
            pass
        finally:
            close = getattr(parts, "close", None)
            if close is not None:
                close()
        return None


class Body:
    """The body of a request as it arrives, for the thread that answers it."""

    def __init__(self, receive: Receive, loop: asyncio.AbstractEventLoop) -> None:
        self._receive = receive
        self._loop = loop
        self._pending: Future[None] | None = None
        self._arrived = bytearray()
        self._ended = False
        self._watch: Future[None] | None = None

    def part(self, seconds: float) -> bytes:
        """What came next; b"" at the end. Raises `TimeoutError` when nothing came in time, and may be called again
        then; `ConnectionError` when the client went away before the end."""
        while not self._arrived and not self._ended:
            if self._pending is None:
                self._pending = asyncio.run_coroutine_threadsafe(self._fill(), self._loop)
            try:
                self._pending.result(max(seconds, 0.0))
            except TimeoutError:
                if not self._arrived:
                    raise
            else:
                self._pending = None
        part = bytes(self._arrived)
        del self._arrived[: len(part)]
        return part

    async def _fill(self) -> None:
        """Takes what comes within a moment: waking a thread costs more than a message does."""
        until = self._loop.time() + _MOMENT
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ConnectionError("the connection ended before the body did")
            self._arrived += message.get("body") or b""
            if not message.get("more_body"):
                self._ended = True
                return
            if self._arrived and (len(self._arrived) >= _BLOCK or self._loop.time() >= until):
                return

    def call(self, waiting: Any, seconds: float) -> None:
        """Waits for something that has to happen in the loop. Raises `TimeoutError`."""
        future = asyncio.run_coroutine_threadsafe(waiting, self._loop)
        try:
            future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise

    def gone(self) -> bool:
        """Whether the client went away, as far as is known."""
        if self._watch is None:
            self._watch = asyncio.run_coroutine_threadsafe(self._until_gone(), self._loop)
        return self._watch.done()

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] == "http.request":
            continue

    def close(self) -> None:
        """Ends what still waits for the client."""
        for future in (self._pending, self._watch):
            if future is not None:
                future.cancel()


def environ_of(scope: dict[str, Any], body: Any) -> dict[str, Any]:
    """The variables of WSGI for a request."""
    found: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": scope["server"][0],
        "SERVER_PORT": str(scope["server"][1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": scope["client"][0] if scope["client"] else "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": _blocks,
    }
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1")
        if "_" in name:
            continue
        key = name.replace("-", "_").upper()
        if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            key = f"HTTP_{key}"
        text = value.decode("latin-1")
        found[key] = f"{found[key]}{_JOINED.get(name, ',')}{text}" if key in found else text
    return found


def _blocks(file: Any, size: int = _BLOCK) -> FileWrapper:
    """The parts of a file; each is a turn of the loop, so they are large."""
    return FileWrapper(file, max(size, _BLOCK))


class _Start:
    """``start_response`` of WSGI."""

    status = 500
    headers: list[tuple[bytes, bytes]] = []  # noqa: RUF012 - replaced, never changed

    def __call__(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        self.status = int(status[:3])
        self.headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


async def _awaited(waiting: Awaitable[Any]) -> Any:
    return await waiting


def _send_now(waiting: Awaitable[None]) -> None:
    for _ in waiting.__await__():
        raise RuntimeError("the HTTP server does not take a whole answer at once")
