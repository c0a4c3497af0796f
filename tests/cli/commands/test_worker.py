"""`vetro worker list` and `drain`; real workers are in tests/server/tasks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import forked

JOIN = """
from vetro.server.setup import setup
setup()
from vetro.server.tasks import clock
from vetro.server.tasks.models import WorkerProcess
for name, labels in (("web1-1-aa", []), ("web1-2-bb", ["eu-1"])):
    WorkerProcess.objects.create(id=name, host="web1", pid=1, version="1.0", labels=labels, seen=clock.after())
"""


def environment_of(data: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
    return {**kept, "COLUMNS": "200", "VETRO_DATA": str(data)}


def call(data: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = forked.run("vetro.cli.main", *words, env=environment_of(data), timeout=90)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.campaign
def test_workers_are_listed_and_drained(tmp_path: Path) -> None:
    assert "there is no database" in call(tmp_path, "worker", "list", status=1).stderr
    assert "there is no database" in call(tmp_path / "slip", "worker", status=1).stderr
    assert not (tmp_path / "slip").exists()
    call(tmp_path, "db", "migrate")
    assert "no worker has joined" in call(tmp_path, "worker", "list").stderr
    assert "name workers, or --all" in call(tmp_path, "worker", "drain", status=2).stderr
    subprocess.run([sys.executable, "-c", JOIN], env=environment_of(tmp_path), check=True, timeout=90)
    lines = [line.split() for line in call(tmp_path, "worker", "list").stdout.splitlines()]
    assert [line[:5] for line in lines[-2:]] == [
        ["web1-1-aa", "1.0", "all", "0", "working"], ["web1-2-bb", "1.0", "eu-1", "0", "working"]
    ]  # fmt: skip
    refused = call(tmp_path, "worker", "drain", "web1", status=1).stderr
    assert "There are 2 workers whose names begin with 'web1'" in refused and "vetro worker list" in refused
    left = call(tmp_path, "worker", "drain", "web1-1", "--wait", "0", status=1)
    assert "still there: web1-1-aa" in left.stderr
    found = json.loads(call(tmp_path, "worker", "list", "-o", "json").stdout)
    assert {one["name"]: one["state"] for one in found} == {"web1-1-aa": "draining", "web1-2-bb": "working"}
