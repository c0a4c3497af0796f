"""`vetro admin` on a data directory: no server runs. Each command is a process of its own, as scripts have it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import forked
from tests.support.installation import prepared

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with project demo and user ann in it."""
    folder = tmp_path_factory.mktemp("admin") / "data"
    prepared(folder)
    call(folder, "project", "create", "demo")
    call(folder, "user", "create", "ann", "--project", "demo")
    return folder


def call(data: Path, *words: str, input: str = "", status: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
    words = ("admin", *words, "--data", str(data))
    done = forked.run("vetro.cli.main", *words, env={**environment, "COLUMNS": "200"}, input=input)
    assert done.returncode == status, done.stderr
    return done


def told(data: Path, *words: str, **more: Any) -> Any:
    return json.loads(call(data, *words, "-o", "json", **more).stdout)


def test_a_script_gets_a_token_and_nothing_else(data: Path) -> None:
    done = call(data, "token", "create", "ann", "--name", "ci", "-o", "value")
    text = done.stdout.strip()
    assert text.startswith("vetro_") and done.stdout == text + "\n"
    listed = told(data, "token", "list", "ann")
    assert [(one["name"], one["prefix"], one["project"]) for one in listed] == [("ci", text[:10], "demo")]
    assert text not in call(data, "token", "list", "-o", "json").stdout
    call(data, "token", "revoke", text)
    assert told(data, "token", "list", "ann") == []


def test_a_link_names_the_service(data: Path) -> None:
    assert told(data, "link", "create", "ann")["link"].startswith("http://127.0.0.1:8082/app/link/vetro_")
    # One that runs may have taken another port. What an older one left behind does not count.
    for pid, port in ((os.getpid(), 4711), (1 << 30, 4712)):
        folder = data / "run" / str(pid)
        folder.mkdir(parents=True)
        (folder / "address").write_text(json.dumps({"url": f"http://127.0.0.1:{port}", "pid": pid}))
    assert told(data, "link", "create", "ann")["link"].startswith("http://127.0.0.1:4711/app/link/vetro_")


def test_a_password_comes_from_standard_input_and_is_never_shown(data: Path) -> None:
    done = call(data, "user", "create", "carl", "--password-stdin", input="correct horse\n")
    call(data, "user", "password", "carl", input="battery staple\n")
    listed = {user["name"]: user["password"] for user in told(data, "user", "list")}
    assert listed["carl"] is True and listed["ann"] is False
    assert "horse" not in done.stdout + done.stderr
    assert "at least 8" in call(data, "user", "password", "carl", input="short\n", status=1).stderr


def test_roles_come_and_go(data: Path) -> None:
    call(data, "project", "create", "lab", "--description", "to try things")
    assert told(data, "project", "grant", "lab", "ann", "--role", "reader")["projects"]["lab"] == ["reader"]
    assert "several projects: demo, lab" in call(data, "token", "create", "ann", status=1).stderr
    assert told(data, "token", "create", "ann", "--project", "lab")["project"] == "lab"
    assert "lab" not in told(data, "project", "revoke", "lab", "ann", "--role", "reader")["projects"]


def test_a_role_that_nobody_knows_is_pointed_out(data: Path) -> None:
    done = call(data, "user", "create", "eva", "--project", "demo", "--role", "raeder")
    assert "role 'raeder' is none of reader, member, admin" in done.stderr
    done = call(data, "project", "grant", "demo", "eva", "--role", "reader")
    assert done.stderr == ""


def test_a_new_installation_is_announced(tmp_path: Path) -> None:
    # Only what makes something makes an installation for it: others mean one that is elsewhere.
    for words in (("user", "list"), ("link", "create", "ann"), ("token", "create", "ann")):
        assert "there is no database" in call(tmp_path / "new", *words, status=1).stderr
    assert not (tmp_path / "new").exists()
    assert "there is no installation in" in call(tmp_path / "new", "user", "create", "ann").stderr
    assert "installation" not in call(tmp_path / "new", "user", "list").stderr


def test_a_failed_command_leaves_nothing_half_done(data: Path) -> None:
    done = call(data, "user", "create", "dora", "--project", "dmo", status=1)
    assert "did you mean 'demo'" in done.stderr
    assert "dora" not in [user["name"] for user in told(data, "user", "list")]


def test_accounts_and_projects_can_be_locked(data: Path) -> None:
    assert told(data, "user", "disable", "ann")["enabled"] is False
    assert told(data, "user", "enable", "ann")["enabled"] is True
    assert told(data, "project", "disable", "demo")["enabled"] is False
    assert told(data, "project", "enable", "demo")["enabled"] is True


def test_tables_are_for_people(data: Path) -> None:
    lines = call(data, "project", "list").stdout.splitlines()
    assert lines[0].split() == ["id", "name", "description", "enabled", "users", "created"]


def test_what_is_kept_there_is_for_its_owner_only(data: Path) -> None:
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "keys").stat().st_mode) == 0o600


def test_a_database_that_cannot_be_used_is_explained(tmp_path: Path) -> None:
    (tmp_path / "vetro.db").write_text("this is no database" * 100)
    done = call(tmp_path, "user", "list", status=1)
    assert "database" in done.stderr and "Traceback" not in done.stderr
