"""A workspace of version 0.1 as it was before environments were in a database: taken over at the first start.

`workspace-0.1.zip` was made by the commands of that version on recorded servers: ``shop`` was deployed, changed, and
an action of it called; ``broken`` failed; ``empty`` was emptied; the command that deployed ``cut`` was killed in an
effect.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

OLD = Path(__file__).parent / "workspace-0.1.zip"
#: Prints what ``about(client, workspace)`` gives, in a process of its own: it works on another database than tests do.
PROGRAM = """
import json, sys
from pathlib import Path
from vetro.cli.client_local import LocalClient
from vetro.server.local.workspace import Workspace

{about}

with Workspace(sys.argv[1], templates=Path(sys.argv[2])) as workspace:
    print(json.dumps(about(LocalClient(workspace), workspace)))
"""
EVERYTHING = """
def about(client, workspace):
    found = {}
    for row in client.items("/environments"):
        tasks = list(client.items("/tasks", environment=row["id"]))[::-1]
        newest = client.get(f"/environments/{row['id']}/states/{row['version']}")["model"]
        found[row["name"]] = {
            "status": row["status"],
            "states": [state["number"] for state in client.items(f"/environments/{row['id']}/states")][::-1],
            "tasks": [[task["kind"], task["state"]] for task in tasks],
            "reports": [line["text"] for task in tasks for line in client.get(f"/tasks/{task['id']}/log")["items"]],
            "applications": [app["text"] for app in newest["services"]],
            "error": client.get(f"/tasks/{tasks[-1]['id']}")["error"],
        }
    return found
"""
ON = """
def about(client, workspace):
    from vetro.engine.task.launcher import Launcher
    from vetro.server.local import environments, tasks

    (row,) = client.items("/environments", search="cut")
    with Launcher() as launcher:
        done = tasks.run(workspace, environments.open_task(row["id"]).id, "cut", launcher, events=lambda event: None)
    return [done.state, (done.error or {}).get("message"), client.get(f"/environments/{row['id']}")["status"]]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(tmp_path / "workspace")
    return tmp_path / "workspace"


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


def ask(root: Path, templates: Path, about: str) -> Any:
    program = PROGRAM.format(about=about)
    done = subprocess.run([sys.executable, "-c", program, root, templates], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_environments_come_with_states_tasks_reports_and_models(root: Path, templates: Path) -> None:
    found = ask(root, templates, EVERYTHING)
    assert found["shop"] == {
        "status": "ready",
        "states": [1, 2, 3],
        "tasks": [["deploy", "done"], ["deploy", "done"], ["action", "done"]],
        "reports": ["Making the server", "The box says first", "The box says second"],
        "applications": ["second"],
        "error": None,
    }
    assert (found["broken"]["status"], found["broken"]["states"]) == ("failed", [1])
    assert found["broken"]["error"]["output"] == {"exitCode": 3, "stderr": "no such box"}
    assert (found["empty"]["status"], found["empty"]["applications"]) == ("destroyed", [])
    assert found["empty"]["tasks"] == [["deploy", "done"], ["destroy", "done"]]
    assert found["cut"]["tasks"] == [["deploy", "queued"]] and found["cut"]["reports"] == ["Making the server"]
    # The folders are kept, and read by nobody any more.
    assert not (root / "environments").exists()
    assert sorted(path.name for path in (root / "taken-over").iterdir()) == ["broken", "cut", "empty", "shop"]
    assert ask(root, templates, EVERYTHING) == found


def test_an_interrupted_task_goes_on_from_its_journal(root: Path, templates: Path) -> None:
    """The journal is that of this task: only another version of the engine, or the missing cloud, ends it."""
    state, message, status = ask(root, templates, ON)
    assert status in ("ready", "failed")
    assert state == "done" or "begun by" in message or "server" in message, message


def test_what_was_moved_half_is_finished(root: Path, templates: Path) -> None:
    """Killed after the transaction and before the folder was moved."""
    found = ask(root, templates, EVERYTHING)
    shutil.move(root / "taken-over" / "shop", root / "environments" / "shop")
    assert ask(root, templates, EVERYTHING) == found
    assert (root / "taken-over" / "shop").is_dir()


def test_what_cannot_be_read_hides_nothing(root: Path, templates: Path) -> None:
    (root / "environments" / "broken" / "environment.json").write_text("{")
    (root / "environments" / "empty" / "journal.db").write_bytes(b"no database")
    (root / "environments" / "shop" / "tasks" / "1" / "task.json").write_text("[]")
    (root / "environments" / "shop" / "tasks" / "2" / "outcome.json").write_text("[]")
    found = ask(root, templates, EVERYTHING)
    assert sorted(found) == ["cut", "empty", "shop"]
    assert found["shop"]["tasks"] == [["deploy", "done"], ["deploy", "failed"], ["action", "done"]]
    assert found["shop"]["applications"] == ["second"]
    assert (root / "environments" / "broken" / "environment.json").exists()
