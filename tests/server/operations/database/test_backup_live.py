"""A backup of a service at work, restored elsewhere: the same tokens, and every environment goes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.operations.database.kit import Installation, once
from tests.server.servekit import Service
from tests.server.tasks.shop import archive
from tests.support.waiting import until

pytestmark = [once, pytest.mark.slow, pytest.mark.timeout(500)]


class Client:
    """Somebody with a token."""

    def __init__(self, service: Service, token: str) -> None:
        self.service = service
        self.token = token

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json", **more: str) -> Any:
        data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        headers = {"X-Auth-Token": self.token, "Content-Type": kind, **more}
        status, answer = self.service.send(method, path, None if method == "GET" else data, headers)
        assert status < 300, (path, status, answer)
        return json.loads(answer) if answer else None

    def deploy(self, environment: str, title: str) -> None:
        base = f"/v1/environments/{environment}"
        session = self.call("POST", f"{base}/configure")["id"]
        app = {"?": {"type": "test.Shop", "id": title.rjust(32, "0")}, "title": title}
        self.call("POST", f"{base}/services", app, **{"X-Configuration-Session": session})
        self.call("POST", f"{base}/sessions/{session}/deploy")

    def state(self, environment: str) -> str:
        return str(self.call("GET", f"/v1/environments/{environment}")["status"])


@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_it_goes_on_elsewhere(tmp_path: Path, postgresql: Callable[[], str], kind: str) -> None:
    settings = {"VETRO_CLOUD__DRIVER": "record"}
    databases = [{"VETRO_DATABASE__URL": postgresql()} if kind == "postgresql" else {} for _ in range(2)]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    service = Service(tmp_path / "one", **settings, **databases[0])
    services = [service]
    stop = threading.Event()
    made: list[str] = []
    try:
        service.await_ready(150)
        service.admin("project", "create", "demo")
        service.admin("user", "create", "ann", "--project", "demo")
        ann = Client(service, service.admin("token", "create", "ann", "-o", "value"))
        part = b'--x\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'
        ann.call("POST", "/v2/packages", part + archive() + b"\r\n--x--\r\n", "multipart/form-data; boundary=x")
        failed: list[BaseException] = []

        def work() -> None:
            try:
                while not stop.is_set():
                    id = ann.call("POST", "/v1/environments", {"name": f"e{len(made)}"})["id"]
                    ann.deploy(id, f"{len(made)}")
                    made.append(id)
            except BaseException as error:
                failed.append(error)

        worker = threading.Thread(target=work)
        worker.start()
        try:
            until(lambda: len(made) >= 2 or failed, 150)
            before = len(made)
            source = Installation(tmp_path / "one" / "data", **settings, **databases[0])
            report = json.loads(source.run("db", "backup", str(tmp_path / "a.tar"), "--with-keys", "-o", "json").stdout)
            after = len(made)
            until(lambda: len(made) > after or failed, 150)
        finally:
            stop.set()
            worker.join()
        assert failed == []
        assert report["missing"] == () or report["missing"] == []
        service.process.kill()
        service.process.wait()

        target = Installation(tmp_path / "two" / "data", **settings, **databases[1])
        target.run("db", "restore", str(tmp_path / "a.tar"))
        target.run("db", "check", "--all")
        other = Service(tmp_path / "two", **settings, **databases[1])
        services.append(other)
        other.await_ready(150)
        again = Client(other, ann.token)
        there = {environment["id"] for environment in again.call("GET", "/v1/environments")["environments"]}
        assert before <= len(there & set(made)) <= after + 1 and there - set(made[: after + 1]) == set()
        for environment in made[:before]:
            until(lambda environment=environment: again.state(environment) == "ready", 150)
        again.deploy(made[0], "a")
        until(lambda: again.state(made[0]) == "ready", 150)
        apps = again.call("GET", f"/v1/environments/{made[0]}/services")
        assert sorted(app["title"] for app in apps) == ["0", "a"]
        print(f"{report['database_bytes']} bytes in {report['seconds']} s while {len(there)} environments were made")
    finally:
        stop.set()
        for one in services:
            one.end()
