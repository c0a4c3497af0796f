"""What of a request reaches the application, and how its answers go back."""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.servekit import Service
from vetro.server.http.gateway import Gateway, environ_of

pytestmark = pytest.mark.xdist_group("server/http: edge")


def scope(*headers: tuple[str, str], path: str = "/", client: str = "192.0.2.7") -> dict[str, Any]:
    return {
        "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "path": path,
        "raw_path": path.encode(), "query_string": b"a=b", "server": ("127.0.0.1", "80"), "client": (client, "1"),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
    }  # fmt: skip


@pytest.mark.attack("bodies", "M2")
def test_names_with_underscores_are_dropped() -> None:
    given = scope(
        ("x-forwarded-for", "192.0.2.1"), ("x_forwarded_for", "10.0.0.1"), ("x_auth_token", "t"),
        ("content_length", "9"),
        ("x-forwarded_proto", "https"), ("host", "h"),
    )  # fmt: skip
    found = environ_of(given, None)
    assert {name: value for name, value in found.items() if name.startswith(("HTTP_", "CONTENT_"))} == {
        "HTTP_X_FORWARDED_FOR": "192.0.2.1",
        "HTTP_HOST": "h",
    }


def test_headers_and_paths_as_wsgi_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_X_AUTH_TOKEN", "from the environment")
    found = environ_of(
        scope(("cookie", "a=1"), ("cookie", "b=2"), ("accept", "x"), ("accept", "y"), ("content-type", "t"),
              path="/v1/%C3%A4%FF%2Fb"), None
    )  # fmt: skip
    assert (found["HTTP_COOKIE"], found["HTTP_ACCEPT"], found["CONTENT_TYPE"]) == ("a=1; b=2", "x,y", "t")
    assert found["PATH_INFO"].encode("latin-1") == b"/v1/\xc3\xa4\xff/b"
    assert (found["QUERY_STRING"], found["REMOTE_ADDR"]) == ("a=b", "192.0.2.7")
    assert not {"HTTP_X_AUTH_TOKEN", "PATH"} & set(found) and "HOME" in os.environ


def answered(application: Any, *received: dict[str, Any], gone: bool = False) -> list[dict[str, Any]]:
    """What is sent for one request."""
    sent: list[dict[str, Any]] = []

    async def run() -> None:
        waiting = list(received)

        async def receive() -> dict[str, Any]:
            if waiting:
                return waiting.pop(0)
            if gone:
                return {"type": "http.disconnect"}
            await asyncio.sleep(3600)
            raise AssertionError

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await Gateway(application, 2)(scope(), receive, send)

    asyncio.run(run())
    return sent


def test_an_answer_and_a_body() -> None:
    def application(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        parts = list(iter(lambda: environ["wsgi.input"].part(5), b""))
        start("201 Created", [("X", "y")])
        return [b"-".join(parts)]

    first, last = ({"type": "http.request", "body": part, "more_body": part == b"a"} for part in (b"a", b"b"))
    sent = answered(application, first, last)
    assert sent[0] == {"type": "http.response.start", "status": 201, "headers": [(b"X", b"y")]}
    assert sent[1]["body"] == b"ab"  # parts that come within a moment are one


def test_a_stream_ends_with_its_client_and_is_closed() -> None:
    class Parts(Iterator[bytes]):
        sent, closed = 0, False

        def __next__(self) -> bytes:
            self.sent += 1
            time.sleep(0.01)
            return b"x"

        def close(self) -> None:
            self.closed = True

    parts = Parts()

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterator[bytes]:
        start("200 OK", [])
        return parts

    answered(application, gone=True)
    assert parts.closed and parts.sent < 1000


def connected(edge: Service, data: bytes) -> socket.socket:
    port = int(json.loads(edge.ready.read_text())["url"].rpartition(":")[2])
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.sendall(data)
    return connection


def post(token: str, length: int, more: str = "") -> bytes:
    return (
        f"POST /v1/environments HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: {token}\r\n{more}"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


@pytest.mark.attack("bodies", "H5")
@pytest.mark.campaign
def test_idle_bodies_stop_nobody_from_writing(edge: Service, tmp_path: Path) -> None:
    """With 6 threads, so that 120 bodies that never come would hold all of them twenty times over."""
    hostile = edge.admin("token", "create", "admin", "-o", "value")
    edge.admin("project", "create", "other")
    person = ("--project", "other", "--role", "member", "--password-stdin")
    edge.admin("user", "create", "bob", *person, input="pw of bob")
    body = json.dumps({"name": "bob", "password": "pw of bob"}).encode()
    status, answer = edge.send("POST", "/v2/auth/login", body, {"Content-Type": "application/json"})
    assert status == 200, answer
    own = {"X-Auth-Token": json.loads(answer)["token"], "Content-Type": "application/json"}
    idle = [connected(edge, post(hostile, 1000)) for _ in range(60)]
    idle += [connected(edge, post("nobody", 1000)) for _ in range(60)]
    idle += [connected(edge, b"POST /v2/auth/login HTTP/1.1\r\nHost: x\r\nContent-Len") for _ in range(60)]
    try:
        for number in range(5):
            # In one piece: a body of its own piece may be late on a busy machine, and then takes a place, too.
            name = b'{"name": "e%d"}' % number
            with connected(edge, post(own["X-Auth-Token"], len(name)) + name) as connection:
                assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
            assert edge.get("/v1/environments", **own)[0] == 200
        # Those who wait are told why, most of them at once, the others when they were too slow.
        heads = [connection.recv(1000).split(b"\r\n", 1)[0] for connection in idle[:120]]
        assert {head.split(b" ")[1] for head in heads[:60]} <= {b"408", b"503"}
        assert {head.split(b" ")[1] for head in heads[60:]} == {b"401"}
    finally:
        for connection in idle:
            connection.close()


@pytest.mark.attack("bodies", "M2")
def test_an_underscore_does_not_make_a_token_or_an_address(edge: Service) -> None:
    token = edge.admin("token", "create", "admin", "-o", "value")
    assert edge.get("/v1/environments", X_Auth_Token=token)[0] == 401
    edge.get("/v1/log-of-this", **{"X-Forwarded-For": "192.0.2.1", "X_Forwarded_For": "198.51.100.9"})
    lines = [line for line in edge.errors.read_text().splitlines() if "log-of-this" in line]
    assert lines and "192.0.2.1" in lines[0] and "198.51.100.9" not in lines[0]


@pytest.mark.campaign
def test_bodies_of_many_sizes_arrive_whole(edge: Service) -> None:
    token = edge.admin("token", "create", "admin", "-o", "value")
    for size in (1, 65_536, 1 << 20, 5 << 20):
        body = json.dumps({"name": "x" * size}).encode()
        status, answer = edge.send(
            "POST", "/v1/environments", body, {"X-Auth-Token": token, "Content-Type": "application/json"}
        )
        assert status == (200 if size == 1 else 400), (size, answer[:200])
    assert io.BytesIO(edge.get("/static/web/vetro.css")[1]).read()
