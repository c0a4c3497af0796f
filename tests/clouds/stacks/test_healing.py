"""Servers that ended by themselves are seen, and started again by the next push of their stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.clouds.stacks.world import OWNER, World, hot
from vetro.clouds.drivers.errors import DriverError
from vetro.clouds.interface import CloudError, Conflict, NotFound, Owner
from vetro.clouds.stacks.settings import StackSettings


def vm(name: str) -> dict[str, Any]:
    return {
        "type": "OS::Nova::Server",
        "properties": {"name": name, "image": "debian-12-murano", "flavor": "m1.small"},
    }


class Running:
    """Makes the recorder one that runs servers, some of which have ended."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.states: dict[str, str] = {}
        self.broken: set[str] = set()
        self.started: list[str] = []
        monkeypatch.setattr(world.driver, "executes", True)
        monkeypatch.setattr(world.driver, "statuses", self.statuses)
        monkeypatch.setattr(world.driver, "start", self.start)

    def statuses(self, servers: list[str]) -> dict[str, str]:
        names = {server.id: server.name for server in self.servers()}
        return {id: self.states.get(names[id], "ACTIVE") for id in servers if self.states.get(names[id]) != "GONE"}

    def servers(self) -> list[Any]:
        rows = self.world.cloud._database.rows("SELECT id, name FROM records WHERE kind = 'server'")
        return [type("Row", (), {"id": id, "name": name}) for id, name in rows]

    def start(self, id: str) -> None:
        (name,) = (server.name for server in self.servers() if server.id == id)
        self.started.append(name)
        if name in self.broken:
            raise DriverError("its disk is gone")
        self.states[name] = "ACTIVE"

    def status(self) -> str:
        found = self.world.cloud.read_stack(OWNER, "", "stack", settled=True)
        assert found is not None
        return f"{found.status}: {found.reason}" if found.status == "CHECK_FAILED" else found.status


