"""A `vetro serve` with the people of the recording."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.acceptance.golden.compare import Answer
from tests.server.servekit import Service

#: Whom there is: name, project, role.
_PEOPLE: Final = (
    ("demo", "demo", "member"),
    ("demo2", "demo", "member"),
    ("other", "other", "member"),
    ("admin", "admins", "admin"),
)
#: The installation that was recorded: no Neutron, and clouds that make stacks but no servers.
SETTINGS: Final = {
    "VETRO_CLOUD__DRIVER": "record",
    "VETRO_NETWORKING__DRIVER": "nova",
    "VETRO_ENGINE__HOME_REGION": "RegionOne",
    "VETRO_OBSERVE__LOG_LEVEL": "warning",
}


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

    def _people(self) -> tuple[dict[str, str], dict[str, str]]:
        known, tokens, projects = {}, {}, {}
        for name, project, role in _PEOPLE:
            if project not in projects:
                made = json.loads(self.service.admin("project", "create", project, "-o", "json"))
                projects[project] = made["id"]
            # The first administrator of an installation is there already, in a project of its own.
            user = f"{name}-user"
            made = json.loads(
                self.service.admin("user", "create", user, "--project", project, "--role", role, "-o", "json")
            )
            tokens[name] = self.service.admin("token", "create", user, "-o", "value")
            known[f"<project:{name}>"] = projects[project]
            known[f"<user:{name}>"] = made["id"]
        return tokens, known

    def send(self, actor: str, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        """One request as ``actor`` (a name, ``<none>``, ``<invalid token>``), exactly these headers and bytes."""
        token = {"<none>": None, "<invalid token>": "f" * 32}.get(actor, self.tokens.get(actor))
        sent = {"accept": "*/*", **headers, **({"x-auth-token": token} if token else {})}
        self._connection.request(method, path, body, sent)
        answer = self._connection.getresponse()
        data = answer.read()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, data)

    def end(self) -> None:
        self._connection.close()
        self.service.end()
