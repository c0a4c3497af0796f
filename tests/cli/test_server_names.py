"""`vetro deploy` of a second application whose server has the name of the first one's (D1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.deploykit import Place

pytestmark = pytest.mark.attack("templates", "D1")


@pytest.fixture
def place(here: Path) -> Place:
    return Place(here)


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
