"""`vetro cloud`: status, start and clean, of an empty workspace and of one with recorded servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.support.servers import free_block, network, real_servers, server, traces
from vetro.clouds.interface import Owner, StackChange
from vetro.clouds.nspawn.driver import NspawnDriver
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.stacks.cloud import StackCloud
from vetro.library.stackdata import difference, digest_of, parts_of

Vetro = Callable[..., Result]


@pytest.fixture
def workspace(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VETRO_WORKSPACE", str(here / "work"))
    monkeypatch.setenv("VETRO_IMAGES", str(here / "images"))
    return here / "work"


def test_nothing_is_there_and_nothing_is_made(vetro: Vetro, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vetro.clouds.nspawn.registry.orphans", dict)
    shown = vetro("cloud", "status")
    assert shown.exit_code == 0, shown.output
    assert "driver:" in shown.stdout and "There is nothing deployed." in shown.stdout
    cleaned = vetro("cloud", "clean", "--yes")
    assert cleaned.exit_code == 0 and "there was nothing to remove" in cleaned.stderr
    assert not workspace.exists()


def test_kinds_are_listed(vetro: Vetro, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VETRO_CLOUD__KIND", "record")
    shown = vetro("cloud", "list")
    assert shown.exit_code == 0, shown.output
    rows = {line.split()[0]: line for line in shown.stdout.splitlines()}
    assert rows["record"].split()[1:6] == ["yes", "no", "stream", "attach", "own"]
    assert rows["nspawn"].split()[1:5] == ["yes", "stream", "attach", "own"]  # not in use
    data = json.loads(vetro("cloud", "list", "-o", "json").stdout)
    assert data["clouds"][0]["kind"] == "record" and data["clouds"][0]["capabilities"]["volumes"] == "attach"
    assert not workspace.exists()


def test_stacks_and_recorded_servers(vetro: Vetro, workspace: Path) -> None:
    folder = workspace / "cloud"
    folder.mkdir(parents=True)
    template = {
        "heat_template_version": "2013-05-23",
        "resources": {
            "web": {
                "type": "OS::Nova::Server",
                "properties": {"image": "debian-12-murano", "flavor": "m1.small", "name": "w"},
            }
        },
    }
    with StackCloud(folder, RecordDriver(folder)) as cloud:
        parts = parts_of(template, {}, {}, None)
        put, drop = difference({}, parts)
        cloud.push_stack(Owner("project", "e1"), "", "stack", StackChange(digest_of(parts), None, put, drop))
    data = json.loads(vetro("cloud", "status", "-o", "json").stdout)
    assert [(s["name"], s["status"]) for s in data["stacks"]] == [("stack", "CREATE_COMPLETE")]
    assert [(s["name"], s["driver"], s["status"]) for s in data["servers"]] == [("w", "record", "ACTIVE")]
    shown = vetro("cloud", "status").stdout
    assert "CREATE_COMPLETE" in shown and "m1.small" in shown
    asked = vetro("cloud", "clean", input="n\n")
    assert asked.exit_code == 1 and folder.is_dir()
    cleaned = vetro("cloud", "clean", input="y\n")
    assert cleaned.exit_code == 0, cleaned.output
    assert not folder.exists()


def test_real_servers_are_cleaned_up(vetro: Vetro, workspace: Path) -> None:
    images = real_servers()
    folder = workspace / "cloud"
    driver = NspawnDriver(folder, images=images)
    block = free_block()
    driver.ensure_network(network(block))
    driver.create(server(1, block))
    assert vetro("cloud", "status").exit_code == 0
    cleaned = vetro("cloud", "clean", "--yes")
    assert cleaned.exit_code == 0, cleaned.output
    assert "server web1 (server-1)" in cleaned.stdout and "network net (net)" in cleaned.stdout
    left = traces(driver.cloud, folder)
    assert not any(left.values()), left
    assert vetro("cloud", "clean", "--yes").exit_code == 0


def test_recorded_servers_need_no_start(vetro: Vetro, workspace: Path) -> None:
    nothing = vetro("cloud", "start")
    assert nothing.exit_code == 0 and "all servers that should run do so" in nothing.stderr
    assert not workspace.exists()
