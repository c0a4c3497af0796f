"""What hosts answer that are allowed and hostile all the same: each answer is refused, in bounded memory and time."""

from __future__ import annotations

import contextlib
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from vetro.server.catalog.downloads import FetchFailed, Source, fetch

pytestmark = pytest.mark.attack("uploads", "A2")
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
MOST = 1000
Answerer = Callable[[socket.socket], None]


@contextlib.contextmanager
def host(answer: Answerer) -> Iterator[str]:
    """A host that reads one request and answers what ``answer`` sends; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65_536)
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            thread.join(60)


def sends(*parts: bytes) -> Answerer:
    return lambda connection: [connection.sendall(part) for part in parts] and None  # type: ignore[func-returns-value]


def endless(begin: bytes, again: bytes, most: int = 64 << 20) -> Answerer:
    """Goes on until the other end has enough, or ``most`` bytes were taken."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(begin)
        sent = 0
        while sent < most:
            connection.sendall(again)
            sent += len(again)

    return answer


def fetched(answer: Answerer, seconds: float = 30.0) -> bytes:
    with host(answer) as url:
        return fetch(url, Source(("127.0.0.1",), seconds, MOST))


def test_bodies_in_chunks() -> None:
    assert fetched(sends(CHUNKED, b"5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: t\r\n\r\n")) == b"hello!"
    assert fetched(sends(CHUNKED, b"3E8\r\n" + b"x" * 1000 + b"\r\n0\r\n\r\n")) == b"x" * 1000


@pytest.mark.parametrize(
    "chunks",
    [b"-5\r\nhello\r\n", b"-1\r\n", b"+5\r\nhello\r\n", b"0x5\r\nhello\r\n", b"1_0\r\n", b"\r\n", b"zz\r\n", b"",
     b"5\r\nhel", b"5\r\nhelloX\r\n0\r\n\r\n", b"3\r\nhello\r\n", b"FFFFFFFFFFFFFFFF\r\n", b"3E9\r\n"],
)  # fmt: skip
def test_chunks_that_are_none(chunks: bytes) -> None:
    with pytest.raises(FetchFailed) as caught:
        fetched(sends(CHUNKED, chunks))
    assert caught.value.code == "SRV531"


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: -5\r\n", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 1001\r\n",
     b"Content-Length: 10\r\n", b"Content-Encoding: gzip\r\nContent-Length: 5\r\n", b"Transfer-Encoding: gzip\r\n",
     b"Transfer-Encoding: gzip, chunked\r\n", b"Content-Length: 1e3\r\n"],
)  # fmt: skip
def test_heads_that_do_not_fit(head: bytes) -> None:
    with pytest.raises(FetchFailed):
        fetched(sends(OK + head + b"\r\nhello"))


@pytest.mark.parametrize(
    ("begin", "again"),
    [
        (CHUNKED + b"-1\r\n", b"x" * 65_536),
        (CHUNKED, b"1" * 65_536),
        (CHUNKED + b"0\r\n", b"Trailer: " + b"x" * 60_000 + b"\r\n"),
        (CHUNKED + b"0\r\n", b"x" * 65_536),
        (OK, b"Header: " + b"x" * 60_000 + b"\r\n"),
        (OK + b"\r\n", b"x" * 65_536),
        (b"HTTP/1.1 500 ", b"x" * 65_536),
    ],
)
def test_answers_without_an_end_cost_little_memory(begin: bytes, again: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(FetchFailed) as caught:
            fetched(endless(begin, again))
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert len(caught.value.message) < 1000


@pytest.mark.parametrize("begin", [CHUNKED, CHUNKED + b"5\r\n", CHUNKED + b"0\r\n", OK, b"", OK + b"\r\n"])
def test_drips_end_in_time(begin: bytes) -> None:
    done = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.sendall(begin)
        while not done.wait(0.02):
            connection.sendall(b"1")

    try:
        with pytest.raises(FetchFailed, match=r"took more than 0.5 seconds|more than|no size|longer or shorter"):
            fetched(drip, seconds=0.5)
    finally:
        done.set()
