"""What tests of the watcher share: models, environments, and a process that says what it is told to."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from vetro.frames import Decoder, encode
from vetro.server.environments.models import Environment
from vetro.server.environments.models import State as Model
from vetro.server.tasks import clock
from vetro.server.tasks.models import Task
from vetro.server.watch import queries, service
from vetro.server.watch.watcher import Watcher

REAL, PRETENDED = {"kind": "proot"}, {"kind": "record"}


def instance(id: str, name: str = "web", cloud: str | None = None, **more: Any) -> dict[str, Any]:
    header = {"id": id, "type": "io.murano.resources.LinuxMuranoInstance/0.0.0@io.murano"}
    return {"?": header, "name": name, "flavor": "m1", "openstackId": cloud or f"c-{id}", "ipAddresses": [], **more}


def app(id: str, *parts: Any, **more: Any) -> dict[str, Any]:
    header = {"id": id, "type": "test.App/1.0.0@test.app", "name": f"the {id}"}
    return {"?": header, "instance": list(parts), **more}


def model(*apps: Any) -> dict[str, Any]:
    root = {"?": {"id": "env", "type": "io.murano.Environment"}, "name": "env", "applications": list(apps)}
    return {"Objects": root}


def made(ann: Any, *apps: Any, name: str = "shop", cloud: Mapping[str, str] = REAL, region: str = "") -> Environment:
    row = Environment.objects.create(
        project_id=ann.caller.project_id, name=name, version=1, cloud=dict(cloud), region=region
    )
    Model.objects.create(environment=row, number=1, model=model(*apps))
    return row


def component(id: str, state: str, text: str = "", checks: Any = ()) -> dict[str, Any]:
    return {"id": id, "state": state, "text": text, "checks": list(checks)}


def states(row: Environment) -> list[str]:
    return [one.told.state.value for one in queries.components(row.id, None, None)]


def whole(row: Environment) -> str:
    told = queries.of_environment(row.id)
    return "" if told is None else told.state.value


def working(row: Environment, state: str, lease: float = 60.0) -> Task:
    return Task.objects.create(
        project_id=row.project_id, user_id="u", environment_id=row.id, kind="deploy", state=state, spec={},
        lease_until=clock.read() + timedelta(seconds=lease),
    )  # fmt: skip


def watched(row: Environment, seconds: float = 60.0) -> None:
    service.believe([""], "worker", seconds)


TYPE = "test.App/1.0.0@test.app"


class Process:
    """The process that watches, as far as the watcher sees it."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        assert settings == {"watch": True}
        self.alive = False

    def start(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.theirs.setblocking(False)
        self.alive = True

    def fileno(self) -> int:
        return self.ours.fileno()

    def kill(self) -> None:
        if self.alive:
            self.ours.close()
            self.theirs.close()
        self.alive = False

    def told(self) -> list[dict[str, Any]]:
        try:
            return Decoder().feed(self.theirs.recv(1 << 20))
        except BlockingIOError:
            return []

    def say(self, *messages: dict[str, Any]) -> None:
        self.theirs.sendall(b"".join(map(encode, messages)))


def round_of(watch: Watcher) -> None:
    watch._over.set()  # it waits for nothing
    watch._round()


def off(row: Environment, *ids: str) -> dict[str, Any]:
    told = {"id": row.id, "number": 1, "components": [component("a", "down")], "off": list(ids)}
    return {"t": "changes", "environments": [told]}
