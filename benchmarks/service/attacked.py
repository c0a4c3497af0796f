"""How one tenant fares while another one attacks: four hostile uploads, 120 bodies that never come, 100 event streams
and eight drafts of 100,000 objects, against a `vetro serve` of its own on loopback.

    python -m benchmarks.service.attacked [seconds]

Prints 99th percentiles of the neighbour's GET and POST before and during the attack, and the memory of the service: all
of its processes, shared pages once. The targets: GET 300 ms, POST 1 s, 600 MiB, on two processors.
"""

from __future__ import annotations

import http.client
import io
import json
import multiprocessing
import os
import socket
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.service.running import Running, _children, service

IDLE, STREAMS, DRAFTS, UPLOADS, OBJECTS = 120, 100, 8, 4, 100_000


class Tenant:
    """Somebody with a token."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token

    def send(
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> tuple[int, Any]:
        """(status, answer); status 0 where the connection ended."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body, {"X-Auth-Token": self.token, "Content-Type": kind})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()


def draft() -> bytes:
    """A model of many objects."""
    header = {"type": "io.murano.Object"}
    listed = [{"?": {**header, "id": f"{n:032x}"}, "name": f"n{n}"} for n in range(OBJECTS)]
    return json.dumps(listed).encode()


def bomb() -> bytes:
    """An archive of an environment that is small and becomes large."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("environment.json", json.dumps({"format": 1, "name": "e", "packages": []}))
        for number in range(20):
            root = b'{"Objects": {"?": {"id": "e", "type": "t"}, "x": [' + b"[]," * 950_000 + b"[]]}}"
            archive.writestr(f"model-{number}.json", root)
    data = target.getvalue()
    return (
        b'--b\r\nContent-Disposition: form-data; name="archive"; filename="e.zip"\r\n'
        b"Content-Type: application/zip\r\n\r\n" + data + b"\r\n--b--\r\n"
    )


class Attack:
    """All of it at once, until `end`."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._over = threading.Event()
        self._sockets: list[socket.socket] = []
        self.statuses: dict[str, list[int]] = {"uploads": [], "drafts": [], "changes": []}
        body, archive = draft(), bomb()
        work: list[Callable[[], None]] = [self._idle]
        work += [lambda: self._again("uploads", "POST", "/v2/environments/import", archive)] * UPLOADS
        # Before everything else: the rest of the attack takes the places of what this tenant sends.
        environments = [self._environment(number) for number in range(DRAFTS)]
        work += [partial(self._draft, id, body) for id in environments]
        self._threads = [threading.Thread(target=one, daemon=True) for one in work]
        for _ in range(STREAMS):
            self._open(f"GET /v2/events HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: {tenant.token}\r\n\r\n")
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Ends it."""
        self._over.set()
        for connection in self._sockets:
            connection.close()
        for thread in self._threads:
            thread.join(150)

    def _open(self, text: str) -> None:
        connection = socket.create_connection(("127.0.0.1", self._tenant.port), timeout=30)
        connection.sendall(text.encode())
        self._sockets.append(connection)

    def _idle(self) -> None:
        head = f"POST /v1/environments HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: {self._tenant.token}\r\n"
        while not self._over.is_set():
            for _ in range(IDLE):
                try:
                    self._open(f"{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
                except OSError:
                    break
            self._over.wait(3)

    def _again(self, what: str, method: str, path: str, body: bytes) -> None:
        while not self._over.is_set():
            status, _ = self._tenant.send(method, path, body, "multipart/form-data; boundary=b")
            self.statuses[what].append(status)
            self._over.wait(0.2)

    def _environment(self, number: int) -> str:
        name = json.dumps({"name": f"d{number}"}).encode()
        status, answer = self._tenant.send("POST", "/v2/environments", name)
        assert status == 201, answer
        return str(json.loads(answer)["id"])

    def _draft(self, id: str, body: bytes) -> None:
        tenant = self._tenant
        while not self._over.is_set():
            status, answer = tenant.send("POST", f"/v2/environments/{id}/sessions", b"")
            if status not in (200, 201):
                self.statuses["drafts"].append(status)
                self._over.wait(0.5)
                continue
            session = json.loads(answer)["id"]
            self.statuses["drafts"].append(self._put(id, session, body))
            for path in (f"/v2/sessions/{session}/changes", f"/v2/environments/{id}/topology?session={session}"):
                self.statuses["changes"].append(tenant.send("GET", path)[0])

    def _put(self, environment: str, session: str, body: bytes) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self._tenant.port, timeout=120)
        headers = {
            "X-Auth-Token": self._tenant.token, "Content-Type": "application/json", "X-Configuration-Session": session
        }  # fmt: skip
        try:
            connection.request("PUT", f"/v1/environments/{environment}/services", body, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()


def attack(port: int, token: str, pipe: Any) -> None:
    """Attacks from a process of its own, until something comes through the pipe; then says what was answered."""
    begun = Attack(Tenant(port, token))
    pipe.send(None)
    pipe.recv()
    begun.end()
    pipe.send(begun.statuses)


def measure(tenant: Tenant, seconds: float, mark: str) -> tuple[list[float], list[float], int]:
    """(seconds of GETs, of POSTs, how many failed)."""
    gets: list[float] = []
    posts: list[float] = []
    failed = 0
    until, number = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        number += 1
        for times, method, path, body in (
            (gets, "GET", "/v2/environments?limit=20", None),
            (gets, "GET", "/v1/environments", None),
            (posts, "POST", "/v2/environments", json.dumps({"name": f"{mark}{number}"}).encode()),
        ):
            began = time.perf_counter()
            status, _ = tenant.send(method, path, body)
            times.append(time.perf_counter() - began)
            failed += status not in (200, 201)
        time.sleep(0.05)
    return gets, posts, failed


def memory(pid: int) -> float:
    """Memory of a process and all below it in MiB; shared pages count once."""
    total, todo = 0, [pid]
    while todo:
        one = todo.pop()
        try:
            todo += _children(one)
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (OSError, ProcessLookupError):
            continue
    return total / 1024


def percentile(times: list[float]) -> float:
    """The 99th, in milliseconds."""
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.99))] * 1000


def attacked(running: Running, hostile: Tenant, neighbour: Tenant, seconds: float) -> dict[str, Any]:
    """What was measured."""
    found: dict[str, Any] = {"processors": len(os.sched_getaffinity(0))}
    gets, posts, failed = measure(neighbour, min(seconds, 10), "a")
    found["before"] = {"get_p99_ms": percentile(gets), "post_p99_ms": percentile(posts), "failed": failed}
    over_there, here = multiprocessing.Pipe()
    attacking = multiprocessing.get_context("spawn").Process(
        target=attack, args=(hostile.port, hostile.token, over_there)
    )
    attacking.start()
    here.recv()
    peaks: list[float] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.5):
            peaks.append(memory(running.pid))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        gets, posts, failed = measure(neighbour, seconds, "b")
    finally:
        over.set()
        watching.join()
        here.send(None)
        statuses = here.recv()
        attacking.join()
    found["during"] = {
        "requests": len(gets) + len(posts), "get_p99_ms": percentile(gets), "post_p99_ms": percentile(posts),
        "failed": failed, "memory_mib": max(peaks),
    }  # fmt: skip
    found["answers"] = {
        what: {str(s): statuses.count(s) for s in sorted(set(statuses))} for what, statuses in statuses.items()
    }
    return found


def tenants(running: Running) -> tuple[Tenant, Tenant]:
    """The hostile one and its neighbour: new members of projects of their own."""
    made = []
    for name in ("hostile", "neighbour"):
        running.call("POST", "/v2/admin/projects", {"name": name})
        running.call("POST", "/v2/admin/users", {"name": name, "password": f"password of {name}"})
        running.call("POST", "/v2/admin/memberships", {"user": name, "project": name, "role": "member"})
        login = running.call("POST", "/v2/auth/login", {"name": name, "password": f"password of {name}"})
        made.append(Tenant(running.port, login["token"]))
    return made[0], made[1]


def main(seconds: float) -> None:
    """Measures and prints."""
    with service() as running:
        print(json.dumps(attacked(running, *tenants(running), seconds), indent=1))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
