"""Processes that share a cloud: what a killed one left, two at once, reading while one writes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.resources import NET, VM, attr, ref, server
from tests.clouds.stacks.world import OWNER, World, hot

RANDOM = {"type": "OS::Heat::RandomString"}


def in_child(work: Callable[[], Any]) -> int:
    """Runs ``work`` in a forked process; its exit status (negative: signal)."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


RESOURCES = {**VM, "v": {"type": "OS::Heat::Value", "properties": {"value": attr("vm", "first_address")}}}


@pytest.mark.parametrize("method", ["create", "ensure_network", "update", "delete"])
@pytest.mark.parametrize("after", [False, True])
def test_what_a_killed_process_left_is_taken_over(tmp_path: Path, method: str, after: bool) -> None:
    """Killed in the driver's call, or right after it and before the note that it was made."""
    first = World(tmp_path / "cloud")
    first.push(hot({"v": {"type": "OS::Heat::Value", "properties": {"value": 1}}}))
    if method in ("update", "delete"):
        first.push(hot(RESOURCES))
    first.cloud.close()
    wanted: dict[str, Any] = dict(RESOURCES)
    if method == "update":
        wanted["vm"] = server(name="renamed", networks=[{"port": ref("port")}])
    if method == "delete":
        wanted = {"v": {"type": "OS::Heat::Value", "properties": {"value": 1}}}

    def killed() -> None:
        world = World(tmp_path / "cloud")
        real = getattr(world.driver, method)

        def call(*args: Any) -> Any:
            if after:
                real(*args)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(world.driver, method, call)
        world.push(hot(wanted), whole=True)

    assert in_child(killed) == -signal.SIGKILL
    world = World(tmp_path / "cloud")
    left = world.cloud.read_stack(OWNER, "", "stack", settled=True)
    assert left is not None and left.status == "UPDATE_IN_PROGRESS"
    state = world.push(hot(wanted, outputs={"o": {"value": attr("v", "value")}}), whole=True)
    assert state.status == "UPDATE_COMPLETE"
    servers = [item.name for item in world.cloud.servers(OWNER)]
    assert servers == {"delete": [], "update": ["renamed"]}.get(method, ["web"])
    assert set(world.states()) == set(wanted) and world.count("resources") == len(wanted)
    assert state.outputs["o"] == (1 if method == "delete" else "10.1.2.2")
    world.cloud.delete_stack(OWNER, "", "stack")
    assert world.count("resources") == world.count("addresses") == 0 and not world.cloud.servers(OWNER)
    world.cloud.close()


def test_a_stack_that_died_in_its_deletion_can_be_deleted_or_made_anew(tmp_path: Path) -> None:
    first = World(tmp_path / "cloud")
    first.push(hot(VM))
    first.cloud.close()

    def killed() -> None:
        world = World(tmp_path / "cloud")
        world.driver.delete = lambda server: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        world.cloud.delete_stack(OWNER, "", "stack")

    assert in_child(killed) == -signal.SIGKILL
    world = World(tmp_path / "cloud")
    assert world.push(hot(NET), whole=True).status == "CREATE_COMPLETE"
    assert set(world.states()) == set(NET) and not world.cloud.servers(OWNER)
    world.cloud.close()


def test_two_processes_push_one_stack_one_after_the_other(world: World, tmp_path: Path) -> None:
    world.push(hot(NET))
    world.cloud.close()

    def child(number: int) -> Callable[[], None]:
        def push() -> None:
            mine = World(tmp_path / "cloud")
            mine.push(hot({"vm": server(name=f"s{number}")}), name=f"own{number}")
            mine.push(hot({**NET, f"r{number}": RANDOM}), whole=True)
            mine.cloud.close()

        return push

    pids = []
    for number in range(3):
        pid = os.fork()
        if pid == 0:
            try:
                child(number)()
            except BaseException:
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0, 0, 0]
    world.open()
    assert len(world.cloud.servers(OWNER)) == 3
    assert len({item.addresses[0] for item in world.cloud.servers(OWNER)}) == 3
    assert len(world.states()) == 3


def test_settled_reading_waits_for_the_operation_under_way(make_world: Callable[..., World]) -> None:
    # A rule that delays servers: those that are made at once are written down with the whole stack.
    world = make_world(table={"servers": [{"server": "other", "createDelay": 1}]})
    begun, go_on = threading.Event(), threading.Event()
    real = world.driver.create

    def slow(spec: Any) -> None:
        begun.set()
        assert go_on.wait(30)
        real(spec)

    world.driver.create = slow  # type: ignore[method-assign]
    pusher = threading.Thread(target=lambda: world.push(hot(VM)))
    pusher.start()
    assert begun.wait(30)
    now = world.cloud.read_stack(OWNER, "", "stack")
    assert now is not None and now.status == "CREATE_IN_PROGRESS"
    (made,) = world.cloud.servers(OWNER)
    assert made.status == "BUILD"
    threading.Timer(0.05, go_on.set).start()
    later = world.cloud.read_stack(OWNER, "", "stack", settled=True)
    assert later is not None and later.status == "CREATE_COMPLETE"
    pusher.join()
