"""A `vetro serve` of its own for the time of a measurement."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Running:
    """The service: its port, a token of an administrator, and plain requests for preparing."""

    def __init__(self, port: int, token: str, pid: int) -> None:
        self.port = port
        self.token = token
        self.pid = pid

    def call(
        self, method: str, path: str, data: Any = None, *, body: bytes | None = None, kind: str = "", session: str = ""
    ) -> Any:
        """The answer's JSON; raises RuntimeError for an error."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"X-Auth-Token": self.token, "Accept": "application/json"}
        if session:
            headers["X-Configuration-Session"] = session
        if body is None and data is not None:
            body, kind = json.dumps(data).encode(), "application/json"
        if body is not None:
            headers["Content-Type"] = kind
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return json.loads(content) if content else None

    def memory_mib(self) -> float:
        """Memory of all processes that answer requests, with what starts them, in MiB; shared pages count once."""
        total = 0
        todo = [self.pid]
        while todo:
            for child in _children(todo.pop()):
                todo.append(child)
                if b"http.server" in Path(f"/proc/{child}/cmdline").read_bytes():
                    lines = Path(f"/proc/{child}/smaps_rollup").read_text().splitlines()
                    total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return total / 1024


@contextmanager
def service(workers: int = 0) -> Iterator[Running]:
    """A new service with an empty database in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="vetro-benchmark-") as name:
        folder = Path(name)
        ready = folder / "ready"
        vetro = [sys.executable, "-m", "vetro.cli.main"]
        environment = {**os.environ, "VETRO_DATA": str(folder / "data")}
        command = [*vetro, "serve", "--port", "0", "--workers", str(workers), "--ready-file", str(ready)]
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(command, env=environment, stderr=log)
        try:
            until = time.monotonic() + 300
            while not ready.exists():
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError((folder / "log").read_text()[-2000:])
                time.sleep(0.05)
            told = json.loads(ready.read_text())
            create = [*vetro, "admin", "token", "create", "admin", "-o", "value"]
            token = subprocess.check_output(create, env=environment, text=True).strip()
            yield Running(int(told["url"].rpartition(":")[2]), token, told["pid"])
        finally:
            process.terminate()
            process.wait(60)


def _children(pid: int) -> list[int]:
    return [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
