"""Large answers to clients that do not read: bounded in time and memory, at the cost of who holds the most."""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.servekit import Service
from vetro.server.http import responses
from vetro.server.http.responses import Answers
from vetro.server.requests.buffered_response import PART, BufferedResponse, buffered

pytestmark = pytest.mark.attack("bodies", "slow-reader")

MANIFEST = (
    "Format: MuranoPL/1.4\nType: Application\nFullName: com.example.Big\nName: Big\n"
    "Classes: {com.example.Big: a.yaml}\n"
)
LOADED = "Namespaces: {=: com.example, std: io.murano}\nName: Big\nExtends: std:Application\n"


class Client:
    """Takes so many parts at once, then only when it is told to."""

    def __init__(self, taken: int) -> None:
        self.sent: list[dict[str, Any]] = []
        self._free = asyncio.Semaphore(taken)

    def take(self) -> None:
        self._free.release()

    async def send(self, message: dict[str, Any]) -> None:
        await self._free.acquire()
        self.sent.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def head() -> dict[str, Any]:
    return {"type": "http.response.start", "status": 200, "headers": []}


def run(act: Callable[[Callable[..., Any]], Any], most: int) -> None:
    """``act(start)`` in a loop, where ``start(client, size, whose)`` gives the task of an answer that begins."""

    async def all_of_it() -> None:
        answers, tasks = Answers(most), []

        async def start(client: Client, size: int, whose: str) -> asyncio.Task[None]:
            tasks.append(asyncio.create_task(answers.send(client.send, head(), b"x" * size, whose)))
            await asyncio.sleep(0.01)
            return tasks[-1]

        await act(start)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(all_of_it())


def test_an_answer_arrives_whole_with_its_length() -> None:
    async def act(start: Any) -> None:
        client = Client(100)
        await (await start(client, 3 * PART + 5, "project a"))
        assert client.body == b"x" * (3 * PART + 5)
        assert client.sent[0]["headers"] == [(b"Content-Length", b"%d" % (3 * PART + 5))]
        assert (client.sent[-1]["body"], "more_body" in client.sent[-1]) == (b"", False)

    run(act, 1)


def test_an_answer_from_a_file_arrives_whole_and_is_gone() -> None:
    async def sent() -> None:
        data, client = buffered(b"x" * 1000 for _ in range(400)), Client(100)
        assert isinstance(data, BufferedResponse)
        await Answers().send(client.send, head(), data, "project a")
        assert client.body == b"x" * 400_000
        assert client.sent[0]["headers"] == [(b"Content-Length", b"400000")]
        assert max(len(message.get("body", b"")) for message in client.sent) == PART
        with pytest.raises(ValueError, match="closed"):
            next(iter(data))

    asyncio.run(sent())


def test_who_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "SEND_SECONDS", 0.05)

    async def act(start: Any) -> None:
        client = Client(2)
        await asyncio.wait_for(await start(client, 3 * PART, "project a"), 20)
        assert client.body == b"x" * PART

    run(act, 10 * PART)


def test_beyond_the_limit_who_holds_the_most_loses_what_waits_longest() -> None:
    async def act(start: Any) -> None:
        honest, idle, reading = Client(1), Client(1), Client(1)
        own = await start(honest, 3 * PART, "project honest")
        first = await start(idle, 3 * PART, "project hostile")
        second = await start(reading, 3 * PART, "project hostile")
        reading.take()
        await asyncio.sleep(0.01)
        third = await start(Client(1), 3 * PART, "project hostile")
        await asyncio.sleep(0.01)
        assert (first.done(), second.done(), third.done(), own.done()) == (True, False, False, False)
        assert first.exception() is None
        for _ in range(5):
            honest.take()
        await asyncio.wait_for(own, 20)
        assert honest.body == b"x" * 3 * PART

    run(act, 10 * PART)


def test_the_only_answer_of_each_is_sent_however_large_it_is() -> None:
    async def act(start: Any) -> None:
        one, other = Client(100), Client(1)
        waiting = await start(other, 9 * PART, "project b")
        await (await start(one, 9 * PART, "project a"))
        assert (len(one.body), waiting.done()) == (9 * PART, False)

    run(act, PART)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(
        tmp_path_factory.mktemp("answers"), "--workers", "0", VETRO_SERVER__PROCESSES="1", VETRO_SERVER__THREADS="4",
        VETRO_SERVER__STREAMS="2", VETRO_PACKAGES__MAX_UPLOAD_MIB="9",
    ) as found:  # fmt: skip
        yield found


def archive(megabytes: int) -> bytes:
    """A package with so many MiB that cannot be made smaller."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("manifest.yaml", MANIFEST)
        made.writestr("Classes/a.yaml", LOADED)
        made.writestr("Resources/big", os.urandom(megabytes << 20))
    return file.getvalue()


def memory(service: Service) -> int:
    """MiB of memory of all processes of the service that nobody shares."""
    found = 0
    for pid in service.everybody():
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        found += sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))
    return found >> 10


def somebody_else(service: Service) -> str:
    """A token of another project."""
    service.admin("project", "create", "other")
    person = ("--project", "other", "--role", "member", "--password-stdin")
    service.admin("user", "create", "bob", *person, input="pw of bob")
    return service.admin("token", "create", "bob", "-o", "value")


@pytest.mark.campaign
def test_downloads_that_nobody_reads_take_neither_memory_nor_threads(service: Service) -> None:
    """60 downloads of 8 MiB are 480 MiB; there are 6 threads."""
    token, other = service.admin("token", "create", "admin", "-o", "value"), somebody_else(service)
    data = archive(8)
    form = (
        b'--in-no-archive-0123456789\r\nContent-Disposition: form-data; name="public"\r\n\r\ntrue\r\n'
        b'--in-no-archive-0123456789\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'
        b"%b\r\n--in-no-archive-0123456789--\r\n" % data
    )
    headers = {"X-Auth-Token": token, "Content-Type": "multipart/form-data; boundary=in-no-archive-0123456789"}
    status, answer = service.send("POST", "/v2/packages", form, headers)
    assert status == 201, answer
    answer = service.get("/v1/catalog/packages?fqn=com.example.Big", **{"X-Auth-Token": token})[1]
    path = f"/v1/catalog/packages/{json.loads(answer)['packages'][0]['id']}/download"
    before = memory(service)
    port = int(service.await_ready()["url"].rpartition(":")[2])
    idle = []
    try:
        for _ in range(60):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", port))
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: {token}\r\n\r\n".encode())
            idle.append(connection)
        status, answer = service.get(path, **{"X-Auth-Token": other})
        assert (status, answer == data) == (200, True)
        assert memory(service) - before < 260
    finally:
        for connection in idle:
            connection.close()
