"""Where a request ends, seen by bytes: what two readers could understand differently is refused, and nothing that is
part of a body is answered as a request."""

from __future__ import annotations

import json
import re
import socket

import pytest

from tests.server.servekit import Service

pytestmark = [pytest.mark.attack("bodies", "smuggling"), pytest.mark.xdist_group("server/http: edge")]

NEXT = b"GET /v2/smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
POST = b"POST /v2/environments HTTP/1.1\r\n%s\r\n"
HOST = b"Host: localhost\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
NOTHING = b"0\r\n\r\n"


@pytest.fixture(scope="module")
def token(edge: Service) -> bytes:
    return edge.admin("token", "create", "admin", "-o", "value").encode()


def statuses(edge: Service, data: bytes) -> list[int]:
    """Those of all answers until the service closes the connection; 0 last where it waits for more."""
    port = int(json.loads(edge.ready.read_text())["url"].rpartition(":")[2])
    received, open_still = b"", False
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(data)
        try:
            while part := connection.recv(65536):
                received += part
        except TimeoutError:
            open_still = True
        except ConnectionResetError:
            pass
    found = [int(number) for number in re.findall(rb"HTTP/1\.[01] (\d{3}) ", received)]
    return [*found, 0] if open_still else found


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (b"Content-Length: 2\r\nContent-Length: 3\r\n", b"{} "),
        (b"Content-Length: 2, 2\r\n", b"{}"),
        (b"Content-Length: +2\r\n", b"{}"),
        (b"Content-Length: -2\r\n", b"{}"),
        (b"Content-Length: 99999999999999999999999\r\n", b"{}"),
        (b"Transfer-Encoding: xchunked\r\n", NOTHING),
        (b"Transfer-Encoding: chunked, identity\r\n", NOTHING),
        (CHUNKED + b"Transfer-Encoding: identity\r\n", NOTHING),
        (b"Transfer-Encoding : chunked\r\n", NOTHING),
        (b"X-Folded: a\r\n Transfer-Encoding: chunked\r\n", NOTHING),
        (b"X-Return: a\rTransfer-Encoding: chunked\r\n", NOTHING),
        (b"X-Nul: a\0b\r\n", b""),
        (CHUNKED, b"-2\r\n{}\r\n" + NOTHING),
        (CHUNKED, b"0x2\r\n{}\r\n" + NOTHING),
        (CHUNKED, b"10000000000000002\r\n{}\r\n" + NOTHING),
        (CHUNKED, b"2;a\nX\r\n{}\r\n" + NOTHING),
        (CHUNKED, b"2;" + b"a" * 20_000 + b"\r\n{}\r\n" + NOTHING),
    ],
)
def test_what_is_ambiguous_is_refused_and_ends_the_connection(
    edge: Service, token: bytes, headers: bytes, body: bytes
) -> None:
    own = HOST + b"X-Auth-Token: %s\r\nContent-Type: application/json\r\n" % token
    assert statuses(edge, POST % (own + headers) + body + NEXT) == [400]


def test_a_length_beside_chunks_does_not_count_and_ends_the_connection(edge: Service, token: bytes) -> None:
    own = HOST + b"X-Auth-Token: %s\r\nContent-Type: application/json\r\n" % token
    for both in (b"Content-Length: 3\r\n" + CHUNKED, CHUNKED + b"Content-Length: 3\r\n"):
        assert statuses(edge, POST % (own + both) + NOTHING + NEXT) == [400]


def test_a_body_that_was_not_wanted_is_no_request(edge: Service) -> None:
    """Who is not signed in is answered before the body was read."""
    head = HOST + b"Content-Type: application/json\r\nContent-Length: 100000\r\n"
    assert statuses(edge, POST % head + NEXT) == [401]
    small = HOST + b"Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n" % len(NEXT)
    assert statuses(edge, POST % small + NEXT) == [401]


def test_a_token_in_a_trailer_signs_nobody_in(edge: Service, token: bytes) -> None:
    head = HOST + b"Content-Type: application/json\r\nConnection: close\r\n" + CHUNKED
    assert statuses(edge, POST % head + b"2\r\n{}\r\n0\r\nX-Auth-Token: %s\r\n\r\n" % token) == [401]


@pytest.mark.parametrize(
    ("request_line", "headers", "found"),
    [
        (b"GET /v2/me HTTP/1.1", b"Host: localhost\r\nHost: evil.example\r\n", [421]),
        (b"GET /v2/me HTTP/1.1", b"Host: localhost:80@evil.example\r\n", [421]),
        (b"GET http://localhost/v2/me HTTP/1.1", b"Host: evil.example\r\n", [421]),
        (b"GET /v2/me HTTP/1.1", HOST + b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n", [200]),
        (b"GET /v2/me HTTP/1.2", HOST, [400]),
        (b"G<>T /v2/me HTTP/1.1", HOST, [400]),
        (b"PRI * HTTP/2.0", b"", [400]),
        (b"GET /v2/me HTTP/1.1", HOST + b"".join(b"X-%d: a\r\n" % n for n in range(200)), [431]),
        (b"GET /v2/me?" + b"a" * 70_000 + b" HTTP/1.1", HOST, [414]),
    ],
)
def test_other_heads(edge: Service, token: bytes, request_line: bytes, headers: bytes, found: list[int]) -> None:
    own = b"X-Auth-Token: %s\r\nConnection: close\r\n" % token
    assert statuses(edge, request_line + b"\r\n" + headers + own + b"\r\n") == found
