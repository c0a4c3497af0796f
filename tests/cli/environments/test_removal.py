"""`vetro env remove`: one application goes, the others stay; on this machine and on a server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.deploykit import Place
from tests.cli.remotekit import Remote

EXAMPLES = Path(__file__).parents[3] / "examples" / "deploy"


@pytest.fixture
def place(here: Path) -> Place:
    made = Place(here)
    made.deploy("--app", "one")
    made.deploy("--app", "two")
    return made


def names(place: Place | Remote, env: str = "e") -> list[str]:
    return [row["component"] for row in place.data("env", "show", env)["components"] if row["component"]]


def test_one_application_goes_and_the_others_stay(place: Place) -> None:
    assert place.servers() == ["e-1", "e-2"]
    plan = place.ok("env", "remove", "e", "one", "--plan")
    assert "- one" in plan.stdout and not re.search(r"\btwo\b", plan.stdout) and names(place) == ["one", "two"]
    done = place.ok("env", "remove", "e", "one", "--yes")
    assert "The box is thrown away" in done.stderr and "application 'one' of environment 'e' is removed" in done.stderr
    assert names(place) == ["two"] and place.servers() == ["e-2"]
    assert place.data("env", "action", "e", "open") == {"opened": 1, "text": "first"}
    assert "there is no application 'one'" in place.refused("env", "remove", "e", "one", "--yes")
    place.ok("env", "remove", "e", "two", "--yes")
    assert names(place) == [] and place.servers() == []
    place.deploy("--app", "three")
    assert names(place) == ["three"]


def test_a_draft_is_not_deployed_on_the_way(place: Place) -> None:
    place.ok("env", "restore", "e", "1", "--draft")
    said = place.refused("env", "remove", "e", "one", "--yes")
    assert "changes that are not deployed" in said and "vetro session close e" in said
    place.ok("session", "close", "e")
    place.ok("env", "remove", "e", "one", "--yes")
    assert names(place) == ["two"]


def test_what_others_use_stays(here: Path) -> None:
    place = Place(here)
    shop = ("deploy", str(EXAMPLES), "--class", "com.example.vetro.WebShop", "--env", "shop", "--driver", "record")
    place.ok(*shop)
    said = place.refused("env", "remove", "shop", "database", "--yes")
    assert "application 'database' is used by 'webshop' (database)" in said and "remove that first" in said
    assert [row["state"] for row in place.data("session", "list", "shop")] == ["deployed"]
    place.ok("env", "remove", "shop", "webshop", "--yes")
    place.ok("env", "remove", "shop", "database", "--yes")
    assert place.servers() == []


@pytest.mark.campaign
def test_on_a_server(remote: Remote) -> None:
    remote.ok("deploy", remote.box(), "--env", "two", "--app", "one")
    remote.ok("deploy", remote.box(), "--env", "two", "--app", "other")
    assert "- one" in remote.ok("env", "remove", "two", "one", "--plan").stdout
    assert names(remote, "two") == ["one", "other"]
    remote.ok("env", "remove", "two", "one", "--yes")
    assert names(remote, "two") == ["other"]
    assert "there is no application 'one'" in remote.refused("env", "remove", "two", "one", "--yes")
