"""Folders and archives that somebody else made: commands on a workspace read them behind walls, bounded, and go on.

Each program is a process of its own and says how much memory it had at most; a process behind walls has its own bound.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.environments.test_transfer_hostile import archived, lists, model
from tests.server.local.test_takeover import OLD

pytestmark = [pytest.mark.attack("uploads", "H6"), pytest.mark.timeout(600)]
#: Runs commands of the command line in this process: {"said": [[code, output], …], "mib": at most}.
PROGRAM = """
import json, sys
from click.testing import CliRunner
from vetro.cli.main import main
from vetro.server.local import old_folders

old_folders.SECONDS = 5.0
said = []
for args in json.loads(sys.argv[1]):
    done = CliRunner().invoke(main, args)
    said.append([done.exit_code, done.output, repr(done.exception)])
peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) >> 10
print(json.dumps({"said": said, "mib": peak}))
"""
#: What commands have without attacks, and what these may add.
MIB = 220


def run(root: Path, *commands: list[str]) -> list[list[Any]]:
    environ = {**os.environ, "VETRO_WORKSPACE": str(root), "XDG_CACHE_HOME": str(root.parent / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)], env=environ, capture_output=True, text=True, timeout=550
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["mib"] < MIB, found
    return list(found["said"])


def sparse(path: Path) -> None:
    path.unlink(missing_ok=True)
    with open(path, "wb") as file:
        file.truncate(20 << 30)


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def head(**changed: Any) -> Callable[[Path], Any]:
    def change(folder: Path) -> None:
        file = folder / "environment.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | changed))

    return change


def endless(folder: Path) -> None:
    """A journal whose table never ends to give rows."""
    (folder / "journal.db").unlink()
    with sqlite3.connect(folder / "journal.db") as made:
        made.execute("PRAGMA user_version=1")
        made.execute(
            "CREATE VIEW tasks AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS task,"
            " '{}' AS begin, '' AS engine, 0 AS begun, 0 AS attempts, 0 AS deaths, NULL AS cancelled, NULL AS model,"
            " NULL AS model_at, NULL AS ended FROM n"
        )


def filling(folder: Path) -> None:
    """A journal of 20 KiB whose values have gigabytes."""
    (folder / "journal.db").unlink()
    with sqlite3.connect(folder / "journal.db") as made:
        made.execute("PRAGMA user_version=1")
        columns = ", ".join(f"hex(zeroblob(400000000)) AS {name}" for name in ("task", "begin", "engine", "begun"))
        more = ", ".join(f"NULL AS {n}" for n in ("attempts", "deaths", "cancelled", "model", "model_at", "ended"))
        made.execute(f"CREATE VIEW tasks AS SELECT {columns}, {more}")


def linked(folder: Path) -> None:
    shutil.move(folder, folder.parent.parent / "elsewhere")
    folder.symlink_to(folder.parent.parent / "elsewhere")


def linked_file(folder: Path) -> None:
    shutil.move(folder / "environment.json", folder.parent.parent / "secret.json")
    (folder / "environment.json").symlink_to(folder.parent.parent / "secret.json")


#: What is done to an environment's folder, and what is said about it.
HOSTILE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "deep": (lambda folder: (folder / "environment.json").write_text('{"a":' * 500_000), "damaged|parts"),
    "many": (lambda folder: (folder / "model-3.json").write_bytes(lists(2_500_000)), "model-3.json has 5"),
    "nested": (
        lambda folder: (folder / "model-3.json").write_bytes(model(x=json.loads("[" * 250 + "]" * 250))),
        "nest",
    ),
    "sparse": (lambda folder: sparse(folder / "model-3.json"), "it has 21"),
    "sparse-journal": (lambda folder: sparse(folder / "journal.db"), "it has 21"),
    "pipe": (lambda folder: pipe(folder / "environment.json"), "a named pipe"),
    "pipe-lock": (lambda folder: pipe(folder / "lock"), "is no file"),
    "pipe-task": (lambda folder: pipe(folder / "tasks" / "1" / "task.json"), "a named pipe"),
    "link": (linked, "is a link"),
    "link-file": (linked_file, "this is a link"),
    "link-lock": (lambda folder: (folder / "lock").symlink_to("/nowhere/made"), "damaged"),
    "elsewhere": (head(id="../../../etc"), "damaged"),
    "other-archive": (head(packages=[{"name": "t", "version": "1", "digest": "../../../../etc/passwd"}]), "damaged"),
    "no-time": (head(created=1e300), "damaged"),
    "endless": (endless, "more than 5 seconds|more memory than is allowed"),
    "filling": (filling, "more memory|too big|damaged"),
}


@pytest.mark.campaign
def test_folders_of_earlier_versions(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(root)
    folder = root / "environments"
    for name, (change, _) in HOSTILE.items():
        shutil.copytree(folder / "shop", folder / name)
        head(id=f"{sum(name.encode()):032x}", name=name)(folder / name)
        change(folder / name)
    others = {"foreign": "belongs to another user"} if os.geteuid() == 0 else {}
    for name in others:
        shutil.copytree(folder / "shop", folder / name)
        os.chown(folder / name, 4711, 4711)
    (listed,) = run(root, ["env", "list", "-o", "json"])
    assert listed[0] == 0, listed
    said = re.sub(r"\s+", " ", listed[1])
    for name in ("shop", "broken", "empty", "cut"):
        assert f'"name": "{name}"' in said
    for name, text in [*((name, text) for name, (_, text) in HOSTILE.items()), *others.items()]:
        assert re.search(f"environments/{name}[ /:][^,]*?({text})", said), (name, said)
        assert (folder / name).exists()
    assert not Path("/nowhere").exists()


@pytest.mark.campaign
def test_archives_of_environments(tmp_path: Path) -> None:
    files = {
        "many": archived({"model-1.json": lists(2_500_000)}),
        "long": archived({"model-1.json": model(x="y" * (40 << 20))}),
        "deep": archived({"model-1.json": b'{"a":' * 100_000}),
        "files": archived({f"file-{n}": b"" for n in range(20_001)}),
    }
    for name, data in files.items():
        assert len(data) < 8 << 20
        (tmp_path / name).write_bytes(data)
    sparse(tmp_path / "sparse")
    pipe(tmp_path / "pipe")
    names = [*files, "sparse", "pipe"]
    said = run(
        tmp_path / "w",
        *(["env", "import", str(tmp_path / name)] for name in names),
        ["env", "import", str(tmp_path / "many"), "--fresh"],
        ["env", "list", "-o", "json"],
    )
    for code, text, fault in said[:-1]:
        assert code == 1 and re.match(r"error(\[\w+\])?: ", text) and fault.startswith("SystemExit"), (text, fault)
    assert json.loads(said[-1][1]) == []
