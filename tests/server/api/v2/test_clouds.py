"""`GET /v2/clouds`: the cloud of the service, the kinds that are installed, what they can do."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.support.distribution import broken_kind
from vetro.clouds import kinds
from vetro.clouds.kind_protocols import Capabilities
from vetro.server import setup
from vetro.server.config.config import Config
from vetro.server.forms import cloud_lists

pytestmark = pytest.mark.django_db
PAGE = Path(__file__).parents[4] / "docs" / "clouds.md"
RECORD = {
    "executes": False, "walls": "full", "agents": "stream", "consoles": "log", "journals": False, "commands": False,
    "volumes": "attach", "volume_snapshots": False, "server_snapshots": True, "networks": "own", "groups": "full",
    "floating": True,
    "shared_ips": True, "resize": True, "power": True, "machines": "container", "architectures": [],
    "quota": True, "members": False,
}  # fmt: skip


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Gives the service other settings."""

    def change(**settings: Any) -> None:
        overrides = {name.replace("__", "."): value for name, value in settings.items()}
        monkeypatch.setattr(setup, "_current", Config.load(tmp_path, environ={}, overrides=overrides))

    return change


def shown(person: Any) -> Any:
    answer = person.get("/v2/clouds")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_the_cloud_and_all_kinds(ann: Any, use: Any) -> None:
    use(cloud__kind="record")
    found = shown(ann)
    text = "cloud: record - nothing is executed, everything is written down (cloud.kind in the settings)"
    assert found["clouds"] == [{"name": "main", "kind": "record", "text": text, "capabilities": RECORD}]
    assert [kind["name"] for kind in found["kinds"]] == kinds.names()
    by_name = {kind["name"]: kind for kind in found["kinds"]}
    assert by_name["record"] == {
        "name": "record", "title": "nothing is executed, everything is written down", "in_use": True, "automatic": True,
        "capabilities": RECORD, "problem": None,
    }  # fmt: skip
    assert [name for name, kind in by_name.items() if kind["in_use"]] == ["record"]
    assert (by_name["openstack"]["automatic"], by_name["openstack"]["capabilities"]["machines"]) == (False, "vm")


def test_a_cloud_is_not_asked(ann: Any, use: Any) -> None:
    login = {"auth_url": "http://127.0.0.1:9/v3", "username": "w", "password": "secret", "project_name": "p"}
    use(cloud__kind="openstack", cloud__openstack=login)
    found = shown(ann)
    assert found["clouds"][0]["kind"] == "openstack" and found["clouds"][0]["capabilities"]["agents"] == "broker"
    assert "secret" not in str(found) and "127.0.0.1" not in str(found)


def test_a_cloud_that_a_function_makes(ann: Any, use: Any) -> None:
    use(cloud__kind="somewhere:make")
    found = shown(ann)
    text = "cloud: somewhere:make (a plug-in's; cloud.kind in the settings)"
    assert found["clouds"] == [{"name": "main", "kind": None, "text": text, "capabilities": None}]
    assert not any(kind["in_use"] for kind in found["kinds"])


def test_a_kind_that_does_not_load_is_shown_with_the_reason(ann: Any, use: Any, tmp_path: Path) -> None:
    use(cloud__kind="record")
    with broken_kind(tmp_path / "site") as said:
        (kind,) = [kind for kind in shown(ann)["kinds"] if kind["name"] == "sun"]
    assert kind == {
        "name": "sun", "title": None, "in_use": False, "automatic": False, "capabilities": None, "problem": said,
    }  # fmt: skip


def test_every_capability_is_documented() -> None:
    table = PAGE.read_text("utf-8").partition("| capability |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", table, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"\w+", row)]
    assert named == [item.name for item in fields(Capabilities)]


def test_the_sizes_of_servers_are_listed(ann: Any, use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `vetro deploy` chooses from, at a server as well."""
    use(cloud__kind="record")
    found = {one["name"]: one for one in ann.get("/v2/flavors").json()["items"]}
    assert found["m1.small"] == {"name": "m1.small", "vcpus": 1, "ram": 2048, "disk": 20}
    assert ann.get("/v2/flavors?environment=" + "0" * 32).status_code == 404

    def no_answer(*args: Any, **more: Any) -> Any:
        raise cloud_lists.ListUnavailable("the cloud cannot list its flavors")

    monkeypatch.setattr(cloud_lists, "choices", no_answer)
    refused = ann.get("/v2/flavors")
    assert refused.status_code == 503 and "cannot list its flavors" in refused.content.decode()


def test_the_image_that_servers_start_from_is_told(ann: Any, use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use(cloud__kind="record")
    rows = [
        {"id": "1", "name": "debian 12"},
        {"id": "2", "name": "other"},
        {"id": "3", "name": "debian 12", "status": "saving"},
    ]
    monkeypatch.setattr(cloud_lists, "choices", lambda *args, **more: rows)
    usual = {one["id"]: one["usual"] for one in ann.get("/v2/images").json()["items"]}
    assert usual == {"1": True, "2": False, "3": False}
