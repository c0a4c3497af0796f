"""Deploying into an environment that holds something: what is there is used by name, nothing is invented unasked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.deploykit import Place
from tests.cli.remotekit import Remote

EXAMPLES = Path(__file__).parents[3] / "examples" / "deploy"
SHOP, DATABASE = "com.example.vetro.WebShop", "com.example.vetro.Database"


def command(of: str, *more: str, env: str = "e") -> tuple[str, ...]:
    return ("deploy", str(EXAMPLES), "--class", of, "--env", env, *more)


def applications(text: str) -> dict[str, dict[str, Any]]:
    """The applications of a printed model, by name."""
    model = yaml.safe_load(text)["Objects"]
    listed = model.get("applications") or model.get("services")
    return {app["?"].get("name") or app["name"]: app for app in listed}


def deployed(place: Place | Remote, env: str = "e") -> dict[str, dict[str, Any]]:
    return applications(place.ok("env", "show", env, "--model", "-1").stdout)


@pytest.fixture
def place(here: Path) -> Place:
    """An environment with the database ``main``."""
    made = Place(here)
    made.ok(*command(DATABASE, "--app", "main", "--driver", "record"))
    return made


@pytest.mark.campaign
def test_an_existing_object_goes_by_its_name(place: Place) -> None:
    place.ok(*command(DATABASE, "--app", "spare"))
    place.ok(*command(SHOP, "--set", "database=main"))
    there = deployed(place)
    assert sorted(there) == ["main", "spare", "webshop"]
    assert there["webshop"]["database"] == there["main"]["?"]["id"]
    place.ok(*command(SHOP, "--set", "database=spare"))
    there = deployed(place)
    assert sorted(there) == ["main", "spare", "webshop"]
    assert there["webshop"]["database"] == there["spare"]["?"]["id"]
    said = place.refused(*command(SHOP, "--app", "other", "--set", "database=mian"))
    assert "database: the environment has no" in said and "did you mean 'main'?" in said
    assert sorted(deployed(place)) == ["main", "spare", "webshop"]


def test_the_only_one_that_fits_is_taken_and_told(place: Place) -> None:
    done = place.ok(*command(SHOP))
    assert "chosen: database = main (which is there)" in done.stderr and "chosen: database.name" not in done.stderr
    there = deployed(place)
    assert sorted(there) == ["main", "webshop"] and there["webshop"]["database"] == there["main"]["?"]["id"]
    assert place.servers() == ["e-1", "e-2"]


@pytest.mark.campaign
def test_which_of_several_is_asked_and_a_new_one_is_a_component(place: Place) -> None:
    place.ok(*command(DATABASE, "--app", "spare"))
    said = place.refused(*command(SHOP))
    assert "the environment has several" in said and "main, spare" in said and "--set database=NAME" in said
    assert sorted(deployed(place)) == ["main", "spare"]
    done = place.ok(*command(SHOP, "--set", "database={}"))
    assert "chosen: database = database (a new application)" in done.stderr
    there = deployed(place)
    assert sorted(there) == ["database", "main", "spare", "webshop"]
    assert there["webshop"]["database"] == there["database"]["?"]["id"]
    place.ok(*command(SHOP, "--set", "database.port=5999"))
    assert deployed(place)["database"]["port"] == 5999 and len(deployed(place)) == 4
    done = place.ok(*command(SHOP, "--app", "second", "--set", "database={}"))
    assert "chosen: database = database-2 (a new application)" in done.stderr
    there = deployed(place)
    assert there["second"]["database"] == there["database-2"]["?"]["id"] and len(there) == 6


@pytest.mark.campaign
def test_no_application_is_invented_beside_others(here: Path) -> None:
    place = Place(here)
    place.deploy()
    said = place.refused(*command(SHOP))
    assert "the environment has no application of class" in said and "deploy one before" in said
    assert list(deployed(place)) == ["box"]
    place.ok(*command(SHOP, "--set", "database={port: 5999}"))
    there = deployed(place)
    assert sorted(there) == ["box", "database", "webshop"] and there["database"]["port"] == 5999


def test_no_secret_can_be_guessed(place: Place) -> None:
    tokens = {deployed(place)["main"]["token"]}
    for app in ("one", "two"):
        done = place.ok(*command(DATABASE, "--app", app))
        assert "chosen: token = •••••• (made at random)" in done.stderr
        token = deployed(place)[app]["token"]
        assert re.fullmatch(r"[!-&(-~]{24,}", token) and token not in done.output
        tokens.add(token)
    assert len(tokens) == 3 and "sample" not in "".join(tokens)
    place.ok(*command(DATABASE, "--app", "one", "--secret", "token"), input="mine-and-known\n")
    assert deployed(place)["one"]["token"] == "mine-and-known"


@pytest.mark.campaign
def test_a_server_does_the_same(remote: Remote) -> None:
    for app in ("main", "spare"):
        done = remote.ok(*command(DATABASE, "--app", app, env="filled"))
        assert "chosen: token = •••••• (made at random)" in done.stderr
    assert "main, spare" in remote.refused(*command(SHOP, env="filled"))
    remote.ok(*command(SHOP, "--set", "database=spare", env="filled"))
    there = deployed(remote, "filled")
    assert sorted(there) == ["main", "spare", "webshop"]
    assert there["webshop"]["database"] == there["spare"]["?"]["id"]
    remote.ok(*command(SHOP, "--app", "second", "--set", "database={}", env="filled"))
    assert sorted(deployed(remote, "filled")) == ["database", "main", "second", "spare", "webshop"]