@pytest.fixture
def running(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> Running:
    world = make_world()
    made = Running(world, monkeypatch)
    world.push(hot({"a": vm("one"), "b": vm("two"), "c": vm("three")}))
    assert made.started == []
    assert made.status() == "CREATE_COMPLETE"
    return made


TEMPLATE = hot({"a": vm("one"), "b": vm("two"), "c": vm("three")})


def test_the_same_push_again_starts_what_has_ended(running: Running) -> None:
    running.states.update(one="ERROR", two="SHUTOFF", three="GONE")
    assert running.status() == "CHECK_FAILED: servers 'one', 'three' have ended by themselves"
    running.states["three"] = "ACTIVE"
    assert running.status() == "CHECK_FAILED: server 'one' has ended by itself"
    assert running.world.push(TEMPLATE).status == "CREATE_COMPLETE"
    assert running.started == ["one"], "a server that somebody stopped stays as it is"
    assert running.status() == "CREATE_COMPLETE"


def test_reading_without_waiting_does_not_look_at_servers(running: Running) -> None:
    running.states["one"] = "ERROR"
    found = running.world.cloud.read_stack(OWNER, "", "stack")
    assert found is not None and found.status == "CREATE_COMPLETE"


def test_a_push_with_changes_starts_them_first(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.states["one"] = "ERROR"
    seen: list[list[str]] = []
    create = running.world.driver.create
    monkeypatch.setattr(
        running.world.driver, "create", lambda spec: (seen.append(list(running.started)), create(spec))[1]
    )
    running.world.push(hot({"a": vm("one"), "b": vm("two"), "c": vm("three"), "d": vm("four")}))
    assert seen == [["one"]]


def test_one_that_does_not_start_fails_the_push_and_names_the_server(running: Running) -> None:
    running.states.update(one="ERROR", two="ERROR")
    running.broken.add("one")
    with pytest.raises(DriverError, match="the server 'one' cannot be started again: its disk is gone"):
        running.world.push(TEMPLATE)
    assert sorted(running.started) == ["one", "two"], "the others are started"
    assert running.status().startswith("CHECK_FAILED")
    running.broken.clear()
    running.world.push(TEMPLATE)
    assert running.status() == "CREATE_COMPLETE"


def test_one_that_does_not_start_can_be_removed(running: Running) -> None:
    running.states["one"] = "ERROR"
    running.broken.add("one")
    assert running.world.push(hot({"b": vm("two"), "c": vm("three")})).status == "UPDATE_COMPLETE"
    assert {server.name for server in running.servers()} == {"two", "three"}


def test_servers_in_nested_stacks_are_started(running: Running) -> None:
    inner = "heat_template_version: '2013-05-23'\nresources:\n  s:\n    type: OS::Nova::Server\n    properties:\n"
    inner += "      {name: deep, image: debian-12-murano, flavor: m1.small}\n"
    template = hot({"n": {"type": "inner.yaml"}})
    running.world.push(template, files={"inner.yaml": inner}, name="outer")
    running.states["deep"] = "ERROR"
    running.world.push(template, files={"inner.yaml": inner}, name="outer")
    assert running.started == ["deep"]


def test_all_stacks_of_an_environment_are_healed(running: Running) -> None:
    running.states.update(one="ERROR", three="ERROR")
    assert running.world.cloud.heal(Owner("project", "other")) == []
    assert sorted(running.world.cloud.heal(OWNER)) == ["one", "three"]
    assert running.world.cloud.heal(OWNER) == []
    running.states["one"], running.broken = "ERROR", {"one"}
    with pytest.raises(CloudError, match="'one'"):
        running.world.cloud.heal(OWNER)


# -- machines that do not answer ---------------------------------------------------------------------------------------


def test_servers_of_a_machine_that_is_away_are_left_alone(running: Running) -> None:
    running.states["two"] = "UNKNOWN"
    assert running.status() == "CREATE_COMPLETE"
    running.world.push(hot({"a": vm("one"), "b": vm("two"), "c": vm("three")}))
    assert running.world.cloud.heal(OWNER) == []
    assert running.started == []
    assert {server.status for server in running.world.cloud.servers(OWNER)} == {"ACTIVE", "UNKNOWN"}


def test_a_change_waits_for_the_machine_and_fails_with_its_name(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(settings=StackSettings(unknown_seconds=0.05))
    running = Running(world, monkeypatch)
    monkeypatch.setattr(type(world.driver), "member", lambda self, server: "rack 7", raising=False)
    monkeypatch.setattr("vetro.clouds.stacks.convergence.restart._PAUSE", 0.01)
    world.push(hot({"a": vm("one")}))
    running.states["one"] = "UNKNOWN"
    with pytest.raises(Conflict, match="the machine 'rack 7' of the server 'one' does not answer"):
        world.push(hot({"a": vm("one"), "b": vm("two")}))
    assert running.started == [] and [server.name for server in running.servers()] == ["one"]
    running.states["one"] = "ACTIVE"
    world.push(hot({"a": vm("one"), "b": vm("two")}))
    assert len(running.servers()) == 2


def test_servers_of_many_environments_are_seen_at_once(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses are told where the driver leads to them, of those that are of the plan or floating ones."""
    asked: list[str] = []

    def routed(project: str, addresses: list[str]) -> tuple[str, list[str]]:
        asked.extend(addresses)
        return f"link-{project}", [address for address in addresses if address != asked[0]]

    monkeypatch.setattr(running.world.driver, "routed", routed, raising=False)
    other = Owner(OWNER.project, "Other")
    ids = {server.name: server.id for server in running.servers()}
    running.states["two"] = "ERROR"
    running.states["three"] = "GONE"
    found = running.world.cloud.seen_servers({OWNER: [*ids.values(), "gone"], other: list(ids.values())})
    assert found[other] == {}
    seen = found[OWNER].values()
    assert {state.name: state.status for state in seen} == {"one": "ACTIVE", "two": "ERROR", "three": "ERROR"}
    assert len(asked) == 3
    assert [address for state in seen for address in state.reachable] == asked[1:]
    assert {state.device for state in seen} == {f"link-{OWNER.project}"}


@pytest.mark.attack("networks", "probes of the host's own networks")
def test_what_the_driver_leads_nowhere_is_not_reachable(running: Running) -> None:
    ids = [server.id for server in running.servers()]
    found = running.world.cloud.seen_servers({OWNER: ids})
    assert [(len(state.reachable), state.device) for state in found[OWNER].values()] == [(0, "")] * 3


@pytest.mark.attack("networks", "probes of the host's own networks")
@pytest.mark.parametrize(("elsewhere", "leased"), [([], True), (["10.0.3.0/24"], False), (["10.0.3.7/32"], False)])
def test_a_block_that_this_machine_uses_is_leased_to_nobody(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch, elsewhere: list[str], leased: bool
) -> None:
    world = make_world()
    monkeypatch.setattr(world.driver, "taken", lambda: elsewhere)
    subnet = {"network": {"get_resource": "net"}, "cidr": "10.0.3.0/24"}
    world.push(
        hot(
            {
                "net": {"type": "OS::Neutron::Net"},
                "sub": {"type": "OS::Neutron::Subnet", "properties": subnet},
                "port": {
                    "type": "OS::Neutron::Port",
                    "properties": {
                        "network": {"get_resource": "net"},
                        "fixed_ips": [{"subnet": {"get_resource": "sub"}}],
                    },
                },
                "vm": {
                    "type": "OS::Nova::Server",
                    "properties": {**vm("one")["properties"], "networks": [{"port": {"get_resource": "port"}}]},
                },
            }
        )
    )
    rows = world.cloud._database.rows("SELECT cidr FROM leases WHERE cidr = '10.0.3.0/24'")
    assert bool(rows) is leased


# -- switched on and off -----------------------------------------------------------------------------------------------


def test_servers_are_switched_off_and_on(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud, ids = running.world.cloud, {server.name: server.id for server in running.servers()}
    names = {id: name for name, id in ids.items()}
    stopped: list[str] = []

    def stop(id: str) -> None:
        stopped.append(names[id])
        running.states[names[id]] = "SHUTOFF"

    monkeypatch.setattr(running.world.driver, "stop", stop)
    cloud.power(OWNER, ids["one"], "stop")
    assert running.states["one"] == "SHUTOFF" and stopped == ["one"]
    assert running.status() == "CREATE_COMPLETE", "it was stopped on purpose"
    assert cloud.heal(OWNER) == []
    cloud.power(OWNER, ids["one"], "start")
    cloud.power(OWNER, ids["one"], "start")
    assert running.started == ["one"], "what runs is not started again"
    cloud.power(OWNER, ids["two"], "restart")
    running.states["three"] = "ERROR"
    cloud.power(OWNER, ids["three"], "start")
    assert running.started == ["one", "two", "three"]
    running.states["one"], running.broken = "ERROR", {"one"}
    with pytest.raises(DriverError, match="the server 'one' cannot be started again: its disk is gone"):
        cloud.power(OWNER, ids["one"], "start")
    for owner in (Owner("project", "other"), Owner("other", OWNER.environment)):
        with pytest.raises(NotFound, match="there is no server"):
            cloud.power(owner, ids["two"], "stop")
    assert stopped == ["one", "two"]


def test_a_server_that_nobody_sees_stop_is_not_called_off(running: Running) -> None:
    """Whoever puts another server in its place has to know that it is off."""
    two = next(server.id for server in running.servers() if server.name == "two")
    for state in ("UNKNOWN", "ACTIVE"):
        running.states["two"] = state
        with pytest.raises(CloudError, match=f"'two' was told to stop, and nobody says that it did: {state}"):
            running.world.cloud.power(OWNER, two, "stop")
    for state in ("SHUTOFF", "ERROR"):
        running.states["two"] = state
        running.world.cloud.power(OWNER, two, "stop")
