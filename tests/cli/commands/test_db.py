"""`vetro db` on a data directory; moving and broken installations are in tests/server/operations/database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.support import forked


def call(data: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
    words = ("db", *words, "--data", str(data))
    done = forked.run("vetro.cli.main", *words, env={**environment, "COLUMNS": "200"}, timeout=90)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_from_nothing_to_whole(tmp_path: Path) -> None:
    data = tmp_path / "data"
    nothing = call(data, "check", status=1)
    assert f"[SRV586]: there is no database {data / 'vetro.db'}" in nothing.stderr
    assert not data.exists()
    planned = call(data, "migrate", "--dry-run", "-o", "json")
    made = call(data, "migrate")
    assert json.loads(planned.stdout) == {"migrations": made.stdout.split(), "done": False}
    assert "dispatch.0001_initial" in made.stdout and "migrations done" in made.stderr
    again = call(data, "migrate")
    assert (again.stdout, again.stderr) == ("", "the tables are up to date\n")
    # The file of keys is made with the settings; nothing is encrypted yet.
    report = {finding["text"] for finding in json.loads(call(data, "check", "-o", "json").stdout)}
    assert {"all references are whole", "0 encrypted values were read (a sample)"} <= report
    assert call(data, "reopen").stdout == "this database was not moved\n"


@pytest.mark.campaign
def test_wrong_addresses(tmp_path: Path) -> None:
    call(tmp_path, "migrate")
    assert "'database.url' must begin with" in call(tmp_path, "move", "--to", "mysql://x/y", status=1).stderr
    assert "--to" in call(tmp_path, "move", status=2).stderr
    refused = call(tmp_path, "move", "--to", "postgresql://vetro:hunter2@127.0.0.1:9/none", status=1)
    assert "SRV586" in refused.stderr and "hunter2" not in refused.stderr


def test_a_backup_is_not_poured_over_a_terminal(tmp_path: Path) -> None:
    words = ["-m", "vetro", "db", "backup", "-", "--data", str(tmp_path / "data")]
    child = pexpect.spawn(sys.executable, words, timeout=60, encoding="utf-8", dimensions=(24, 160))
    child.expect("which is a terminal: name a file, or a pipe")
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == 2 and not (tmp_path / "data").exists()
