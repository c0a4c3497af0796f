"""Several processes answer as one."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.servekit import Service, alive, children_of
from tests.support.waiting import until
from vetro.server.config.config import Config, http_processes


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("two"), "--workers", "0", VETRO_SERVER__PROCESSES="2") as found:
        yield found


def shared(service: Service) -> list[Path]:
    """What each process that answered something has laid down for the others."""
    return list((service.folder / "data" / "run" / str(service.process.pid)).glob("requests-*.json"))


def test_a_token_ends_in_all_processes_at_once(service: Service) -> None:
    token = service.admin("token", "create", "admin", "-o", "value")
    port = service.await_ready()["url"].rpartition(":")[2]
    connections: list[http.client.HTTPConnection] = []

    def ask(connection: http.client.HTTPConnection) -> tuple[int, bytes]:
        connection.request("GET", "/v1/environments", headers={"X-Auth-Token": token})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def both() -> bool:
        connections.append(http.client.HTTPConnection("127.0.0.1", int(port), timeout=30))
        # Whichever process gets it, and this is the first that it is asked.
        assert ask(connections[-1])[0] == 200
        return len(shared(service)) == 2

    try:
        until(both)
        asked = len(connections)
        counts: list[int] = []

        def counted() -> bool:
            """Each process answered some; whoever is asked adds what the others have laid down until now."""
            status, body = service.get("/v1/stats", **{"X-Auth-Token": token})
            assert status == 200
            counts.append(int(json.loads(body)[0]["request_count"]))
            return counts[-1] >= asked

        until(counted)
        assert counts[-1] <= asked + len(counts)
        service.admin("token", "revoke", token)
        assert {ask(connection)[0] for connection in connections} == {401}
    finally:
        for connection in connections:
            connection.close()


def test_a_process_does_not_outlive_a_server_that_is_killed_while_it_starts(tmp_path: Path) -> None:
    own = {"VETRO_DATA": str(tmp_path), "VETRO_SERVER__PROCESSES": "1", "VETRO_SERVER__PORT": "0"}
    server = subprocess.Popen([sys.executable, "-m", "vetro.server.http.server"], env={**os.environ, **own})
    started: list[int] = []

    def starts() -> bool:
        started.extend(children_of(server.pid))
        return bool(started)

    try:
        until(starts)
    finally:
        server.kill()
        server.wait()
    try:
        until(lambda: not any(map(alive, started)), 20)
    finally:
        for pid in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_by_default_there_are_two_where_two_can_run(tmp_path: Path) -> None:
    assert http_processes(Config.load(tmp_path, environ={})) == min(2, len(os.sched_getaffinity(0)))
    assert http_processes(Config.load(tmp_path, overrides={"server.processes": 3}, environ={})) == 3
