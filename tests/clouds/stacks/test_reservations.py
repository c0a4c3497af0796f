"""Quotas of projects in a cloud: refused before anything is made, whoever is quicker and whoever dies."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.resources import attr, server
from tests.clouds.stacks.test_processes import in_child
from tests.clouds.stacks.world import OWNER, World, hot
from vetro.clouds.interface import CloudError, Owner, StackFailed
from vetro.clouds.quotas import OF_CLOUD, QUOTAS, QuotaExceeded, QuotaInvalid, limit_of, limits_of

pytestmark = pytest.mark.attack("quotas", "H3")

OTHER = Owner("project", "Env2")
STRANGER = Owner("stranger", "Env3")
ADDRESS = {"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": "ext-net"}}
NETWORK = {"type": "OS::Neutron::Net", "properties": {}}


def many(count: int, one: dict[str, Any], name: str = "r") -> dict[str, Any]:
    return {f"{name}{number}": one for number in range(count)}


def volume(size: Any) -> dict[str, Any]:
    return {"type": "OS::Cinder::Volume", "properties": {"size": size}}


def group(count: Any, one: dict[str, Any]) -> dict[str, Any]:
    return {"type": "OS::Heat::ResourceGroup", "properties": {"count": count, "resource_def": one}}


def made(world: World) -> int:
    """How many things the projects have made; default security groups come with the first look."""
    return world.count("records WHERE project != '' AND environment != '' AND kind != 'security_group'")


@pytest.fixture
def limited(make_world: Callable[..., World]) -> Callable[..., World]:
    def make(**quotas: int) -> World:
        return make_world(quotas=quotas)

    return make


@pytest.mark.parametrize(
    ("quotas", "fits", "too_much", "name"),
    [
        ({"servers": 3}, many(3, server()), many(4, server()), "servers"),
        ({"processors": 4}, many(4, server()), {"a": server(flavor="m1.xlarge")}, "processors"),
        ({"memory": 4096}, many(2, server()), {"a": server(flavor="m1.large")}, "memory"),
        ({"disk": 40}, many(2, server()), {"a": server(flavor="m1.large")}, "disk"),
        ({"addresses": 2}, many(2, ADDRESS), many(3, ADDRESS), "addresses"),
        ({"networks": 2}, many(2, NETWORK), many(3, NETWORK), "networks"),
        ({"volumes": 2}, many(2, volume(1)), many(3, volume(1)), "volumes"),
        ({"volume_space": 10}, many(2, volume(5)), {"a": volume(11)}, "volume_space"),
        ({"servers": 3}, {"g": group(3, server())}, {"g": group(4, server())}, "servers"),
        ({"servers": 0}, {}, {"a": server()}, "servers"),
    ],
)
def test_a_push_that_needs_more_than_the_quota_makes_nothing(
    limited: Callable[..., World], quotas: dict[str, int], fits: Any, too_much: Any, name: str
) -> None:
    world = limited(**quotas)
    with pytest.raises(QuotaExceeded) as refused:
        world.push(hot(too_much))
    assert f"Quota '{name}': project 'project' has 0 of {quotas[name]:,}" in refused.value.message
    assert f"'vetro quota set project {name}=NUMBER'" in refused.value.message
    assert made(world) == 0 and world.count("stacks") == 0 and world.count("reserved") == 0
    assert world.push(hot(fits)).status == "CREATE_COMPLETE"
    world.cloud.delete_stack(OWNER, "", "stack")
    assert world.cloud.used("project") == {} and made(world) == 0


def test_one_project_does_not_take_all_floating_addresses(limited: Callable[..., World]) -> None:
    """H3 as it was found: 1,020 addresses of one project left none for others."""
    world = limited(addresses=QUOTAS["addresses"].default)
    with pytest.raises(QuotaExceeded, match="has 0 of 250,"):
        world.push(hot(many(1020, ADDRESS)))
    world.push(hot(many(250, ADDRESS)))
    with pytest.raises(QuotaExceeded, match=r"has 250 of 250, this asks for 1 more"):
        world.push(hot({"one": ADDRESS}), name="more", owner=OTHER)
    world.push(hot({"one": ADDRESS}), name="theirs", owner=STRANGER)


def test_environments_and_regions_of_a_project_count_together(make_world: Callable[..., World]) -> None:
    from vetro.clouds.stacks.settings import StackSettings

    world = make_world(settings=StackSettings(regions=("west",)), quotas={"servers": 3})
    world.push(hot({"a": server()}))
    world.push(hot({"a": server()}), name="two", owner=OTHER)
    world.push(hot({"a": server()}), name="three", region="west")
    for owner, region in ((OWNER, ""), (OTHER, "west")):
        with pytest.raises(QuotaExceeded, match=r"has 3 of 3, this asks for 1 more"):
            world.push(hot({"a": server()}), name="four", owner=owner, region=region, whole=True)
    world.push(hot({"a": server()}), name="theirs", owner=STRANGER)
    assert world.cloud.used("project")["servers"] == 3 and world.cloud.used("stranger")["servers"] == 1
    assert world.cloud.used("nobody") == {}


def test_deleting_frees_and_changes_count_by_their_difference(limited: Callable[..., World]) -> None:
    world = limited(servers=2, processors=4, volume_space=10)
    world.push(hot({"a": server(), "b": server(), "v": volume(6)}))
    assert world.cloud.used("project") == {
        "servers": 2, "processors": 2, "memory": 4096, "disk": 40, "volumes": 1, "volume_space": 6,
    }  # fmt: skip
    with pytest.raises(QuotaExceeded, match=r"volume_space.* asks for 5 more"):
        world.push(hot({"a": server(), "b": server(), "v": volume(11)}))
    with pytest.raises(QuotaExceeded, match=r"processors.* has 2 of 4, this asks for 3 more"):
        world.push(hot({"a": server(flavor="m1.large"), "b": server(), "v": volume(6)}))
    world.push(hot({"a": server(flavor="m1.medium"), "b": server(flavor="m1.medium"), "v": volume(10)}))
    assert world.cloud.used("project")["processors"] == 4
    world.push(hot({"a": server(flavor="m1.tiny"), "v": volume(10)}))
    assert world.cloud.used("project") == {
        "servers": 1, "processors": 1, "memory": 512, "disk": 1, "volumes": 1, "volume_space": 10,
    }  # fmt: skip
    world.push(hot({"a": server(flavor="m1.tiny"), "c": server(), "v": volume(10)}))


def test_a_replaced_thing_counts_until_it_is_gone(limited: Callable[..., World]) -> None:
    """What cannot be removed goes on counting: replacing again and again piles up nothing."""
    world = limited(volumes=2)
    world.push(hot({"v": volume(1)}))
    zoned = {"type": "OS::Cinder::Volume", "properties": {"size": 1, "availability_zone": "nova"}}
    world.push(hot({"v": zoned}))
    assert world.cloud.used("project")["volumes"] == 1
    world.push(hot({"v": zoned, "w": volume(1)}))
    with pytest.raises(StackFailed, match="has 2 of 2"):
        world.push(hot({"v": volume(1), "w": volume(1)}))
    assert world.cloud.used("project")["volumes"] == 2


def test_what_a_deletion_keeps_goes_on_counting(limited: Callable[..., World]) -> None:
    world = limited(servers=2)
    for name in ("one", "two"):
        world.push(hot({"a": {**server(), "deletion_policy": "retain"}}), name=name)
        world.cloud.delete_stack(OWNER, "", name)
    assert world.cloud.used("project")["servers"] == 2
    with pytest.raises(QuotaExceeded):
        world.push(hot({"a": server()}), name="three")


LATE = {"type": "OS::Heat::Value", "properties": {"value": "m1.xlarge"}}


def test_what_templates_do_not_tell_is_counted_when_it_is_made(limited: Callable[..., World]) -> None:
    world = limited(processors=10, servers=5)
    late = server(flavor=attr("late", "value"))
    with pytest.raises(StackFailed, match="Quota 'processors'"):
        world.push(hot({"late": LATE, "a": late, "b": late}))
    assert world.cloud.used("project")["processors"] == 8 and len(world.cloud.servers(OWNER)) == 1
    world.cloud.delete_stack(OWNER, "", "stack")
    number = {"type": "OS::Heat::Value", "properties": {"value": 6}}
    with pytest.raises(StackFailed, match="Quota 'servers'"):
        world.push(hot({"n": number, "g": group(attr("n", "value"), server(flavor="m1.tiny"))}), name="group")
    assert not world.cloud.servers(OWNER) and world.cloud.used("project") == {}
    # A later push that makes nothing of it does not make it count less.
    world.push(hot({"late": LATE, "a": late}), name="again")
    world.push(hot({"late": LATE, "a": late, "o": LATE}), name="again")
    assert world.cloud.used("project")["processors"] == 8


def test_templates_within_templates_count_before_anything_is_made(limited: Callable[..., World]) -> None:
    import json

    world = limited(servers=4)
    files = {
        "two.yaml": json.dumps(hot(many(2, server()))),
        "four.yaml": json.dumps(hot(many(2, {"type": "two.yaml"}))),
    }
    with pytest.raises(QuotaExceeded, match=r"has 0 of 4, this asks for 5 more"):
        world.push(hot({"x": server(), "y": {"type": "four.yaml"}}), files=files)
    assert made(world) == 0
    world.push(hot({"y": {"type": "four.yaml"}}), files=files)
    assert world.cloud.used("project")["servers"] == 4
    world.cloud.delete_stack(OWNER, "", "stack")
    assert world.cloud.used("project") == {} and world.count("reserved") == 0


def test_two_processes_cannot_both_take_the_last_place(tmp_path: Path) -> None:
    """Twelve processes ask for a server each, four fit."""
    quotas = {"servers": 4}
    World(tmp_path / "cloud", quotas=quotas).cloud.close()
    ready, go = os.pipe()
    children = []
    for number in range(12):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(go)
                os.read(ready, 1)
                world = World(tmp_path / "cloud", quotas=quotas)
                try:
                    world.push(hot({"a": server()}), name=f"s{number}", owner=Owner("project", f"E{number}"))
                    status = 0
                except QuotaExceeded:
                    status = 2
            finally:
                os._exit(status)
        children.append(pid)
    os.close(ready)
    os.close(go)
    ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    assert sorted(ends) == [0] * 4 + [2] * 8
    world = World(tmp_path / "cloud", quotas=quotas)
    assert len(world.cloud.all_servers()) == 4 and world.cloud.used("project")["servers"] == 4
    assert world.count("stacks") == 4
    world.cloud.close()


@pytest.mark.parametrize("removed", ["pushed again", "pushed without", "deleted"])
def test_killed_between_reservation_and_effect_leaves_no_leak(tmp_path: Path, removed: str) -> None:
    quotas = {"servers": 3}
    World(tmp_path / "cloud", quotas=quotas).cloud.close()

    def killed() -> None:
        world = World(tmp_path / "cloud", quotas=quotas)
        world.driver.create = lambda *args: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        world.push(hot(many(3, server())))

    assert in_child(killed) == -signal.SIGKILL
    world = World(tmp_path / "cloud", quotas=quotas)
    try:
        assert world.cloud.used("project")["servers"] == 3  # what is being made counts
        with pytest.raises(QuotaExceeded):
            world.push(hot({"a": server()}), name="other", owner=OTHER)
        if removed == "pushed again":
            world.push(hot(many(3, server())), whole=True)
            assert world.cloud.used("project")["servers"] == 3
        elif removed == "pushed without":
            world.push(hot(many(1, server())), whole=True)
            assert world.cloud.used("project")["servers"] == 1
        else:
            world.cloud.delete_stack(OWNER, "", "stack")
            assert world.cloud.used("project") == {} and world.count("reserved") == 0
    finally:
        world.cloud.close()


def test_a_push_that_fails_gives_back_what_it_did_not_make(limited: Callable[..., World]) -> None:
    world = limited(servers=3)

    def refuses(spec: Any) -> None:
        raise CloudError("no")

    real, world.driver.create = world.driver.create, refuses  # type: ignore[method-assign]
    chain = {"a": server(), "b": {**server(), "depends_on": "a"}, "c": {**server(), "depends_on": "b"}}
    with pytest.raises(StackFailed):
        world.push(hot(chain))
    assert world.cloud.used("project")["servers"] == 1  # its record is there until the next push
    world.driver.create = real  # type: ignore[method-assign]
    world.push(hot({"d": server(), "e": server()}))
    assert world.cloud.used("project")["servers"] == 2


def test_clouds_of_before_count_what_they_have(tmp_path: Path) -> None:
    world = World(tmp_path / "cloud")
    world.push(hot({**many(2, server()), **many(3, ADDRESS, "f"), "v": volume(7), "n": NETWORK}))
    before = world.cloud.used("project")
    world.cloud.close()
    database = sqlite3.connect(tmp_path / "cloud" / "cloud.db")
    database.execute("DROP TABLE reserved")
    database.commit()
    database.close()
    world = World(tmp_path / "cloud", quotas={"servers": 2})
    try:
        assert world.cloud.used("project") == before and before["volume_space"] == 7
        with pytest.raises(QuotaExceeded):
            world.push(hot({"a": server()}), name="more", owner=OTHER)
    finally:
        world.cloud.close()


@pytest.mark.parametrize("size", [10**30, 2**63, "9" * 40])
def test_absurd_sizes_are_refused_and_break_nothing(limited: Callable[..., World], size: Any) -> None:
    world = limited(volume_space=100)
    with pytest.raises(CloudError):
        world.push(hot({"v": volume(size)}))
    assert made(world) == 0 and world.cloud.used("project") == {}


@pytest.mark.parametrize("value", [-2, 2**53 + 1, 1.5, float("nan"), float("inf"), True, "7", None, [], 10**400])
def test_limits_are_whole_numbers(value: Any) -> None:
    with pytest.raises(QuotaInvalid, match="The quota 'servers' must be a whole number"):
        limit_of("servers", value)


def test_limits_name_quotas() -> None:
    with pytest.raises(QuotaInvalid, match="There is no quota 'server'; there are servers, "):
        limits_of({"server": 1})
    assert limits_of({"servers": -1, "disk": 0}) == {"servers": -1, "disk": 0}
    assert set(OF_CLOUD) < set(QUOTAS)


def test_pushes_of_an_unchanged_project_cost_no_more_with_what_it_has(limited: Callable[..., World]) -> None:
    """Finding room is one query over an index, however many things the project has."""
    world = limited(servers=1000)
    for number in (5, 100):
        world.push(hot(many(number, server())), name=f"s{number}", whole=True)
        asked: list[str] = []
        world.cloud._database._connection.set_trace_callback(asked.append)
        world.push(hot({"a": server()}), name=f"t{number}", whole=True)
        world.cloud._database._connection.set_trace_callback(None)
        assert sum("FROM reserved" in sql for sql in asked) <= 3
