"""Guarded updates: each way through, and random histories of tasks, clocks, kills and people."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.procedures.update_world import DOWN, RUNNING, UNKNOWN, World, begun
from tests.support.fuzzing import examples
from vetro.engine.procedures.guarded_update import (
    ATTEMPTS,
    ENDED,
    PATIENCE,
    RESERVED,
)
from vetro.engine.procedures.procedure import Intervention
from vetro.engine.watching.states import State


def test_all_goes_well() -> None:
    world = begun(settle=30)
    world.end()
    world.end()
    assert world.record.step == "settling" and world.wake == 1030
    world.sleep()
    assert world.record.step == "keeping"
    world.end()
    assert world.record.step == "kept" and world.order == ["snapshot", "deploy", "drop"]


@pytest.mark.parametrize("state", ["failed", "cancelled", "killed", "diverged"])
def test_a_deployment_that_does_not_go_well_is_taken_back(state: str) -> None:
    world = begun()
    world.end()
    world.end(state)
    assert world.record.step == "restoring" and state in world.record.reason
    world.end()
    assert world.record.step == "releasing"
    world.end()
    assert world.record.step == "restored" and world.order == ["snapshot", "deploy", "restore", "drop"]


def test_what_could_not_be_held_is_not_deployed() -> None:
    world = begun()
    world.end("failed")
    assert world.record.step == "releasing"  # what was held of it is let go
    world.end()
    assert world.record.step == "restored" and world.order == ["snapshot", "drop"]


def test_a_component_that_is_worse_than_before_is_taken_back() -> None:
    world = begun()
    world.end()
    world.health = {"web": State.DEGRADED}
    world.end()
    world.sleep()
    assert world.record.step == "restoring" and "'web' is degraded" in world.record.reason


def test_what_was_down_before_may_be_down_afterwards() -> None:
    world = World()
    world.health = {"web": DOWN}
    world.look()
    world.end()
    world.end()
    world.sleep()
    assert world.record.step == "keeping"


def test_a_new_component_has_to_run() -> None:
    world = begun()
    world.end()
    world.health["cache"] = DOWN
    world.end()
    world.sleep()
    assert world.record.step == "restoring" and "'cache'" in world.record.reason


def test_what_nobody_looked_at_yet_has_time_but_is_not_well() -> None:
    world = begun(settle=10)
    world.end()
    world.health = {"web": UNKNOWN}
    world.end()
    world.sleep()
    assert world.record.step == "settling"
    world.now += PATIENCE
    world.look()
    assert world.record.step == "restoring"


def test_health_can_be_left_out() -> None:
    world = begun(by_health=False)
    world.end()
    world.health = {"web": DOWN}
    world.end()
    world.sleep()
    assert world.record.step == "keeping"


def test_what_is_held_can_be_taken_back_until_its_time_is_over() -> None:
    world = begun(settle=0, hold=3600)
    world.end()
    world.end()
    assert world.record.step == "holding" and "holding" not in RESERVED
    undone = replace(world.record), World()
    world.asked = "undo"
    world.look()
    assert world.record.step == "restoring"
    other = undone[1]
    other.record, other.now, other.tasks = undone[0], 1000.0 + 3600, dict(world.tasks)
    other.tasks.pop("restoring-3")
    other.look()
    assert other.record.step == "keeping"


def test_undo_ends_the_deployment_first() -> None:
    world = begun()
    world.end()
    world.asked = "undo"
    world.look()
    assert world.cancelled == ["deploying-2"] and world.record.step == "deploying"
    world.end("cancelled")
    assert world.record.step == "restoring" and "wanted" in world.record.reason
    assert world.order == ["snapshot", "deploy", "restore"]


def test_undo_that_comes_with_the_end_of_the_deployment_counts() -> None:
    world = begun()
    world.end()
    world.asked = "undo"
    world.end("done")
    assert world.record.step == "restoring"


def test_the_way_back_is_tried_again_and_then_a_person_is_needed() -> None:
    world = begun()
    world.end()
    world.end("failed")
    for _ in range(ATTEMPTS - 1):
        world.end("failed")
        world.sleep()
    world.end("failed")
    assert world.record.step == "stuck" and "stuck" in RESERVED
    world.asked = "undo"
    world.look()
    world.end()
    world.end()
    assert world.record.step == "restored"


def test_a_clock_that_was_set_back_makes_nothing_longer() -> None:
    world = begun(settle=30)
    world.end()
    world.end()
    world.now -= 86_400
    world.look()
    assert world.wake == world.now + 30


def history(choose: Callable[[Sequence[Any]], Any]) -> World:
    """Any order of ends, deaths, lost tasks, clock jumps, health and requests; then all goes well, and it ends.
    ``choose`` draws one of several."""
    world = begun(
        settle=choose([0.0, 30.0]),
        hold=choose([0.0, 3600.0]),
        by_health=choose([True, False]),
        parts=choose([1, 1, 2, 3]),
        together=choose([True, False]),
    )
    given_up = False
    for _ in range(choose(range(41))):
        match choose(["end", "lose", "clock", "health", "ask", "wait", "draft", "look"]):
            case "end" if world.working():
                world.end(choose(["done", "failed", "cancelled", "killed", "diverged"]))
            case "lose" if world.working():
                del world.tasks[world.working()[0]]
            case "clock":
                world.now += choose([-86_400.0, -1.0, 5.0, 86_400.0])
            case "health":
                world.health = {id: choose(list(State)) for id in choose(["", "a", "b", "ab"])}
            case "ask":
                world.asked = choose(["undo", "keep", "abandon"])
                given_up = given_up or world.asked == "abandon"
            case "draft" if world.record.step == "drafting":
                world.draft = choose(["", "", "it cannot be made"])
            case "wait" if world.wake is not None:
                world.sleep()
        if choose([True, False]):  # a process that dies before it looks: the next one does
            world.look()
        deployed, restored = world.order.count("deploy"), world.order.count("restore")
        assert deployed <= world.record.part + 1 <= world.record.parts and (deployed or not restored)
    for _ in range(12 * ATTEMPTS):
        if world.record.step in ENDED:
            break
        if world.record.step == "stuck":
            world.asked = "undo"
        if world.working():
            world.end()
        elif world.record.step == "drafting":
            drafted(world)
        else:
            world.now += 2 * 86_400
            world.look()
    assert world.record.step in ENDED, world.record
    assert not world.working()
    assert world.order[-1] == "drop"  # nothing is held for ever
    if world.record.step == "restored" and not given_up:
        part = world.order
        if not world.record.together:  # its own tasks: those of the parts before ended with letting go
            part = part[max((n for n, kind in enumerate(part) if kind == "snapshot"), default=0) :]
        assert ("restore" in part) == ("deploy" in part)
    return world


@settings(max_examples=examples(400))
@given(data=st.data())
def test_no_history_leads_to_two_tasks_or_to_an_update_that_stays_between(data: st.DataObject) -> None:
    history(lambda several: data.draw(st.sampled_from(several)))


@pytest.mark.campaign
@pytest.mark.timeout(3600)  # two minutes of processor time
def test_a_hundred_thousand_histories() -> None:
    chance = random.Random("histories")
    ends = Counter(history(chance.choice).record.step for _ in range(100_000))
    print(dict(ends))
    assert set(ends) == {"kept", "restored"} and min(ends.values()) > 10_000


def test_who_gives_the_environment_up_ends_what_works_and_lets_go() -> None:
    world = begun(hold=3600)
    world.end()
    world.asked = "abandon"
    world.look()
    assert world.cancelled == ["deploying-2"] and world.record.step == "deploying"
    world.end("cancelled")
    assert world.record.step == "keeping" and world.order == ["snapshot", "deploy", "drop"]
    world.end()
    assert world.record.step == "kept"


def test_nobody_decides_before_somebody_looked() -> None:
    world = begun(settle=0)
    world.end()
    world.health = None  # type: ignore[assignment]
    world.end()
    assert world.record.step == "settling" and world.wake == world.now
    world.health = {"web": RUNNING}
    world.sleep()
    assert world.record.step == "keeping"


# -- chains: several parts, one after the other ------------------------------------------------------------------------


def settled(world: World) -> None:
    """The part that is deployed has settled, and all is well."""
    world.end()
    world.sleep()


def drafted(world: World, why: str | None = "") -> None:
    """Somebody made the draft of the next part, or says why not."""
    world.draft = why
    world.look()
    world.draft = None


def test_the_parts_of_a_chain_follow_each_other_each_with_its_way_back() -> None:
    world = begun(settle=30, parts=2)
    world.end()
    settled(world)
    assert (world.record.step, world.record.snapshot) == ("keeping", 0)
    world.end()
    assert world.record.step == "drafting" and "drafting" in RESERVED
    drafted(world)
    assert (world.record.step, world.record.part, world.record.snapshot) == ("snapshotting", 1, 1)
    world.end()
    settled(world)
    world.end()
    assert world.record.step == "kept" and world.order == ["snapshot", "deploy", "drop"] * 2


def test_a_part_that_does_not_go_well_goes_back_alone() -> None:
    world = begun(parts=3)
    world.end()
    settled(world)
    world.end()
    drafted(world)
    world.end()
    world.end("failed")
    assert (world.record.step, world.record.snapshot) == ("restoring", 1)
    world.end()
    world.end()
    assert (world.record.step, world.record.part) == ("restored", 1)
    assert world.order == ["snapshot", "deploy", "drop", "snapshot", "deploy", "restore", "drop"]


def test_together_all_parts_go_back_to_what_was_before_the_first() -> None:
    world = begun(parts=2, together=True)
    world.end()
    settled(world)
    assert world.record.step == "drafting" and world.order == ["snapshot", "deploy"]
    drafted(world)
    assert (world.record.step, world.record.snapshot) == ("deploying", 0)
    world.end("failed")
    world.end()
    world.end()
    assert world.record.step == "restored" and world.order == ["snapshot", "deploy", "deploy", "restore", "drop"]


@pytest.mark.parametrize("together", [False, True])
def test_a_part_that_cannot_be_begun_ends_the_chain(together: bool) -> None:
    world = begun(parts=2, together=together)
    world.end()
    settled(world)
    if not together:
        world.end()
    drafted(world, "it asks something")
    assert world.record.step == ("restoring" if together else "kept") and "it asks something" in world.record.reason


def test_what_a_part_made_better_has_to_stay_so() -> None:
    world = World(parts=2, together=True)
    world.health = {"web": DOWN}
    world.look()
    world.end()
    world.health = {"web": RUNNING}
    settled(world)
    drafted(world)
    world.health = {"web": DOWN}
    settled(world)
    assert world.record.step == "restoring"


@pytest.mark.parametrize(("together", "asked", "step"), [
    (False, "undo", "kept"), (False, "keep", "kept"), (True, "undo", "restoring"), (True, "keep", "keeping"),
    (False, "abandon", "keeping"), (True, "abandon", "keeping"),
])  # fmt: skip
def test_what_is_asked_between_two_parts(together: bool, asked: Intervention, step: str) -> None:
    world = begun(parts=2, together=together)
    world.end()
    settled(world)
    if not together:
        world.end()
    world.asked = asked
    world.look()
    assert world.record.step == step
    while world.working():
        world.end()
    assert world.record.step in ENDED and world.order.count("deploy") == 1
