"""The campaign's own checks find what they are for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.campaign import verdict
from tests.faults.campaign.clients import Ordered, Site
from tests.faults.campaign.verdict import Told
from tests.faults.world import World, WorldCloud
from vetro.clouds.interface import StackChange
from vetro.library.stackdata import digest_of, parts_of

GROUPS = "The network service has no security groups, so their rules are left out"
GOOD = ["Action deploy is scheduled", GROUPS, "step 0", "step 1", "Deployment finished"]


def told(reports: list[str] = GOOD, state: str = "success", error: str = "", fails: bool = False) -> Told:
    order = Ordered("t", 2, fails, 0.0)
    return Told(Site("e", ordered=[order]), order, state, reports, error)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Where deployment ``t`` has done all that it should."""
    cloud = WorldCloud(tmp_path / "world.db")
    for number in range(2):
        cloud.did("run", f"t {number}")
    push(cloud, "t-0", "t-1")
    yield cloud
    cloud.close()


def push(cloud: WorldCloud, *names: str) -> None:
    parts = parts_of({"resources": {name: {"type": "test"} for name in names}})
    put = [[*part, item] for part, item in parts.items()]
    cloud.push_stack(None, "", "stack", StackChange(digest_of(parts), None, put))


def test_what_is_right_passes(world: World) -> None:
    one = told()
    assert not verdict.ended([one]).wrong
    assert not verdict.reported_once([one]).wrong
    assert not verdict.done_once([one], world).wrong
    assert not verdict.counted([one.site], {"e": 1}).wrong


def test_effects_that_are_doubled_or_missing(world: WorldCloud) -> None:
    world.did("run", "t 1")
    assert verdict.done_once([told()], world).wrong == ["plan t 1 ran 2 times"]
    push(world, "t-0")
    assert any("resources ['t-0'] instead of 2" in text for text in verdict.done_once([told()], world).wrong)
    push(world, "t-0", "t-1")
    assert any("was pushed 2 times" in text for text in verdict.done_once([told()], world).wrong)


@pytest.mark.parametrize(
    "reports",
    [
        [*GOOD[:3], *GOOD[4:]],
        [*GOOD[:3], *GOOD[2:]],
        GOOD[1:],
        GOOD[:-1],
        [GOOD[0], GOOD[1], GOOD[3], GOOD[2], GOOD[4]],
    ],
    ids=["lost", "doubled", "no beginning", "no end", "order"],
)
def test_reports_that_are_lost_doubled_or_out_of_order(reports: list[str]) -> None:
    assert verdict.reported_once([told(reports)]).wrong


def test_an_agent_that_is_waited_for_is_told_once() -> None:
    waits = "waits for the agent with the queue 'q'"
    assert not verdict.reported_once([told([*GOOD[:2], waits, *GOOD[2:]])]).wrong
    assert verdict.reported_once([told([*GOOD[:2], waits, waits, *GOOD[2:]])]).wrong


@pytest.mark.parametrize(
    ("state", "error", "right"),
    [
        ("running", "", False),
        ("completed_w_errors", "", False),
        ("completed_w_errors", "run again, the task did not ask for effect 0/1", False),
        ("completed_w_errors", "the task process ended 3 times by itself", True),
    ],
)
def test_ends(state: str, error: str, right: bool) -> None:
    assert (verdict.ended([told(state=state, error=error)]).wrong == []) is right


def test_deployments_that_are_lost_or_doubled_and_environments_that_stay(world: World) -> None:
    site = told().site
    assert verdict.counted([site], {"e": 0}).wrong and verdict.counted([site], {"e": 2}).wrong
    assert verdict.free([site], world).wrong == ["e was not deleted", "stack stack is left"]
