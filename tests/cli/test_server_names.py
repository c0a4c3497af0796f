"""A second application whose server has the name of the first one's (D1): `vetro deploy` here, and on a service."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.deploykit import Place
from tests.cli.remotekit import Remote

pytestmark = pytest.mark.attack("templates", "D1")


@pytest.fixture
def place(here: Path) -> Place:
    return Place(here)


@pytest.mark.campaign
def test_the_second_application_of_a_name_is_refused_in_plan_and_deployment(place: Place) -> None:
    place.deploy("--app", "redis", "--set", "instance.name=redis-1")
    before, plans = place.data("cloud", "status")["servers"], place.plans()
    more = ("deploy", str(place.package), "--env", "e", "--driver", "record", "--app", "second")
    for options in (["--plan"], []):
        said = place.refused(*more, "--set", "instance.name=redis-1", *options)
        assert "redis and second both have a server called redis-1" in said
        assert "another name" in " ".join(said.split())
        assert place.data("cloud", "status")["servers"] == before and place.plans() == plans
    assert "redis and second both have a server called redis-1" in place.refused("env", "plan", "e")
    place.ok(*more, "--set", "instance.name=redis-2")
    assert place.servers() == ["redis-1", "redis-2"]
    assert place.data("cloud", "status")["servers"][0] == before[0]


@pytest.mark.campaign
def test_a_service_refuses_it_too_and_the_first_ones_server_stays(remote: Remote) -> None:
    remote.deploy("names", "--app", "redis", "--set", "instance.name=redis-1")
    before = remote.data("env", "show", "names")["components"]
    pushes = [line for line in remote.data("log", "names") if "Making the server" in line["text"]]
    second = ("deploy", remote.box(), "--env", "names", "--app", "second")
    for options in (["--plan"], []):
        said = " ".join(remote.refused(*second, "--set", "instance.name=redis-1", *options).split())
        assert "redis and second both have a server called redis-1" in said
        assert remote.data("env", "show", "names")["components"][0] == before[0]
    assert [line for line in remote.data("log", "names") if "Making the server" in line["text"]] == pushes
    assert remote.data("action", "names", "open", "--app", "redis", "--arg", "times=1")["opened"] == 1
    remote.ok(*second, "--set", "instance.name=redis-2")
    shown = remote.data("env", "show", "names")
    assert (shown["status"], shown["components"][0]) == ("ready", before[0])
    assert "redis-2" in str(shown["components"][1])
