"""The same model and the same lock give the same plan, to the letter, in two services, whatever their databases are.

One service is the test's own, on SQLite or on PostgreSQL; the other is a process with a data folder on SQLite.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.cli.conftest import write_package
from tests.cli.deploykit import BOX
from tests.server.environments.conftest import exported
from tests.server.impact.conftest import cloud as cloud  # a fixture
from tests.server.procedures.kills import CALLER, Forks, Killer, Service, forks, in_process, work
from tests.support.installation import prepared

#: What of an archive says when and under which numbers it was made.
HEAD = "environment.json"


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    """What is deployed in a workspace, exported."""
    file, package = tmp_path / "e.zip", write_package(tmp_path / "box", {"t.Box": BOX})
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
    environment["VETRO_WORKSPACE"] = str(tmp_path / "workspace")
    for words in (
        ["deploy", str(package), "--env", "e", "--driver", "record", "--set", "text=one"],
        ["env", "export", "e", "--out", str(file)],
    ):
        command = [sys.executable, "-m", "vetro", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    return file.read_bytes()


def told(environment_id: str, session_id: str, result: Any, data: bytes) -> dict[str, Any]:
    """The plan as text, the lock, and the parts of the export."""
    from vetro.server.environments import packages
    from vetro.server.environments.models import Session

    lock = packages.of_session(Session.objects.get(id=session_id))
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        parts = {name: opened.read(name).hex() for name in opened.namelist() if name != HEAD}
    plan = json.dumps(result, sort_keys=True, indent=1)
    return {"id": environment_id, "plan": plan, "lock": None if lock is None else lock.text(), "parts": parts}


def elsewhere(service: Service, forked: Forks, data: bytes, project: str, write: int) -> None:
    """Says what another service tells of an import into a project of the same id: clouds make ids of it."""
    from django.db import connections

    from vetro.server.environments import imports, plan
    from vetro.server.local import database

    # Those of the process that forked this one stay open.
    theirs = [(one, one.connection) for one in connections.all()]
    for one, _ in theirs:
        one.connection = None
    with ExitStack() as stack:
        config = service.opened(stack)
        database.prepare(config)
        caller = replace(CALLER, project_id=project)
        made = imports.import_environment(caller, data, fresh=True, keep_ids=True)
        id, session = made["environment_id"], made["session_id"]
        task = plan.plan(caller, id, session)
        killer = Killer((), write)
        work(config, forked, killer, lambda row: {})
        task.refresh_from_db()
        killer.say(told=told(id, session, task.result, exported(caller, id)))


def brought(person: Any, data: bytes, **more: str) -> Any:
    """The response to importing an archive."""
    file = SimpleUploadedFile("e.zip", data, "application/zip")
    return person._client.post("/v2/environments/import", {"archive": file, "fresh": "true", **more})


@pytest.mark.campaign  # a workspace, and a service besides
def test_an_import_with_its_ids_is_planned_to_the_letter(
    archive: bytes, root: Any, ann: Any, cloud: Path, drain: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    prepared(folder)
    with forks(folder / "cache" / "code", "record") as forked:
        other = Service(folder, **{"cloud.driver": "record"})
        alive, said = in_process(partial(elsewhere, other, forked, archive, root.caller.project_id))
    assert alive
    from vetro.server.tasks.models import Task

    refused = brought(ann, archive, keep_ids="true")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "SRV403")
    made = brought(root, archive, keep_ids="true")
    assert made.status_code == 201, made.content
    id, session = made.json()["environment_id"], made.json()["session_id"]
    task = root.post(f"/v2/sessions/{session}/plan").json()
    drain()
    mine = told(id, session, Task.objects.get(id=task["id"]).result, exported(root.caller, id))
    theirs = said[-1]["told"]
    assert "OS::Nova::Server" in mine["plan"] and mine["lock"] and len(mine["parts"]) > 1
    assert mine == theirs
    # They are somebody's now.
    again = brought(root, archive, keep_ids="true", name="other")
    assert again.status_code == 409 and "is here, or was" in again.json()["error"]["message"]
    assert brought(ann, archive).status_code == 201  # with new ids
