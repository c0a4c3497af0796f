"""`vetro quota`, and what deployments and plans say that need more than there may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.test_admin import call, told
from tests.cli.deploykit import Place
from tests.cli.remotekit import Remote
from vetro.clouds.quotas import OF_CLOUD, QUOTAS

pytestmark = pytest.mark.attack("quotas", "H3")


@pytest.fixture
def place(here: Path) -> Place:
    return Place(here)


def limits(place: Place, text: str) -> None:
    place.root.mkdir(parents=True, exist_ok=True)
    (place.root / "vetro.toml").write_text(f"[quotas]\n{text}\n", encoding="utf-8")


@pytest.mark.campaign
def test_environments_of_a_workspace_share_its_limits(place: Place) -> None:
    limits(place, "servers = 1")
    planned = ("deploy", str(place.package), "--env", "second", "--driver", "record", "--plan")
    place.ok(*planned)
    place.deploy(env="first")
    for command in (planned, planned[:-1]):
        said = " ".join(place.refused(*command).split())
        assert "Quota 'servers': project 'local' has 1 of 1, this asks for 1 more" in said
        assert "[quotas] in its vetro.toml" in said
    assert place.servers() == ["first-1"]
    rows = {row["name"]: row for row in place.data("quota", "show")}
    assert list(rows) == list(OF_CLOUD)
    assert (rows["servers"]["used"], rows["servers"]["limit"], rows["memory"]["limit"]) == (1, 1, 2_097_152)
    assert [line.split()[:3] for line in place.ok("quota", "show").stdout.splitlines()][1] == ["servers", "1", "1"]
    place.ok("env", "destroy", "first", "--yes")
    place.deploy(env="third")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("server = 1", "there is no setting 'quotas.server'"),
        ("servers = -2", "must be at least -1"),
        ("servers = true", "'quotas.servers' must be"),
        ('servers = "1"', "'quotas.servers' must be"),
        ("servers = 1.5", "'quotas.servers' must be"),
        ("servers = nan", "'quotas.servers' must be"),
    ],
)
def test_limits_of_a_workspace_that_are_none(place: Place, text: str, said: str) -> None:
    limits(place, text)
    assert said in place.refused("quota", "show")


@pytest.mark.campaign  # quotas of the service: tests/server/quotas
def test_a_server_says_the_same_and_administrators_raise_it(remote: Remote, installation: Any, here: Path) -> None:
    root = Remote(installation, here, "admin")
    before = {row["name"]: row for row in remote.data("quota", "show")}
    assert list(before) == list(QUOTAS) and before["streams"]["used"] is None
    head = remote.ok("quota", "show").stdout.splitlines()[0].split()
    assert head == [
        "name",
        "used",
        "limit",
        "unit",
        "default",
        "meaning",
    ]
    project = "default"
    used = before["servers"]["used"]
    said = root.ok("quota", "set", project, f"servers={used}", "disk=none").stdout
    assert [line.split()[0] for line in said.splitlines()[1:]] == ["servers", "disk"]
    try:
        for more in (("--plan",), ()):
            refused = " ".join(remote.refused("deploy", remote.box(), "--env", "full", *more).split())
            assert "Quota 'servers': project '" in refused and f"has {used} of {used}, this asks for 1 more" in refused
        assert "manage_accounts" in remote.refused("quota", "set", project, "servers=1000")
    finally:
        root.ok("quota", "set", project, "servers=default", "disk=default")
    after = {row["name"]: row for row in remote.data("quota", "show")}
    assert after["servers"]["limit"] == 500 and not after["disk"]["own"]
    remote.deploy("full")


@pytest.mark.parametrize(
    "text", ["servers", "server=1", "servers=", "servers=-2", "servers=1e9", "servers=²", "servers=9" + "9" * 30]
)
def test_what_is_no_limit_changes_nothing(remote: Remote, installation: Any, here: Path, text: str) -> None:
    root = Remote(installation, here, "admin")
    done = root.run("quota", "set", "default", "disk=7", text)
    assert done.exit_code in (1, 2) and ("NAME=LIMIT" in done.output or "quota" in done.output)
    assert all(row["limit"] != 7 for row in root.data("quota", "show", "default"))


@pytest.mark.campaign
def test_on_the_machine_of_the_service(tmp_path: Path) -> None:
    data = tmp_path / "data"
    call(data, "project", "create", "demo")
    rows = told(data, "quota", "set", "demo", "servers=20", "memory=none")
    assert [(row["name"], row["limit"], row["own"]) for row in rows] == [("servers", 20, True), ("memory", None, True)]
    told(data, "quota", "set", "demo", "servers=default")
    shown = {row["name"]: row for row in told(data, "quota", "show", "demo")}
    assert (shown["servers"]["limit"], shown["servers"]["own"], shown["memory"]["own"]) == (500, False, True)
    assert "There is no quota 'server'" in call(data, "quota", "set", "demo", "server=1", status=1).stderr
    assert "There is no project" in call(data, "quota", "show", "nowhere", status=1).stderr
