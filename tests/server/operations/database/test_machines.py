"""Two servers and a worker on one PostgreSQL, each in a data directory of its own as if on machines of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.server.api.v2.test_events import Listening
from tests.server.operations.database.kit import ROOT, once
from tests.server.servekit import Service
from tests.server.tasks.shop import archive
from tests.support.waiting import until

pytestmark = [once, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.campaign
def test_one_tells_the_other_and_a_third_does_the_work(tmp_path: Path, postgresql: Callable[[], str]) -> None:
    database = postgresql()
    shared = {
        "VETRO_DATABASE__URL": database,
        "VETRO_CLOUD__DRIVER": "record",
        "VETRO_STORAGE__BLOBS": str(tmp_path / "archives"),
        "VETRO_SECRETS__KEY_FILE": str(tmp_path / "keys"),
    }
    services: list[Service] = []
    worker = None
    try:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            services.append(Service(tmp_path / name, "--workers", "0", **shared))
        for service in services:  # that make the database both at once
            service.await_ready()
        one, two = services
        one.admin("project", "create", "demo")
        one.admin("user", "create", "ann", "--project", "demo")
        token = one.admin("token", "create", "ann", "-o", "value")

        def call(service: Service, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
            data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
            status, answer = service.send(method, path, data, {"X-Auth-Token": token, "Content-Type": kind})
            assert status < 300, answer
            return json.loads(answer) if answer else None

        part = b'--x\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'
        call(one, "POST", "/v2/packages", part + archive() + b"\r\n--x--\r\n", "multipart/form-data; boundary=x")

        # A worker without the archives says so instead of ending tasks with errors.
        environment = {**one.environment, **shared, "VETRO_DATA": str(tmp_path / "three")}
        command = [sys.executable, "-m", "vetro.cli.main", "worker"]
        alone = {**environment, "VETRO_STORAGE__BLOBS": str(tmp_path / "nothing")}
        refused = subprocess.run(command, env=alone, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert refused.returncode == 1 and "SRV585" in refused.stderr

        worker = subprocess.Popen(command, env=environment, cwd=ROOT)
        until(lambda: two.get("/ready")[0] == 200)
        with Listening(two, token) as stream:
            assert stream.event()["event"] == "begin"
            began = time.monotonic()
            environment_id = call(one, "POST", "/v1/environments", {"name": "far"})["id"]
            assert stream.event()["data"]["environment_id"] == environment_id
            told = time.monotonic() - began
            session = call(one, "POST", f"/v1/environments/{environment_id}/configure")["id"]
            app = {"?": {"type": "test.Shop", "id": "0" * 32}, "title": "corner"}
            one.send(
                "POST",
                f"/v1/environments/{environment_id}/services",
                json.dumps(app).encode(),
                {"X-Auth-Token": token, "X-Configuration-Session": session, "Content-Type": "application/json"},
            )
            status, _ = one.send(
                "POST",
                f"/v1/environments/{environment_id}/sessions/{session}/deploy",
                b"",
                {"X-Auth-Token": token, "Content-Type": "application/json"},
            )
            assert status == 200
            states = []
            while not states or states[-1] not in ("done", "failed"):
                event = stream.event()
                if event["event"] == "task":
                    states.append(event["data"]["state"])
            assert (states[0], states[-1]) == ("queued", "done")
        print(f"an event of the other server after {told * 1000:.0f} ms")
        # The pool: many requests, few connections; and a stream that waits holds none of them.
        for _ in range(20):
            assert one.get("/v1/environments", **{"X-Auth-Token": token})[0] == 200
        with psycopg.connect(database) as watcher:
            (count,) = watcher.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name = 'vetro'"
            ).fetchone() or (0,)
        assert count < 20
    finally:
        if worker is not None:
            worker.terminate()
            worker.wait(60)
        for service in services:
            service.end()
        shutil.rmtree(tmp_path / "archives", ignore_errors=True)
