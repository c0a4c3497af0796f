"""Updates that are taken back: the way back is over when what came back serves again."""

from __future__ import annotations

from dataclasses import replace

from tests.engine.procedures.update_world import RUNNING, World, begun
from vetro.engine.procedures.guarded_update import LOOK, RECOVERY, RESERVED, GuardedUpdate, advance
from vetro.engine.procedures.procedure import Wake
from vetro.engine.watching.states import State


def gone_back(**options: float | bool) -> World:
    """An update that was taken back; its component was started again and does not serve yet."""
    world = begun(**options)
    world.end()
    world.end("failed")
    world.health = {"web": State.DEGRADED}
    world.end()
    return world


def test_what_was_brought_back_has_to_serve_again_before_it_is_done() -> None:
    world = gone_back()
    assert world.record.step == "recovering" and "recovering" in RESERVED
    world.sleep()
    assert world.record.step == "recovering" and world.wake == world.now + LOOK
    world.health = {"web": RUNNING}
    world.sleep()
    assert world.record.step == "releasing" and not world.record.unwell
    world.end()
    assert world.record.step == "restored" and world.order == ["snapshot", "deploy", "restore", "drop"]


def test_what_does_not_serve_again_in_time_is_told() -> None:
    world = gone_back()
    world.now += RECOVERY
    world.look()
    assert world.record.step == "releasing" and world.record.unwell == {"web": State.DEGRADED}


def test_what_was_brought_back_is_not_done_before_somebody_looked() -> None:
    world = gone_back()
    after, commands = advance(world.record, replace(world.facts(), health=None), world.now + RECOVERY)
    assert after.step == "recovering" and commands == [Wake(world.now + RECOVERY)]


def test_what_was_not_well_before_need_not_be_well_again() -> None:
    world = World()
    world.health = {"web": State.DEGRADED}
    world.look()
    world.end()
    world.end("failed")
    world.end()
    assert world.record.step == "releasing" and not world.record.unwell


def test_who_gives_an_environment_up_waits_for_nothing() -> None:
    world = gone_back()
    world.asked = "abandon"
    world.look()
    assert world.record.step == "releasing"


def test_parts_that_go_back_together_have_to_be_as_before_the_first() -> None:
    """What the first part made better is not what comes back."""
    world = World(settle=0, parts=2, together=True)
    world.health = {"web": State.DEGRADED}
    world.look()
    world.end()
    world.health = {"web": RUNNING}
    world.end()
    world.draft = ""
    world.look()
    world.end("failed")
    assert world.record.part == 1 and world.record.step == "restoring"
    world.health = {"web": State.DEGRADED}
    world.end()
    assert world.record.step == "releasing" and not world.record.unwell


def test_a_record_of_an_earlier_version_is_read() -> None:
    stored = begun().record.as_json()
    del stored["before_all"], stored["unwell"]
    assert not GuardedUpdate.from_json(stored).unwell
