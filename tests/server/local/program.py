"""A workspace in a process of its own, as a command has it: ``python program.py ROOT TEMPLATES STEP…`` prints JSON.

Steps: ``make PACKAGE SCRIPT`` an environment ``e`` whose draft has one application, ``deploy`` that draft, ``resume``,
``cancel``, ``abandon`` what was interrupted, ``show``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vetro.cli.client.local_workspace import open_local

if TYPE_CHECKING:
    from vetro.cli.client.local import LocalClient

APPLICATION = {
    "?": {"type": "t.Box"},
    "name": "box",
    "instance": {
        "?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": "1" * 32},
        "name": "e-1",
        "flavor": "m1.small",
        "image": "debian-12-murano",
    },
}


def make(client: LocalClient, package: str, script: str) -> str:
    """The id of the session."""
    from vetro.packages import load_path
    from vetro.server.environments.models import Environment
    from vetro.server.local import environments

    client.workspace.keep()
    row = client.post("/environments", {"name": "e"})
    cloud = {"kind": "record"} | ({"script": script} if script else {})
    Environment.objects.filter(id=row["id"]).update(cloud=cloud)
    environments.pin(row["id"], load_path(package))
    session = client.post(f"/environments/{row['id']}/sessions")
    client.post(f"/sessions/{session['id']}/components", APPLICATION)
    return str(session["id"])


def run(client: LocalClient, task_id: str) -> list[Any]:
    """State and error of a task, and what it reported meanwhile."""
    from vetro.engine.task.launcher import Launcher
    from vetro.server.local import tasks

    seen: list[str] = []

    def hear(event: Any) -> None:
        if event.get("kind") == "report":
            seen.append(event["args"]["text"])

    with Launcher() as launcher:
        done = tasks.run(client.workspace, task_id, "e", launcher, events=hear)
    return [done.state, (done.error or {}).get("message"), seen]


def step(client: LocalClient, name: str, *arguments: str) -> Any:
    """What one step gives."""
    from vetro.server.local import environments, tasks
    from vetro.server.tasks.models import Task

    if name == "make":
        return make(client, *arguments)
    (row,) = client.items("/environments")
    tasks_of = [t["state"] for t in client.items("/tasks", environment=row["id"])]
    if name == "show":
        return {**environments.described(client.workspace, row["id"]), "tasks": tasks_of}
    if name == "deploy":
        tasks.check_free(client.workspace, row["id"], "e")
        return run(client, client.post(f"/sessions/{arguments[0]}/deploy")["id"])
    task = environments.open_task(row["id"])
    assert task is not None
    if name == "abandon":
        return environments.give_up(task)
    if name == "cancel":
        Task.objects.filter(id=task.id).update(cancel="not wanted")
    return run(client, task.id)


if __name__ == "__main__":
    with open_local(sys.argv[1], templates=Path(sys.argv[2])) as opened:
        try:
            print(json.dumps(step(opened, *sys.argv[3:])))
        except Exception as error:
            print(json.dumps({"raised": type(error).__name__, "message": str(error)}))
