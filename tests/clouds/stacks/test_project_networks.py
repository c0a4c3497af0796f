"""Routers, default networks and the address plan of projects that share a cloud, with the recording driver."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.world import OWNER, World, hot
from vetro.clouds.interface import CloudError, Owner
from vetro.clouds.stacks.network_queries import QueryInvalid
from vetro.clouds.stacks.settings import StackSettings
from vetro.clouds.stacks.specs import network_spec
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.inventory import Inventory, fixed_id

BOB = Owner("bob", "env")


def joined(cidr: str, router: str = "murano-default-router") -> dict[str, Any]:
    return {
        "net": {"type": "OS::Neutron::Net"},
        "sub": {"type": "OS::Neutron::Subnet", "properties": {"network": {"get_resource": "net"}, "cidr": cidr}},
        "way": {
            "type": "OS::Neutron::RouterInterface",
            "properties": {"router_id": router, "subnet": {"get_resource": "sub"}},
        },
    }


def block(world: World, owner: Owner, network: str = "n") -> Any:
    router = world.cloud.network(owner, "", "router", {})
    return world.cloud.network(owner, "", "cidr", {"router": router, "network": network})


def leases(world: World) -> dict[str, str]:
    return dict(world.cloud._database.rows("SELECT cidr, project FROM leases"))


@pytest.mark.attack("networks", "H2")
def test_networks_of_one_project_leave_blocks_for_another(make_world: Callable[..., World]) -> None:
    world = make_world(settings=StackSettings(max_networks=4))
    world.push(hot(joined("10.0.0.0/16")))
    for number in range(8):
        block(world, OWNER, f"flood-{number}")
    found = block(world, BOB)
    assert found is not None
    world.push(hot(joined(found)), owner=BOB, name="bob")
    # All blocks leased to one project: another one's networks are made all the same, only not routed by this machine.
    for number in range(4):
        template = {key: value for key, value in joined(f"10.0.{number}.0/24").items() if key != "way"}
        world.push(hot(template), owner=Owner("carol", "env"), name=f"c{number}")
    assert [leases(world).get(f"10.0.{number}.0/24") for number in range(4)].count("carol") == 3
    assert block(world, Owner("dave", "env")) is not None


def test_the_plan_prefers_what_nobody_has(make_world: Callable[..., World]) -> None:
    world = make_world(settings=StackSettings(max_networks=4))
    found = [block(world, Owner(f"p{number}", "env")) for number in range(4)]
    assert len(set(found)) == 4
    assert block(world, Owner("late", "env")) in found


@pytest.mark.attack("networks", "C2")
def test_only_blocks_of_the_plan_are_leased_and_only_once(world: World) -> None:
    for number, (owner, cidr) in enumerate([(OWNER, "8.8.8.0/24"), (OWNER, "10.0.7.0/24"), (BOB, "10.0.7.0/24")]):
        world.push(hot(joined(cidr)), owner=owner, name=f"s{number}")
    assert leases(world) == {"10.0.7.0/24": "project"}
    everything = Inventory(world.cloud._database, "", None)
    specs = [network_spec(everything, net) for net in everything.all("network") if net["name"].startswith("s")]
    assert {(spec.project, str(sub.cidr), sub.leased) for spec in specs for sub in spec.subnets} == {
        ("project", "8.8.8.0/24", False),
        ("project", "10.0.7.0/24", True),
        ("bob", "10.0.7.0/24", False),
    }
    world.cloud.delete_stack(OWNER, "", "s1")
    assert leases(world) == {}


@pytest.mark.attack("networks", "H2")
@pytest.mark.parametrize(
    "wrong",
    [{"version": "x"}, {"version": 5}, {"version": [4]}, {"network": "n" * 10_000_000}, {"router": "\ud800"}],
    ids=["text", "five", "list", "huge", "half a character"],
)
def test_a_question_for_a_block_that_is_none_is_refused(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(QueryInvalid) as refused:
        world.cloud.network(OWNER, "", "cidr", {"router": "r", "network": "n", **wrong})
    assert len(refused.value.message) < 300 and world.count("plans") == 0


@pytest.mark.attack("networks", "C2")
def test_no_router_or_default_network_can_be_named_by_two_projects(world: World) -> None:
    mine, theirs = (world.cloud.network(owner, "", "router", {}) for owner in (OWNER, BOB))
    assert mine != theirs
    with pytest.raises(CloudError, match=f"there is no router '{theirs}'"):
        world.push(hot(joined("10.9.0.0/24", theirs)))
    private = [{net["name"]: net["id"] for net in world.cloud.catalog(owner, "", "networks")} for owner in (OWNER, BOB)]
    assert private[0].keys() == private[1].keys() == {"ext-net", "private"}
    assert private[0]["private"] != private[1]["private"] and private[0]["ext-net"] == private[1]["ext-net"]


def test_what_earlier_versions_shared_is_taken_over(make_world: Callable[..., World], tmp_path: Path) -> None:
    """A file of version 1: one router and one network for all; bob has a port on it and a network joined to it."""
    world = make_world()
    world.push(hot(joined("10.0.7.0/24")), owner=BOB, name="bob")
    server = {"image": "debian-12-murano", "flavor": "m1.tiny"}
    world.push(hot({"vm": {"type": "OS::Nova::Server", "properties": server}}), owner=BOB, name="vm")
    (before,) = world.cloud.servers(BOB)
    world.cloud.close()
    old = {kind: fixed_id(kind, "", name) for kind, name in (("network", "private"), ("subnet", "private"))}
    old["router"] = fixed_id("router", "", "murano-default-router")
    new = {kind: fixed_id(kind, "", "bob", "private") for kind in ("network", "subnet")}
    new["router"] = fixed_id("router", "", "bob", "murano-default-router")
    database = Database(world.folder / "cloud.db")
    for kind, id in new.items():
        for id_, body in database.rows("SELECT id, body FROM records WHERE body LIKE ?", (f"%{id}%",)):
            database.run("UPDATE records SET body = ? WHERE id = ?", (body.replace(id, old[kind]), id_))
        for column in ("parent", "holder", "id"):
            database.run(f"UPDATE records SET {column} = ? WHERE {column} = ?", (old[kind], id))
        database.run("UPDATE records SET project = '' WHERE id = ?", (old[kind],))
        database.run("UPDATE addresses SET subnet = ? WHERE subnet = ?", (old[kind], id))
    database.run("DELETE FROM meta")
    for table in ("leases", "snapshots", "snapshot_rows"):
        database.run(f"DROP TABLE {table}")
    database.run("PRAGMA user_version = 1")
    database.close()
    world.open()
    everything = Inventory(world.cloud._database, "", None)
    assert not [id for id in old.values() for kind in old if everything.find(kind, id)]  # type: ignore[arg-type]
    assert json.dumps(everything.all("port")).count(new["network"]) >= 1
    (after,) = world.cloud.servers(BOB)
    assert after.addresses == before.addresses and after.addresses
    assert world.cloud.network(BOB, "", "router", {}) == new["router"]
    (port,) = [port for port in everything.all("port", holder=new["router"]) if port["network_id"] != new["network"]]
    assert port["device_id"] == new["router"]
    world.parts.clear()
    # Models of environments and templates go on naming the old ones.
    template = joined("10.0.7.0/24", old["router"])
    template["port"] = {"type": "OS::Neutron::Port", "properties": {"network": old["network"]}}
    world.push(hot(template), owner=BOB, name="bob", whole=True)
    assert world.cloud.network(BOB, "", "external_of_router", {"router": old["router"]})
    assert len(everything.all("port", holder=new["router"])) == 2
    assert [port["network_id"] for port in everything.all("port", parent=new["network"])].count(new["network"]) == 3
    with pytest.raises(CloudError, match="there is no router"):
        world.push(hot(joined("10.0.8.0/24", new["router"])), owner=Owner("carol", "env"), name="theirs")
    # Another project's own, never bob's.
    world.push(hot(joined("10.0.9.0/24", old["router"])), owner=Owner("carol", "env"), name="carol")
    assert len(everything.all("port", holder=new["router"])) == 2
    world.cloud.delete_stack(BOB, "", "vm")
    world.cloud.delete_stack(BOB, "", "bob")


_POOL = StackSettings(external_cidr="198.18.4.0/29")


@pytest.mark.attack("networks", "H2")
@pytest.mark.parametrize(
    ("type_name", "properties"),
    [
        ("OS::Neutron::Subnet", {"network": "ext-net", "cidr": "10.0.0.0/8"}),
        ("OS::Neutron::RouterInterface", {"router": "murano-default-router", "subnet": "ext-net"}),
        ("OS::Neutron::Port", {"network": "ext-net"}),
        ("OS::Neutron::Port", {"fixed_ips": [{"subnet": "ext-net"}]}),
        (
            "OS::Nova::Server",
            {"image": "debian-12-murano", "flavor": "m1.tiny", "networks": [{"network": "ext-net"}]},
        ),
        (
            "OS::Nova::Server",
            {"image": "debian-12-murano", "flavor": "m1.tiny", "networks": [{"subnet": "ext-net"}]},
        ),
    ],
    ids=["subnet", "interface", "port", "port-by-subnet", "server", "server-by-subnet"],
)
@pytest.mark.parametrize("late", [False, True], ids=["known", "told later"])
@pytest.mark.parametrize("project", ["project", "admin"])
def test_nobody_joins_or_drains_the_pool_of_all_projects(
    make_world: Callable[..., World], type_name: str, properties: dict[str, Any], late: bool, project: str
) -> None:
    world = make_world(settings=_POOL, quotas={"addresses": 1})
    owner, pool = Owner(project, "env"), fixed_id("network", "", "ext-net")
    resources: dict[str, Any] = {f"r{n}": {"type": type_name, "properties": properties} for n in range(8)}
    if late:  # the name comes out of an attribute, so it is not known before something is made
        text = json.dumps(resources).replace('"ext-net"', '{"get_attr": ["name", "value"]}')
        resources = {**json.loads(text), "name": {"type": "OS::Heat::Value", "properties": {"value": "ext-net"}}}
    with pytest.raises(CloudError, match=r"'ext-net' belongs to all projects, for floating addresses only"):
        world.push(hot(resources), owner=owner)
    things = Inventory(world.cloud._database, "", None)
    assert not things.all("port", parent=pool) and len(things.all("subnet", parent=pool)) == 1
    address = {"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": "ext-net"}}
    for number in range(5):  # all of them are left for others
        world.push(hot({"a": address}), owner=Owner(f"other-{number}", "env"), name=f"a{number}")
    (made,) = [net for net in world.cloud._services.networks.values() if net.external]
    assert [str(net.cidr) for net in made.subnets] == ["198.18.4.0/29"] and made.router is None


@pytest.mark.attack("networks", "H2")
def test_what_tenants_added_to_the_pool_in_earlier_versions_is_none_of_it(make_world: Callable[..., World]) -> None:
    world = make_world(settings=_POOL)
    things, pool = Inventory(world.cloud._database, "", "project"), fixed_id("network", "", "ext-net")
    added = {"id": "s1", "name": "s1", "cidr": "10.0.0.0/8", "network_id": pool, "tenant_id": "project"}
    things.save("subnet", added, parent=pool)
    port = {"id": "p1", "name": "", "device_owner": "network:router_interface", "device_id": "r1"}
    things.save("port", {**port, "fixed_ips": []}, parent=pool)
    spec = network_spec(things, things.get("network", "ext-net"))
    assert [str(net.cidr) for net in spec.subnets] == ["198.18.4.0/29"] and spec.router is None
