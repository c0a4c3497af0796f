"""A `vetro serve` with the people of the recording."""

from __future__ import annotations

import http.client
import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.acceptance.golden.compare import Answer
from tests.server.servekit import Service, children_of

#: Whom there is: name, project, role.
_PEOPLE: Final = (
    ("demo", "demo", "member"),
    ("demo2", "demo", "member"),
    ("other", "other", "member"),
    ("admin", "admins", "admin"),
)
#: Seconds after which a connection is not trusted to be open: the service closes those that nobody uses.
_IDLE: Final = 1.0
#: The installation that was recorded: no Neutron, and clouds that make stacks but no servers.
SETTINGS: Final = {
    "VETRO_CLOUD__DRIVER": "record",
    "VETRO_CLOUD__SETTINGS": '{"regions": ["RegionOne"]}',
    "VETRO_NETWORKING__DRIVER": "nova",
    "VETRO_ENGINE__HOME_REGION": "RegionOne",
    "VETRO_OBSERVE__LOG_LEVEL": "warning",
}
_ZYGOTE: Final = b"vetro.engine.task.zygote"


def _command(pid: int) -> list[bytes]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


class Site:
    """A running service, and tokens of its people."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.service = Service(folder, **{**SETTINGS, **settings})
        try:
            self.url: str = self.service.await_ready()["url"]
            self.tokens, self.known = self._people()
        except BaseException:
            self.service.end()
            raise
        self.host = self.url.removeprefix("http://")
        self.known["<api>"] = self.host
        self._connection = http.client.HTTPConnection(self.host, timeout=60)
        self._used = time.monotonic()
        self._held: list[int] = []

    def _people(self) -> tuple[dict[str, str], dict[str, str]]:
        first = self.service.admin("token", "create", "admin", "-o", "value")
        known, tokens = {}, {}
        for project in sorted({project for _, project, _ in _PEOPLE}):
            known[project] = self._post(first, "/v2/admin/projects", {"name": project})["id"]
        projects, known = known, {}
        for name, project, role in _PEOPLE:
            # The first administrator of an installation is there already, in a project of its own.
            user, password = f"{name}-user", f"correct horse of {name}"
            wanted = {"name": user, "password": password, "project": project, "role": role}
            known[f"<user:{name}>"] = self._post(first, "/v2/admin/users", wanted)["id"]
            known[f"<project:{name}>"] = projects[project]
            tokens[name] = self._post("", "/v2/auth/login", {"name": user, "password": password})["token"]
        return tokens, known

    def _post(self, token: str, path: str, wanted: Mapping[str, str]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", **({"X-Auth-Token": token} if token else {})}
        status, body = self.service.send("POST", path, json.dumps(wanted).encode(), headers)
        assert status in (200, 201), body
        found: dict[str, Any] = json.loads(body)
        return found

    def send(self, actor: str, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        """One request as ``actor`` (a name, ``<none>``, ``<invalid token>``), exactly these headers and bytes."""
        token = {"<none>": None, "<invalid token>": "f" * 32}.get(actor, self.tokens.get(actor))
        sent = {"accept": "*/*", **headers, **({"x-auth-token": token} if token else {})}
        if time.monotonic() - self._used > _IDLE:
            self._connection.close()
        self._connection.request(method, path, body, sent)
        self._used = time.monotonic()
        answer = self._connection.getresponse()
        data = answer.read()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, data)

    def hold(self, held: bool) -> None:
        """Keeps tasks that begin from now on from being worked on, or lets them go on: the worker's zygote is halted.

        It forks the processes of tasks, and holds no lock of the database.
        """
        if held == bool(self._held):
            return
        if held:
            workers = [pid for pid in self.service.everybody() if b"worker" in _command(pid)]
            self._held = [zygote for pid in workers for zygote in children_of(pid) if _ZYGOTE in _command(zygote)]
            assert self._held
        for pid in self._held:
            os.kill(pid, signal.SIGSTOP if held else signal.SIGCONT)
        if not held:
            self._held = []

    def end(self) -> int:
        """Ends the service; its exit status."""
        self.hold(False)
        self._connection.close()
        return self.service.end()
