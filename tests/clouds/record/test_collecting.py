"""Recorded servers are written down with the whole stack, and never later than the cloud says that they are there."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.clouds.stacks.world import OWNER, World, hot


def fleet(count: int) -> dict[str, Any]:
    server = {"type": "OS::Nova::Server", "properties": {"image": "debian-12-murano", "flavor": "m1.small"}}
    return hot({f"s{number}": server for number in range(count)})


def killed(world: World, template: dict[str, Any], patch: Callable[[World], None]) -> None:
    """A process of its own pushes, and dies where ``patch`` has put that."""
    world.cloud.close()
    pid = os.fork()
    if pid == 0:
        try:
            again = World(world.folder)
            again.push(fleet(1), name="first")  # networks that the driver was not told of are written down at once
            patch(again)
            again.push(template)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 9
    world.open()


def test_a_death_between_the_two_files_leads_to_the_same_end(make_world: Callable[..., World]) -> None:
    """The recorder has them and the cloud does not: they are swept, and made again with the same ids."""
    world = make_world()

    def die_after_the_recorder(again: World) -> None:
        real = again.driver.commit

        def commit() -> None:
            real()
            os._exit(9)

        again.driver.commit = commit  # type: ignore[method-assign]

    killed(world, fleet(3), die_after_the_recorder)
    assert [call for call in world.driver.calls() if call[0] == "delete server"] != []  # by the sweep at its opening
    assert [server.stack for server in world.cloud.servers(OWNER)] == ["first"]
    assert world.push(fleet(3)).status == "CREATE_COMPLETE"
    servers = world.cloud.servers(OWNER)
    assert len(servers) == 4 and all(server.status == "ACTIVE" for server in servers)
    assert all(world.driver.spec(server.id)["name"] == server.name for server in servers)


def test_a_death_in_the_middle_leads_to_the_same_end(make_world: Callable[..., World]) -> None:
    world = make_world()

    def die_at_the_second(again: World) -> None:
        real, made = again.driver.create, []

        def create(spec: Any) -> None:
            if made:
                os._exit(9)
            made.append(spec.id)
            real(spec)

        again.driver.create = create  # type: ignore[method-assign]

    killed(world, fleet(3), die_at_the_second)
    assert world.push(fleet(3)).status == "CREATE_COMPLETE"
    assert [server.status for server in world.cloud.servers(OWNER)] == ["ACTIVE"] * 4


def test_a_recorder_that_cannot_write_undoes_the_stack(make_world: Callable[..., World]) -> None:
    world = make_world()
    real = world.driver.store.commit

    def full() -> None:
        world.driver.store._connection.execute("ROLLBACK")
        world.driver.store._connection.execute("BEGIN")
        real()
        raise sqlite3.OperationalError("database or disk is full")

    world.driver.commit = full  # type: ignore[method-assign]
    with pytest.raises(sqlite3.OperationalError, match="full"):
        world.push(fleet(2))
    assert world.cloud.servers(OWNER) == []
    del world.driver.commit
    world.parts.clear()
    assert world.push(fleet(2)).status == "CREATE_COMPLETE"
    assert len(world.cloud.servers(OWNER)) == 2


def test_a_large_stack_is_written_down_a_few_times(make_world: Callable[..., World]) -> None:
    world = make_world()
    commits: list[None] = []
    real = world.driver.commit
    world.driver.commit = lambda: (commits.append(None), real())[1]  # type: ignore[method-assign]
    world.push(fleet(60))
    assert len(world.cloud.servers(OWNER)) == 60
    assert 1 <= len(commits) < 60


def test_others_read_while_a_large_stack_is_made(make_world: Callable[..., World]) -> None:
    world = make_world()
    pusher = threading.Thread(target=lambda: world.push(fleet(60)))
    pusher.start()
    found = world.cloud.read_stack(OWNER, "", "stack", settled=True)
    pusher.join()
    assert found is None or found.status == "CREATE_COMPLETE"


def test_what_a_failure_leaves_is_as_without_collecting(make_world: Callable[..., World]) -> None:
    world = make_world(table={"servers": [{"server": "*-s1-*", "failure": "no room"}]})
    with pytest.raises(Exception, match="no room"):
        world.push(fleet(3))
    assert world.states()["s1"] == "CREATE_FAILED"
    assert {server.status for server in world.cloud.servers(OWNER) if "-s1-" in server.name} == {"BUILD"}
    world.driver.table = type(world.driver.table)()
    assert world.push(fleet(3), whole=True).status == "UPDATE_COMPLETE"
    assert {server.status for server in world.cloud.servers(OWNER)} == {"ACTIVE"}
