"""Large requests are answered by copies of a process of their own, at a low priority, a project one at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.servekit import Service, children_of
from tests.support.waiting import until
from vetro.server.config.address import RUN
from vetro.server.errors import TooLarge, TooMany, Unavailable
from vetro.server.http import large_process, large_transfer
from vetro.server.http.large_transfer import SOCKET, SentResponse, hand_over

pytestmark = pytest.mark.attack("data", "M7")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a run; the path is longer than that of a socket may be."""
    found = tmp_path / ("long" * 30)
    found.mkdir()
    monkeypatch.setenv(RUN, str(found))
    return found


@pytest.fixture
def server(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", "tests.server.large_kit"])
    until(folder.joinpath(SOCKET).exists)
    yield process
    process.terminate()
    assert process.wait(30) == 0


def ask(
    path: str = "/", whose: str = "p", body: bytes | None = None, tmp: Path | None = None, **more: Any
) -> SentResponse:
    environ = {"PATH_INFO": path, "REQUEST_METHOD": "POST", "vetro.caller": object(), **more}
    if body is None:
        return hand_over(environ, whose, None)
    assert tmp is not None
    file = tmp / "body"
    file.write_bytes(body)
    with file.open("rb") as opened:
        opened.read(10)  # somebody began to read it
        return hand_over(environ, whose, (opened.fileno(), len(body)))


def told(answer: SentResponse) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(dict(answer.headers)["X-Told"])
    return found


def test_requests_and_answers_go_over_whole(server: Any, tmp_path: Path) -> None:
    for size in (0, 5, 3_000_000):
        body = os.urandom(size)
        answer = ask(body=body, tmp=tmp_path)
        assert (answer.status, answer.code, answer.route) == ("201 Created", 201, "r")
        assert b"".join(answer.parts) == body and dict(answer.headers)["Content-Length"] == str(size)
        getattr(answer.parts, "close", lambda: None)()
        assert told(answer)["length"] == str(size) and told(answer)["others"] == []
    without = ask()
    assert told(without)["size"] == 0 and without.parts == [b""]


def test_a_copy_is_made_for_each_and_yields_to_everything_else(server: Any) -> None:
    first, second = told(ask()), told(ask())
    assert first["pid"] != second["pid"] != server.pid
    assert first["nice"] == os.nice(0) + large_process.NICE and first["scheduler"] == os.SCHED_BATCH
    until(lambda: not children_of(server.pid))


def test_what_takes_too_much_ends_alone(server: Any) -> None:
    for path in ("/eat", "/die"):
        with pytest.raises(TooLarge, match="more memory or time"):
            ask(path)
    assert ask().code == 201


def test_a_project_has_one_at_a_time_and_others_have_theirs(server: Any, folder: Path) -> None:
    found: list[str] = []

    def wait(name: str, whose: str) -> None:
        ask("/wait", whose, HTTP_NAME=name)
        found.append(name)

    names = (("a1", "a"), ("a2", "a"), ("b1", "b"))
    threads = [threading.Thread(target=wait, args=one) for one in names]
    for thread in threads:
        thread.start()
        if thread is threads[0]:
            until(folder.joinpath("began-a1").exists)
    until(folder.joinpath("began-b1").exists)
    assert not folder.joinpath("began-a2").exists() and len(children_of(server.pid)) == 2
    folder.joinpath("go").touch()
    for thread in threads:
        thread.join(30)
    assert sorted(found) == ["a1", "a2", "b1"]


def test_nobody_is_sent_two_large_answers_at_once(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holds a thread for as long as its client reads."""
    monkeypatch.setattr(large_transfer, "_AT_ONCE", 1000)
    files, body = large_transfer.Files(), os.urandom(2000)
    first = files.sent(ask(body=body, tmp=tmp_path), "p")
    assert b"".join(first.parts) == body
    with pytest.raises(TooMany):
        files.sent(ask(body=body, tmp=tmp_path), "p")
    other = files.sent(ask(body=body, tmp=tmp_path), "q")
    first.parts.close()  # type: ignore[attr-defined]
    again = files.sent(ask(body=body, tmp=tmp_path), "p")
    for answer in (other, again):
        answer.parts.close()  # type: ignore[attr-defined]


def test_without_the_process_the_answer_says_so(folder: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be answered at the moment"):
        ask()


@pytest.mark.campaign
def test_large_drafts_are_as_others_through_every_door(tmp_path: Path) -> None:
    service = Service(tmp_path, "--workers", "0")
    try:
        service.await_ready()
        token = service.admin("token", "create", "admin", "-o", "value")
        headers = {"X-Auth-Token": token, "Content-Type": "application/json", "Accept": "application/json"}

        def send(method: str, path: str, data: Any = None, **more: str) -> tuple[int, Any]:
            body = None if data is None else json.dumps(data).encode()
            status, content = service.send(method, path, body, {**headers, **more})
            return status, json.loads(content) if content else None

        server = next(
            p for p in service.everybody() if b"http.large_process" in Path(f"/proc/{p}/cmdline").read_bytes()
        )
        environment = send("POST", "/v2/environments", {"name": "e"})[1]["id"]
        session = send("POST", f"/v2/environments/{environment}/sessions", {})[1]["id"]
        draft = {"X-Configuration-Session": session}
        objects = [{"?": {"id": f"{n:032x}", "type": "io.test.Thing"}, "name": f"n{n}"} for n in range(12_000)]
        path = f"/v1/environments/{environment}/services"
        assert send("PUT", path, objects, **draft) == (200, objects)
        assert "vetro.cli" not in Path(f"/proc/{server}/cmdline").read_text()
        # What is read is as it was written; one change more, with a body that is small, is made the same way.
        found = send("GET", path, **draft)[1]
        assert [o["name"] for o in found] == [o["name"] for o in objects]
        assert send("DELETE", f"{path}/{objects[0]['?']['id']}", **draft)[0] == 200
        status, model = send("GET", f"/v2/sessions/{session}")
        assert status == 200, model
        status, answer = send("GET", f"/v2/sessions/{session}/changes")
        assert status == 413 and answer["error"]["code"] == "SRV413" and "10,000" in answer["error"]["message"]
        # An answer that goes on is collected by nobody.
        endless = f"/v2/environments/{environment}/servers/x/commands"
        status, answer = send("POST", endless, {"command": ["x" * 600_000]})
        assert status == 413 and "has to be small" in answer["error"]["message"]
        # Errors of such requests are those of all, and nothing of them stays.
        status, answer = send("PUT", path, [*objects, objects[1]], **draft)
        assert status == 400 and "two objects" in answer["message"]
        assert len(send("GET", path, **draft)[1]) == len(objects) - 1
        until(lambda: not children_of(server))
        counted = b'vetro_requests_total{api="v1",method="PUT",route="/v1/environments/{}/services",status="200"} 1.0'
        assert counted in service.get("/metrics")[1]
    finally:
        assert service.end() == 0
