"""A running `vetro serve`, as a person would start it: for tests of the whole service."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from tests.support import forked
from tests.support.installation import prepared
from tests.support.waiting import until

#: How settings begin that keep data elsewhere.
_ELSEWHERE = ("VETRO_DATABASE__", "VETRO_SECRETS__", "VETRO_STORAGE__")


class Service:
    """A running `vetro serve` of its own.

    Its data directory is as an earlier start left it, unless it has one or keeps its data elsewhere.
    """

    prepare = staticmethod(prepared)

    def __init__(self, folder: Path, *options: str, **settings: str) -> None:
        self.folder = folder
        self.ready = folder / "ready.json"
        self.errors = folder / "stderr"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
        self.environment = {**environment, "VETRO_DATA": str(folder / "data"), **settings}
        elsewhere = "--database" in options or any(name.startswith(_ELSEWHERE) for name in settings)
        if not (elsewhere or (folder / "data").exists()):
            self.prepare(folder / "data")
        command = [sys.executable, "-m", "vetro.cli.main", "serve", "--port", "0", "--ready-file", str(self.ready)]
        self.process = self.launch([*command, *options])

    def __enter__(self) -> Self:
        """Waits until it answers."""
        try:
            self.await_ready()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def launch(self, command: list[str]) -> subprocess.Popen[bytes]:
        """Starts the program; what it says goes into `errors`."""
        with open(self.errors, "wb") as errors:
            return subprocess.Popen(command, env=self.environment, stderr=errors)

    def await_ready(self, seconds: float = 180) -> dict[str, Any]:
        until(lambda: self.ready.exists() or self.process.poll() is not None, seconds)
        assert self.ready.exists(), self.errors.read_text()
        found: dict[str, Any] = json.loads(self.ready.read_text())
        return found

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        return self.send("GET", path, None, headers)

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        url = json.loads(self.ready.read_text())["url"]
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=120)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def admin(self, *words: str, input: str | None = None) -> str:
        done = forked.run("vetro.cli.main", "admin", *words, env=self.environment, input=input or "", timeout=180)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def end(self) -> int:
        """Ends it as an operator would; its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(180)

    def everybody(self) -> set[int]:
        """Ids of all processes below the service."""
        found, todo = set(), [self.process.pid]
        while todo:
            for child in children_of(todo.pop()):
                found.add(child)
                todo.append(child)
        return found


class NewService(Service):
    """One that never started before."""

    prepare = staticmethod(lambda data: None)


def children_of(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    return []


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
