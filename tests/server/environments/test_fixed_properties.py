"""Properties that a draft must not change."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.environments.conftest import plant
from vetro.server.errors import Invalid


def test_const_and_out_are_fixed_after_a_deployment_that_ended_well(planting: Any) -> None:
    garden = planting(plant())
    for path, value in (("p1/species", "rose"), ("p1/height", 99)):
        session = garden.open()
        garden.set(session, path, value)
        with pytest.raises(Invalid) as raised:
            garden.deploy(session)
        assert raised.value.details["properties"][0]["property"] == path.partition("/")[2]
    session = garden.open()
    garden.set(session, "p1/password", "new")
    assert garden.deploy(session).state == "done"


def test_const_is_free_until_a_deployment_ended_well(planting: Any) -> None:
    garden = planting(plant(wilt=True))
    assert garden.show()["status"] == "deploy failure"
    session = garden.open()
    garden.set(session, "p1/species", "rose")
    garden.set(session, "p1/wilt", False)
    assert garden.deploy(session).state == "done"
    assert garden.plant("p1")["species"] == "rose"
    session = garden.open()
    garden.set(session, "p1/species", "fern")
    with pytest.raises(Invalid, match="species of p1"):
        garden.deploy(session)


def test_a_failure_in_between_does_not_free_what_was_fixed(planting: Any) -> None:
    garden = planting(plant())
    session = garden.open()
    garden.set(session, "p1/wilt", True)
    garden.deploy(session)
    session = garden.open()
    garden.set(session, "p1/species", "rose")
    with pytest.raises(Invalid):
        garden.deploy(session)


def test_new_objects_are_free(planting: Any) -> None:
    garden = planting(plant())
    session = garden.open()
    garden.put(session, plant("p2", species="rose"))
    assert garden.deploy(session).state == "done"
