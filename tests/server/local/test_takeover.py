"""A workspace of version 0.1 as it was before environments were in a database: taken over at the first start.

`workspace-0.1.zip` was made by the commands of that version on recorded servers: ``shop`` was deployed, changed, and
an action of it called; ``broken`` failed; ``empty`` was emptied; the command that deployed ``cut`` was killed in an
effect: its journal is a database with a write-ahead log, and ``cloud`` has what was made until then.
"""

from __future__ import annotations

import json
import os
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
from vetro.cli.client.local_workspace import open_local

{about}

with open_local(sys.argv[1], templates=Path(sys.argv[2])) as client:
    print(json.dumps(about(client, client.workspace)))
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


@pytest.mark.campaign
def test_an_interrupted_task_of_another_engine_is_told_and_begun_anew(root: Path, templates: Path) -> None:
    """Effects of its journal are not done again by an engine that may ask for others: the task ends with what to do."""

    def vetro(*args: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "VETRO_WORKSPACE": str(root)}
        command = [sys.executable, "-m", "vetro", "env", *args]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=300)

    head = root / "environments" / "cut" / "environment.json"
    about = json.loads(head.read_text())
    del about["script"]  # of another machine: nothing answered there, which is how the task was interrupted
    head.write_text(json.dumps(about))
    resumed = vetro("resume", "cut")
    assert resumed.returncode == 1
    assert "the task was begun by version 0.1.0.dev0+4400f404" in " ".join(resumed.stderr.split())
    found = ask(root, templates, EVERYTHING)["cut"]
    assert (found["status"], found["tasks"]) == ("failed", [["deploy", "failed"]])
    assert "begun by version 0.1.0.dev0+4400f404" in found["error"]["message"]
    again = vetro("deploy", "cut")
    assert again.returncode == 0, again.stderr
    found = ask(root, templates, EVERYTHING)["cut"]
    assert (found["status"], found["tasks"]) == ("ready", [["deploy", "failed"], ["deploy", "done"]])


@pytest.mark.campaign
def test_a_journal_has_what_its_log_has(root: Path, templates: Path) -> None:
    """What was committed last is beside the database, and nothing of what was not committed."""
    path = root / "environments" / "cut" / "journal.db"
    program = (
        "import os, sqlite3, sys\nmade = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "made.execute('PRAGMA wal_autocheckpoint=0')\nmade.execute('UPDATE tasks SET attempts = 7')\n"
        "made.execute('PRAGMA cache_size=0')\nmade.execute('BEGIN')\nmade.execute('UPDATE tasks SET attempts = 8')\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, path], check=True, timeout=60)
    before = [file.read_bytes() for file in (path, path.with_name("journal.db-wal"))]
    about = (
        "def about(client, workspace):\n    from vetro.server.tasks.models import JournalTask\n"
        "    return sorted(JournalTask.objects.values_list('attempts', flat=True))"
    )
    assert ask(root, templates, about) == [1] * 6 + [7]
    moved = root / "taken-over" / "cut" / "journal.db"
    assert [file.read_bytes() for file in (moved, moved.with_name("journal.db-wal"))] == before


@pytest.mark.campaign
def test_what_was_moved_half_is_finished(root: Path, templates: Path) -> None:
    """Killed after the transaction and before the folder was moved."""
    found = ask(root, templates, EVERYTHING)
    shutil.move(root / "taken-over" / "shop", root / "environments" / "shop")
    assert ask(root, templates, EVERYTHING) == found
    assert (root / "taken-over" / "shop").is_dir()


@pytest.mark.campaign
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
