"""`vetro doctor`: lines and exit status for a machine, an installation and a server."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.server.operations.database.kit import Installation
from vetro.cli.commands.doctor import command
from vetro.diagnostics import NOTE, OK, WARNING, Diagnostic
from vetro.engine import doctor
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No installation of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("VETRO_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))


def test_one_line_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [
        Diagnostic("sandbox", OK, "seccomp", subject="calls"),
        Diagnostic("clouds", NOTE, "not found", "apt install proot", subject="proot"),
    ]
    monkeypatch.setattr(doctor, "examine", lambda: findings)
    result = CliRunner().invoke(command, ["--machine"])
    assert result.output.splitlines() == [
        "sandbox",
        "  active   calls  seccomp",
        "clouds",
        "  missing  proot  not found",
        "                  apt install proot",
        "all is well",
    ]
    assert result.exit_code == 0
    findings[0] = Diagnostic("sandbox", WARNING, "not allowed here", "use another kernel", subject="calls")
    result = CliRunner().invoke(command, ["--machine"])
    assert result.exit_code == 1 and result.output.splitlines()[-1] == "1 warning: the line below says what to do"
    assert CliRunner().invoke(command).exit_code == 1
    result = CliRunner().invoke(command, ["--json"])
    assert result.exit_code == 1
    assert json.loads(result.output)[0] == {
        "about": "machine",
        "topic": "sandbox",
        "name": "calls",
        "level": "warning",
        "text": "not allowed here",
        "hint": "use another kernel",
    }


def asked(monkeypatch: pytest.MonkeyPatch, *words: str, status: int) -> Any:
    monkeypatch.setattr(doctor, "examine", list)
    result = CliRunner().invoke(command, [*words, "-o", "json"])
    assert result.exit_code == status, result.output
    return json.loads(result.output)


def test_where_there_is_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (chosen,) = asked(monkeypatch, status=0)
    assert (chosen["about"], chosen["topic"], chosen["name"]) == ("machine", "cloud", "chosen")
    assert chosen["text"] == cloud_settings.selection(Config.load(environ={})).text
    found = asked(monkeypatch, "--data", str(tmp_path / "none"), status=0)
    assert [(line["about"], line["topic"], line["level"]) for line in found[-2:]] == [
        ("installation", "folder", "note"),
        ("machine", "cloud", chosen["level"]),
    ]
    assert "there is no installation" in found[-2]["text"] and "vetro serve" in found[-2]["hint"]
    assert not (tmp_path / "none").exists()
    # Where a part of one is, the others are missing.
    (tmp_path / "half").mkdir(mode=0o700)
    *found, _ = asked(monkeypatch, "--data", str(tmp_path / "half"), status=2)
    assert [line["topic"] for line in found if line["level"] == "error"] == ["connection", "keys"]
    (wrong,) = asked(monkeypatch, "--database", "mysql://x/y", "--config", str(tmp_path / "no.toml"), status=2)
    assert (wrong["topic"], wrong["level"]) == ("settings", "error") and "no.toml cannot be read" in wrong["text"]
    assert asked(monkeypatch, "--server", "http://127.0.0.1:1", status=2)[0]["about"] == "server"
    # Where settings are, a service is wanted.
    (tmp_path / "home" / "vetro" / "server").mkdir(parents=True)
    (tmp_path / "home" / "vetro" / "server" / "vetro.toml").touch()
    assert asked(monkeypatch, status=2)
    assert asked(monkeypatch, "--machine", status=0) == []


@pytest.mark.campaign  # its questions one by one: tests/server/operations/doctor
@pytest.mark.slow
def test_an_installation(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "data")
    installation.data.mkdir(mode=0o700)
    installation.run("db", "migrate")
    (installation.data / "vetro.db").chmod(0o600)

    def lines(status: int) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for line in json.loads(installation.run("doctor", "-o", "json", status=status).stdout):
            if line["about"] == "installation" and line["level"] != "ok":
                assert line["hint"]
                found.setdefault(f"{line['topic']} {line['level']}", []).append(line["text"])
        return found

    before = sorted(path.name for path in installation.data.iterdir())
    assert lines(1) == {"work warning": ["no worker lives: nothing is deployed"]}
    assert sorted(path.name for path in installation.data.iterdir()) == before
    with closing(sqlite3.connect(installation.data / "vetro.db")) as database:
        database.execute(
            "INSERT INTO dispatch_task (id, project_id, user_id, environment_id, session_id, kind, state, spec,"
            " warnings, errors, cancel, priority, label, engine, owner, fence, attempts, failures, log_bytes, created,"
            " updated)"
            " VALUES"
            " ('t', 'p', 'u', '', '', 'deploy', 'queued', x'00', 0, 0, '', 0, 'RegionTwo', '', '', 0, 0, 0, 0,"
            " '2020-01-01 00:00:00', '2020-01-01 00:00:00')"
        )
        database.commit()
    found = lines(2)
    assert "1 values cannot be decrypted" in found["keys error"][0]
    assert found["work warning"] == [
        "1 tasks have waited for more than an hour",
        "tasks wait for a worker that serves 'RegionTwo', and none lives",
        "no worker lives: nothing is deployed",
    ]
    (installation.data / "keys").unlink()
    assert "there is no file of keys" in lines(2)["keys error"][0]
    assert not (installation.data / "keys").exists()
