"""`Client`: what goes wrong on the way to a server, and what is done about it."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from vetro.cli.client import follow as client_follow
from vetro.cli.client import requests as module
from vetro.cli.client.connect import need_server
from vetro.cli.client.contexts import Context
from vetro.cli.client.requests import (
    Client,
    ClientError,
    NoServer,
    Refused,
    SignedOut,
    Unreachable,
    Untrusted,
)


class Answers:
    """A server that gives prepared answers, the last one for ever; ``asked`` is what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.prepared: list[tuple[int, Any]] = [(200, {})]
        self.headers: dict[str, str] = {}
        answers = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answers.asked.append((self.command, self.path, dict(self.headers)))
                status, body = answers.prepared.pop(0) if len(answers.prepared) > 1 else answers.prepared[0]
                if status == 0:
                    self.close_connection = True
                    return
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in answers.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answers]:
    monkeypatch.setattr(module, "AGAIN", (0.0, 0.0))
    made = Answers()
    yield made
    made.close()


def context(port: int, scheme: str = "http", **options: str) -> Context:
    return Context("s", f"{scheme}://127.0.0.1:{port}", "secret", **options)


def test_reads_are_tried_again_and_writes_are_not(answers: Answers) -> None:
    with Client(context(answers.port)) as client:
        answers.prepared = [(503, {}), (0, {}), (200, {"a": 1})]
        assert client.get("/me") == {"a": 1}
        assert [path for _, path, _ in answers.asked] == ["/v2/me"] * 3
        answers.asked.clear()
        answers.prepared = [(0, {}), (200, {})]
        with pytest.raises(Unreachable, match="broke off"):
            client.post("/x")
        assert len(answers.asked) == 1
    assert answers.asked[0][2]["X-Auth-Token"] == "secret"


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Client(context(port), again=False) as client, pytest.raises(Unreachable, match="cannot be reached") as caught:
        client.get("/me")
    assert "vetro serve" in str(caught.value.hint)


def test_no_answer_in_time(answers: Answers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        late = pytest.raises(Unreachable, match="did not answer in time")
        with Client(context(port), timeout=0.05, again=False) as client, late:
            client.get("/me")


def test_refusals_say_what_the_server_says(answers: Answers) -> None:
    error = {"code": "SRV409", "status": 409, "message": "taken", "hint": "another", "details": {"a": 1}}
    with Client(context(answers.port)) as client:
        answers.prepared = [(409, {"error": error})]
        with pytest.raises(Refused, match="taken") as caught:
            client.post("/environments", {})
        found = caught.value
        assert (found.status, found.answered, found.hint, found.details) == (409, "SRV409", "another", {"a": 1})
        answers.prepared = [(401, {"error": {**error, "status": 401}})]
        with pytest.raises(SignedOut) as signed_out:
            client.get("/me")
        assert signed_out.value.hint == f"vetro login {client.context.url} --name s"


@pytest.mark.parametrize(("status", "body"), [(200, b"<html>"), (404, b"<html>"), (301, b""), (500, {"error": []})])
def test_what_is_no_vetro_server(answers: Answers, status: int, body: Any) -> None:
    answers.prepared = [(status, body)]
    answers.headers = {"Location": "http://127.0.0.1:1/elsewhere"}
    with Client(context(answers.port)) as client, pytest.raises(Unreachable, match="is no Vetro server"):
        client.get("/me")
    assert len(answers.asked) == 1  # the token went to nobody else


def test_certificates(answers: Answers, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"
    subprocess.run(
        [*make.split(), "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
        timeout=60,
    )
    wrapping = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    wrapping.load_cert_chain(certificate, key)
    answers.server.socket = wrapping.wrap_socket(answers.server.socket, server_side=True)
    with Client(context(answers.port, "https")) as client, pytest.raises(Untrusted, match="is not trusted") as caught:
        client.get("/me")
    assert "--ca-file" in str(caught.value.hint)
    with Client(context(answers.port, "https", ca_file=str(certificate))) as client:
        assert client.get("/me") == {}
    with pytest.raises(Untrusted, match="cannot be read"):
        Client(context(answers.port, "https", ca_file=str(tmp_path / "none.pem")))


def test_encryption_where_there_is_none(answers: Answers) -> None:
    with Client(context(answers.port, "https"), again=False) as client, pytest.raises(ClientError) as caught:
        client.get("/me")
    assert isinstance(caught.value, Untrusted)
    assert "http://" in str(caught.value.hint)


def test_lists_are_read_page_by_page(answers: Answers) -> None:
    pages = [{"items": [{"n": 1}], "next": "c"}, {"items": [{"n": 2}], "next": None}]
    answers.prepared = [(200, page) for page in pages]
    with Client(context(answers.port)) as client:
        assert list(client.items("/tasks", environment="e", state=None)) == [{"n": 1}, {"n": 2}]
        assert [path for _, path, _ in answers.asked] == [
            "/v2/tasks?environment=e",
            "/v2/tasks?environment=e&cursor=c",
        ]


def test_commands_about_servers_say_so_on_this_machine() -> None:
    with pytest.raises(NoServer, match="tokens are for servers"):
        need_server("tokens are for servers")


@pytest.mark.parametrize("written", [[], [{"seq": 1, "kind": "output", "level": "info", "text": "step 1"}]])
def test_who_watches_a_task_hears_once_what_it_waits_for_also_while_scripts_write_what_is_not_shown(
    written: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks = iter(["queued"] * 4 + ["done"])

    class Server:
        context = Context("it", "http://127.0.0.1:9", "t")
        local = False

        def get(self, path: str, **params: Any) -> dict[str, Any]:
            if not path.endswith("/log"):
                return {"waiting": "no worker lives: start one"}
            state = next(looks)
            return {"items": written, "next": None, "final": state == "done", "state": state}

    monkeypatch.setattr(client_follow, "DOUBT", 0.0)
    monkeypatch.setattr(client_follow, "SLOW", 0.01)
    assert client_follow.follow(Server(), {"id": "1"})["waiting"]  # type: ignore[arg-type]
    assert capsys.readouterr().err.count("waits for no worker lives: start one") == 1
