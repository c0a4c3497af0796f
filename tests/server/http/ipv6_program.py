"""A service on IPv6 in a network namespace that has nothing else: what it answers, as JSON. For `test_ipv6`.

It runs inside of that namespace: ``python -m tests.server.http.ipv6_program FOLDER``.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.server.servekit import Service

PASSWORD = "correct horse battery"
ULA = ("fd00:1::1", "fd00:1::2", "fd00:2::1")
#: How an inner host may be written; the port of a server that counts its connections is put in.
INNER = (
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[fd00:1::1]",
    "[FD00:0001:0:0:0:0:0:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "[ff02::1]", "localhost6",
)  # fmt: skip


def send(
    at: tuple[str, int], method: str, path: str, body: Any = None, source: str | None = None, **headers: str
) -> tuple[int, dict[str, Any]]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        given["Content-Type"] = "application/json"
    connection = http.client.HTTPConnection(*at, timeout=60, source_address=(source, 0) if source else None)
    with contextlib.closing(connection):
        connection.request(method, path, None if body is None else json.dumps(body), given)
        answer = connection.getresponse()
        text = answer.read()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, {}


class Inner:
    """A server that nobody was to reach; ``asked``: who did."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._socket = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            connection, address = self._socket.accept()
            self.asked.append(address[0])
            connection.close()


def observe(folder: Path) -> dict[str, Any]:
    for command in (["link", "set", "lo", "up"], *(["-6", "addr", "add", f"{a}/64", "dev", "lo"] for a in ULA)):
        subprocess.run(["ip", *command], check=True)
    found: dict[str, Any] = {}
    service = Service(folder, "--host", "::1", VETRO_CLOUD__DRIVER="record", VETRO_PACKAGES__IMPORT_HOSTS='["*"]')
    try:
        url = str(service.await_ready()["url"])
        port = int(url.rpartition(":")[2])
        found["url"] = url.replace(str(port), "PORT")
        token = service.admin("token", "create", "admin", "-o", "value")
        environ = {**service.environment, "VETRO_WORKSPACE": str(folder / "w"), "HOME": str(folder)}
        login = [sys.executable, "-m", "vetro", "login", url, "--token-stdin"]
        said = subprocess.run(login, input=token, env=environ, capture_output=True, text=True, timeout=120)
        listed = subprocess.run(
            [sys.executable, "-m", "vetro", "package", "list", "-o", "json"],
            env=environ, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        found["client"] = [
            said.returncode,
            listed.returncode,
            "io.murano" in listed.stdout,
            said.stderr + listed.stderr,
        ]
        try:
            send((ULA[0], port), "GET", "/health")
            found["elsewhere"] = "answered"
        except OSError:
            found["elsewhere"] = "refused"
        inner = Inner()
        found["imports"] = {}
        for host in INNER:
            body = {"url": f"http://{host}:{inner.port}/x.zip"}
            status, answer = send(("::1", port), "POST", "/v2/packages/import", body, X_Auth_Token=token)
            found["imports"][host] = [status, (answer.get("error") or answer).get("code")]
        found["asked"] = inner.asked
    finally:
        service.end()
    (folder / "ready.json").unlink(missing_ok=True)
    service = Service(folder, "--host", "::", VETRO_CLOUD__DRIVER="record")
    try:
        port = int(str(service.await_ready()["url"]).rpartition(":")[2])
        found["all"] = [send((a, port), "GET", "/health")[0] for a in ("::1", *ULA)]
        found["names"] = [
            send(("::1", port), "GET", "/health", Host=name)[0]
            for name in (f"[fd00:1::1]:{port}", f"[::1]:{port}", "rebound.example", "[fd00:1::1].example")
        ]
        token = service.admin("token", "create", "admin", "-o", "value")
        user = {"name": "carl", "password": PASSWORD, "project": "default", "role": "member"}
        found["made"] = send(("::1", port), "POST", "/v2/admin/users", user, X_Auth_Token=token)[0]
        wrong = {"name": "carl", "password": "wrong"}
        tries = [send((ULA[0], port), "POST", "/v2/auth/login", wrong, ULA[n % 2])[0] for n in range(20)]
        found["guessing"] = tries
        found["other"] = send((ULA[0], port), "POST", "/v2/auth/login", wrong, ULA[2])[0]
        right = {"name": "carl", "password": PASSWORD}
        found["right"] = send((ULA[0], port), "POST", "/v2/auth/login", right, ULA[2])[0]
    finally:
        service.end()
    return found


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.getcwd()
    print(json.dumps(observe(Path(sys.argv[1]))))
