"""Two servers behind the proxy of deploy/nginx, a worker, archives in S3, PostgreSQL: as on machines of their own."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.operations.proxy import Proxy, free_port, in_front_of, missing_nginx, trusting
from tests.server.catalog.s3site import Site
from tests.server.operations.database.kit import ROOT
from tests.server.servekit import Service
from tests.server.tasks.shop import archive

pytestmark = [pytest.mark.slow, pytest.mark.timeout(500)]


class Client:
    """Somebody with a token who knows the proxy only."""

    def __init__(self, proxy: Proxy, token: str) -> None:
        self.proxy = proxy
        self.token = token

    def connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("localhost", self.proxy.port, timeout=60, context=trusting(self.proxy))

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        connection = self.connection()
        try:
            connection.request(method, path, data, {"X-Auth-Token": self.token, "Content-Type": kind})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        assert answer.status < 300, (path, answer.status, text)
        return json.loads(text) if text else None


@pytest.mark.campaign
def test_any_server_answers_for_all(tmp_path: Path, postgresql: Callable[[], str]) -> None:
    if reason := missing_nginx():
        pytest.skip(reason)
    store = Site()
    shared = {
        "VETRO_DATABASE__URL": postgresql(),
        "VETRO_CLOUD__DRIVER": "record",
        "VETRO_STORAGE__BLOBS": "s3://archives/vetro",
        "VETRO_SECRETS__KEY_FILE": str(tmp_path / "keys"),
        "VETRO_SERVER__PUBLIC_URL": "https://localhost",
        "VETRO_SERVER__TRUSTED_PROXIES": "127.0.0.1",
        "AWS_ENDPOINT_URL_S3": store.url, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "here", "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    services: list[Service] = []
    ports: list[int] = []
    worker = None
    try:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            ports.append(free_port())  # the file that says when it is ready has the address for users
            services.append(Service(tmp_path / name, "--workers", "0", "--port", str(ports[-1]), **shared))
            assert services[-1].await_ready(150)["url"] == "https://localhost"
        one = services[0]
        one.admin("project", "create", "demo")
        one.admin("user", "create", "ann", "--project", "demo")
        token = one.admin("token", "create", "ann", "-o", "value")
        command = [sys.executable, "-m", "vetro.cli.main", "worker"]
        worker = subprocess.Popen(command, env={**one.environment, "VETRO_DATA": str(tmp_path / "three")}, cwd=ROOT)
        (tmp_path / "proxy").mkdir()
        with in_front_of([f"127.0.0.1:{port}" for port in ports], tmp_path / "proxy") as proxy:
            client = Client(proxy, token)
            _work(client, store)
            _what_the_proxy_keeps(client)
            # Any of them may end: the other one answers, and nobody notices.
            one.end()
            for _ in range(4):
                assert client.call("GET", "/v2/environments")["items"]
            asked = subprocess.run(
                [sys.executable, "-m", "vetro.cli.main", "doctor", "--server", f"https://localhost:{proxy.port}"],
                env={**os.environ, "SSL_CERT_FILE": str(proxy.certificate)}, cwd=ROOT, capture_output=True, text=True,
            )  # fmt: skip
            assert "it is ready: database and workers" in asked.stdout, asked.stdout
            assert "the certificate ends in" in asked.stdout and asked.returncode == 1
    finally:
        if worker is not None:
            worker.terminate()
            worker.wait(60)
        for service in services:
            service.end()
        store.close()


def _work(client: Client, store: Site) -> None:
    """Requests take turns between the servers: what one of them began, the other goes on with."""
    part = b'--x\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'
    sent = part + archive() + b"\r\n--x--\r\n"
    assert client.call("POST", "/v2/packages", sent, "multipart/form-data; boundary=x")["imported"]
    assert any(name.startswith("archives/vetro/") for name in store.objects)
    stream = client.connection()
    stream.request("GET", "/v2/events", headers={"X-Auth-Token": client.token})
    events = stream.getresponse()
    try:
        environment = client.call("POST", "/v2/environments", {"name": "far"})["id"]
        wanted = {"environment_id": environment, "class": "test.Shop", "source": "class"}
        at = f"/v2/forms/{client.call('POST', '/v2/forms', wanted)['id']}"
        assert client.call("POST", f"{at}/submit", {"answers": {"title": "corner"}})["outcome"] == "ready"
        session = client.call("POST", f"{at}/finish")["session_id"]
        task = client.call("POST", f"/v2/sessions/{session}/deploy")["id"]
        states: list[str] = []
        while not states or states[-1] not in ("done", "failed"):
            line = events.readline().decode()
            assert line, "the stream ended"
            if line.startswith("data: ") and f'"{task}"' in line and '"state"' in line:
                states.append(json.loads(line[6:])["state"])
        assert (states[0], states[-1]) == ("queued", "done")
    finally:
        events.close()
        stream.close()
    (component,) = client.call("GET", f"/v1/environments/{environment}/services")
    assert (component["title"], component["made"]) == ("corner", 1)


def _what_the_proxy_keeps(client: Client) -> None:
    plain = http.client.HTTPConnection("127.0.0.1", client.proxy.plain_port, timeout=30)
    secure = client.connection()
    try:
        plain.request("GET", "/app/", headers={"Host": "vetro.example.org"})
        moved = plain.getresponse()
        moved.read()
        assert (moved.status, moved.headers["Location"]) == (301, "https://vetro.example.org/app/")
        secure.request("GET", "/metrics")
        hidden = secure.getresponse()
        hidden.read()
        assert hidden.status == 404
        # The scheme that users see gets through: cookies are for HTTPS only.
        secure.request("GET", "/app/login")
        page = secure.getresponse()
        page.read()
        assert page.status == 200 and "Secure" in str(page.headers["Set-Cookie"])
    finally:
        plain.close()
        secure.close()
