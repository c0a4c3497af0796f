"""The cloud around the stacks: what a new one holds, owners, digests, regions, networks, restarts, other processes."""

from __future__ import annotations

import ipaddress
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.stacks.resources import NET, VM, attr, ref, server
from tests.clouds.stacks.world import EMPTY, OWNER, World, hot
from vetro.clouds.drivers.base import ServerDriver
from vetro.clouds.interface import (
    Cloud,
    NotFound,
    Owner,
    StackChange,
    StackFailed,
    StaleStack,
    Taken,
    TemplateInvalid,
)
from vetro.clouds.overview import overview
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.stacks.cloud import StackCloud
from vetro.clouds.stacks.network_queries import QueryInvalid
from vetro.clouds.stacks.settings import SettingInvalid, StackSettings
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.file import StateUnusable
from vetro.library.stackdata import changed_digest, difference, digest_of, parts_of

OTHER = Owner("project", "env2")
STRANGER = Owner("elsewhere", "Env1")
RANDOM = {"type": "OS::Heat::RandomString"}


def names(world: World, what: Any, region: str = "") -> list[str]:
    return [record["name"] for record in world.cloud.catalog(OWNER, region, what)]


def test_what_a_new_cloud_holds(world: World) -> None:
    assert isinstance(world.cloud, Cloud) and isinstance(world.driver, ServerDriver)
    assert names(world, "flavors") == ["m1.tiny", "m1.small", "m1.medium", "m1.large", "m1.xlarge"]
    assert names(world, "keypairs") == ["default"] and names(world, "zones") == ["nova"]
    assert names(world, "networks") == ["ext-net", "private"]
    assert [net["router:external"] for net in world.cloud.catalog(OWNER, "", "networks")] == [True, False]
    infos = {
        image["name"]: json.loads(image["murano_image_info"])["type"]
        for image in world.cloud.catalog(OWNER, "", "images")
    }
    assert infos["debian-12-murano"] == "linux" and set(infos.values()) == {
        "linux",
        "windows",
        "linux.docker",
        "linux.kubernetes",
    }
    assert world.cloud.catalog(OWNER, "", "volumes") == world.cloud.catalog(OWNER, "", "security_groups") == []
    assert world.cloud.metadef(OWNER, "", "namespaces", {"resource_type": "x"}) == []
    key = world.folder / "keys" / "default"
    assert key.stat().st_mode & 0o777 == 0o600 and "OPENSSH PRIVATE KEY" in key.read_text()
    assert all("private_key" not in record for record in world.cloud.catalog(OWNER, "", "keypairs"))


def test_opening_again_makes_nothing_twice_and_new_settings_add(make_world: Callable[..., World]) -> None:
    world = make_world()
    before = world.count("records")
    world.reopen()
    assert world.count("records") == before
    world.settings = StackSettings(
        regions=("two",), images=({"name": "mine", "min_ram": 9999},), flavors=({"name": "xs", "ram": 64},)
    )
    world.reopen()
    assert (
        "mine" in names(world, "images") and "xs" in names(world, "flavors") and "nova" in names(world, "zones", "two")
    )


def test_settings_and_state_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="no setting 'regoins'"):
        StackSettings.from_json({"regoins": []})
    assert StackSettings.from_json({"regions": ["two"]}).regions == ["two"]
    (tmp_path / "cloud.db").write_text("this is no database, it is a text that somebody put here")
    with pytest.raises(StateUnusable, match=r"cloud\.db cannot be used"):
        StackCloud(tmp_path, RecordDriver(tmp_path / "record"))


# -- digests --


@pytest.mark.attack("data", "M4")
def test_what_the_cloud_knows_is_on_the_disk_before_it_goes_on(tmp_path: Path) -> None:
    """As with the journal: a power cut takes neither a server that a task was told of, nor that it is gone."""
    database = Database(tmp_path / "cloud.db")
    try:
        assert database._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    finally:
        database.close()


def test_push_by_difference(world: World) -> None:
    one, two = parts_of(hot({"a": RANDOM})), parts_of(hot({"a": RANDOM, "b": RANDOM}))
    put, drop = difference({}, one)
    world.cloud.push_stack(OWNER, "", "stack", StackChange(digest_of(one), None, put, drop))
    put, drop = difference(one, two)
    assert put == [["resources", "b", RANDOM]]
    change = StackChange(digest_of(two), digest_of(one), put, drop)
    state = world.cloud.push_stack(OWNER, "", "stack", change)
    assert state.digest == digest_of(two)
    ids = world.ids()
    # The same again, from whatever base, is a no-op.
    again = world.cloud.push_stack(OWNER, "", "stack", change)
    assert (again.updated, world.ids()) == (state.updated, ids)
    read = world.cloud.read_stack(OWNER, "", "stack")
    assert read is not None and read.template == hot({"a": RANDOM, "b": RANDOM}) and read.digest == digest_of(two)
    # Back to one, as a whole.
    put, _ = difference({}, one)
    world.cloud.push_stack(OWNER, "", "stack", StackChange(digest_of(one), None, put))
    assert set(world.states()) == {"a"}


def test_a_change_of_another_state_is_stale_and_does_nothing(world: World) -> None:
    one, two = parts_of(hot({"a": RANDOM})), parts_of(hot({"b": RANDOM}))
    put, drop = difference(one, two)
    change = StackChange(digest_of(two), digest_of(one), put, drop)
    with pytest.raises(StaleStack):
        world.cloud.push_stack(OWNER, "", "stack", change)
    assert world.cloud.read_stack(OWNER, "", "stack") is None
    world.push(hot({"c": RANDOM}))
    with pytest.raises(StaleStack):
        world.cloud.push_stack(OWNER, "", "stack", change)
    assert set(world.states()) == {"c"}
    # From nothing is a base, too.
    put, drop = difference({}, two)
    world.cloud.push_stack(OWNER, "", "new", StackChange(digest_of(two), EMPTY, put, drop))


def test_a_wrong_digest_is_refused(world: World) -> None:
    parts = parts_of(hot({"a": RANDOM}))
    put, _ = difference({}, parts)
    with pytest.raises(TemplateInvalid, match="the digest of the change of stack 'stack' is not that of its content"):
        world.cloud.push_stack(OWNER, "", "stack", StackChange("1" * 64, None, put))
    world.push(hot({"a": RANDOM}))
    new = changed_digest(digest_of(parts), [], [(("resources", "b"), RANDOM)])
    with pytest.raises(TemplateInvalid, match="digest"):
        world.cloud.push_stack(OWNER, "", "stack", StackChange(new, digest_of(parts), [["resources", "c", RANDOM]]))
    assert world.push(hot({"a": RANDOM, "d": RANDOM})).status == "UPDATE_COMPLETE"


# -- owners and regions --


def test_what_belongs_to_another_environment_is_not_there(world: World) -> None:
    world.push(hot(VM))
    with pytest.raises(Taken, match="another environment"):
        world.push(hot({}), owner=OTHER, whole=True)
    assert world.cloud.read_stack(OTHER, "", "stack") is None
    assert list(world.cloud.stacks(OTHER)) == list(world.cloud.servers(OTHER)) == []
    world.cloud.delete_stack(OTHER, "", "stack")
    (mine,) = world.cloud.servers(OWNER)
    assert "recorded" in world.cloud.console(OWNER, mine.id)
    for owner in (OTHER, STRANGER):
        with pytest.raises(NotFound):
            world.cloud.console(owner, mine.id)
    with pytest.raises(NotFound):
        world.cloud.console(OWNER, "web")


def test_projects_have_names_of_their_own_and_cannot_use_what_others_have(world: World) -> None:
    world.push(hot(VM))
    ids = world.ids()
    world.push(hot({"r": RANDOM}), owner=STRANGER, whole=True)
    for properties in (
        {"network": ids["net"], "fixed_ips": [{"ip_address": "10.1.2.9"}]},
        {"network": "private", "security_groups": [ids["net"]]},
    ):
        resources = {"p": {"type": "OS::Neutron::Port", "properties": properties}}
        with pytest.raises((TemplateInvalid, StackFailed), match="there is no"):
            world.push(hot(resources), owner=STRANGER, name="second", whole=True)
    assert ids["net"] not in [net["id"] for net in world.cloud.catalog(STRANGER, "", "networks")]
    steal = {
        "f": {"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": "ext-net", "port_id": ids["port"]}}
    }
    with pytest.raises(StackFailed, match="there is no port"):
        world.push(hot(steal), owner=STRANGER, name="third", whole=True)


def test_regions_are_apart(make_world: Callable[..., World]) -> None:
    world = make_world(settings=StackSettings(regions=("two",)))
    world.push(hot(VM), region="two", name="there")
    assert [item.region for item in world.cloud.servers(OWNER)] == ["two"]
    assert world.cloud.read_stack(OWNER, "", "there") is None
    assert world.cloud.regions() == ("two",)
    shown = overview(world.folder)  # which knows no settings
    assert [server["name"] for server in shown.servers] == [item.name for item in world.cloud.servers(OWNER)]
    for call in (
        lambda: world.push(hot({}), region="three", name="x"),
        lambda: world.cloud.catalog(OWNER, "three", "images"),
        lambda: world.cloud.network(OWNER, "three", "router", {}),
        lambda: world.cloud.read_stack(OWNER, "three", "x"),
    ):
        with pytest.raises(NotFound, match="no region 'three'; there are two"):
            call()


def test_the_home_region_may_have_a_name(make_world: Callable[..., World]) -> None:
    world = make_world(settings=StackSettings(home_region="RegionOne", regions=("two",)))
    world.push(hot(VM), region="RegionOne", name="here")
    assert [item.region for item in world.cloud.servers(OWNER)] == [""]
    assert world.cloud.read_stack(OWNER, "", "here") == world.cloud.read_stack(OWNER, "RegionOne", "here") is not None
    assert world.cloud.catalog(OWNER, "RegionOne", "images") == world.cloud.catalog(OWNER, "", "images")
    assert world.cloud.network(OWNER, "RegionOne", "router", {}) == world.cloud.network(OWNER, "", "router", {})
    with pytest.raises(NotFound, match="there are RegionOne, two"):
        world.cloud.delete_stack(OWNER, "three", "here")
    world.cloud.delete_stack(OWNER, "RegionOne", "here")
    assert world.cloud.read_stack(OWNER, "", "here") is None


# -- the network service --


def test_router_and_external_networks(world: World) -> None:
    ask = lambda query, **args: world.cloud.network(OWNER, "", query, args)  # noqa: E731
    router = ask("router")
    networks = {net["name"]: net for net in ask("networks")}
    assert ask("external_of_router", router=router) == networks["ext-net"]["id"]
    assert ask("external_of_network", network=networks["private"]["id"]) == networks["ext-net"]["id"]
    assert ask("external_of_network", network="nobody") is None
    assert {subnet["network_id"] for subnet in ask("subnets")} == {net["id"] for net in networks.values()}
    assert {"network_id", "device_id", "device_owner", "fixed_ips"} <= ask("ports")[0].keys()
    assert "security-group" in [extension["alias"] for extension in ask("extensions")]
    assert ask("dns", version=4) == ask("dns", version=6) == []
    with pytest.raises(QueryInvalid, match="no query 'rooter'"):
        ask("rooter")
    with pytest.raises(QueryInvalid, match="needs 'router'"):
        ask("cidr", network="n")


def test_a_missing_router_is_made_once_under_its_name(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.cloud._database.run("DELETE FROM records WHERE kind = 'router'")
    one = world.cloud.network(OWNER, "", "router", {})
    assert one == world.cloud.network(OWNER, "", "router", {})
    world.cloud._database.run("DELETE FROM records WHERE kind = 'router'")
    world.settings = StackSettings(create_router=False)
    world.cloud.close()
    world.open()
    world.cloud._database.run("DELETE FROM records WHERE kind = 'router'")
    with pytest.raises(NotFound, match="no router 'murano-default-router'"):
        world.cloud.network(OWNER, "", "router", {})


def test_address_plan_gives_every_network_its_block_until_all_are_taken(make_world: Callable[..., World]) -> None:
    world = make_world(settings=StackSettings(max_networks=8))
    router = world.cloud.network(OWNER, "", "router", {})
    blocks = [
        world.cloud.network(OWNER, "", "cidr", {"router": router, "network": f"n{number}", "version": 4})
        for number in range(9)
    ]
    assert blocks[8] is None and len(set(blocks[:8])) == 8
    for block in blocks[:8]:
        net = ipaddress.ip_network(block)
        assert net.prefixlen == 24 and net.subnet_of(ipaddress.ip_network("10.0.0.0/16"))
    again = world.cloud.network(OWNER, "", "cidr", {"router": router, "network": "n3", "version": 4})
    assert again == blocks[3]
    six = world.cloud.network(OWNER, "", "cidr", {"router": router, "network": "n3", "version": 6})
    assert ipaddress.ip_network(six).prefixlen == 64


def test_address_plan_avoids_the_subnets_on_the_router(make_world: Callable[..., World]) -> None:
    world = make_world(settings=StackSettings(max_networks=2))
    router = world.cloud.network(OWNER, "", "router", {})
    resources = {
        "net": {"type": "OS::Neutron::Net"},
        "sub": {"type": "OS::Neutron::Subnet", "properties": {"network": ref("net"), "cidr": "10.0.0.0/24"}},
        "ri": {"type": "OS::Neutron::RouterInterface", "properties": {"router": router, "subnet": ref("sub")}},
    }
    world.push(hot(resources))
    for network in ("a", "b"):
        world.cloud._database.run("DELETE FROM plans")
        answer = world.cloud.network(OWNER, "", "cidr", {"router": router, "network": network})
        assert answer == "10.0.1.0/24"
    with pytest.raises(StackFailed, match="overlaps"):
        world.push(hot(resources), name="second")


def test_what_the_cloud_does_not_know_is_swept(world: World) -> None:
    world.push(hot(VM))
    world.cloud._database.run("DELETE FROM records WHERE kind = 'server'")
    assert world.cloud.sweep() == ["server web"]
    assert world.cloud.sweep() == []


# -- cost --


def test_the_cost_of_a_push_follows_the_change_and_not_the_stack(make_world: Callable[..., World]) -> None:
    """Counted in statements and evaluations, not in seconds."""
    world = make_world(settings=StackSettings(max_hosts=1000))
    base = parts_of(
        hot(
            {
                **NET,
                "sub": {"type": "OS::Neutron::Subnet", "properties": {"network": ref("net"), "cidr": "10.1.0.0/20"}},
            }
        )
    )
    put, _ = difference({}, base)
    digest = digest_of(base)
    world.cloud.push_stack(OWNER, "", "stack", StackChange(digest, None, put))
    statements: list[str] = []
    world.cloud._database._connection.set_trace_callback(statements.append)
    counts, reads = [], []
    for number in range(120):
        new = {
            ("resources", f"port{number}"): {
                "type": "OS::Neutron::Port",
                "properties": {"network": ref("net"), "fixed_ips": [{"subnet": ref("sub")}]},
            },
            ("resources", f"vm{number}"): server(name=f"vm{number}", networks=[{"port": ref(f"port{number}")}]),
            ("outputs", f"a{number}"): {"value": attr(f"vm{number}", "addresses", "inner")},
        }
        after = changed_digest(digest, [], new.items())
        statements.clear()
        change = StackChange(after, digest, [[*part, value] for part, value in new.items()])
        state = world.cloud.push_stack(OWNER, "", "stack", change)
        digest = after
        counts.append(len(statements))
        reads.append(sum(map(len, statements)))
    world.cloud._database._connection.set_trace_callback(None)
    assert len(state.outputs) == 120 and state.outputs["a119"][0]["addr"] == "10.1.0.121"
    # Some do a little more: what is due after some time, whoever comes. On a busy machine these are many.
    late = statistics.median(counts[60:])
    assert late <= counts[1] < 80
    assert statistics.median(reads[60:]) < reads[1] * 1.1


def test_images_are_marked_for_everybody_and_for_good(world: World) -> None:
    def marks() -> dict[str, Any]:
        listed = world.cloud.catalog(Owner("another", "Env"), "", "images")
        return {row["name"]: row.get("murano_image_info") for row in listed}

    before = marks()
    (image,) = [row for row in world.cloud.catalog(OWNER, "", "images") if row["name"] == "debian-12-murano"]
    marked = world.cloud.mark_image(OWNER, "", image["id"], {"title": "Ünser", "type": "linux.x"})
    assert marked["properties"]["murano_image_info"] == '{"title": "Ünser", "type": "linux.x"}'
    assert marked["properties"]["os_distro"] == "debian"
    world.settings = StackSettings(regions=("two",))  # seeds anew
    world.reopen()
    assert marks() == {**before, "debian-12-murano": marked["murano_image_info"]}
    gone = world.cloud.mark_image(OWNER, "", image["id"], None)
    assert "murano_image_info" not in {**gone, **gone["properties"]} and marks()["debian-12-murano"] is None
    for wrong in ("debian-12-murano", "nowhere"):
        with pytest.raises(NotFound, match=f"'{wrong}'"):
            world.cloud.mark_image(OWNER, "", wrong, None)
    with pytest.raises(NotFound, match="no region 'mars'"):
        world.cloud.mark_image(OWNER, "mars", image["id"], None)


def test_templates_name_images_that_came_to_this_machine(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VETRO_IMAGES", str(tmp_path / "images"))
    for name in ("mine", "debian-12"):
        version = tmp_path / "images" / name / "v1"
        version.mkdir(parents=True)
        (version / "manifest.json").write_text(json.dumps({"info": {"title": "Mine", "type": "linux"}}))
        (version.parent / "current").symlink_to("v1")
    world.settings = StackSettings(regions=("two",))
    world.reopen()
    assert "mine" in names(world, "images") and "mine" in names(world, "images", "two")
    assert "debian-12" not in names(world, "images")  # known as debian-12-murano
    world.push(hot({"vm": server(image="mine")}))
    assert world.cloud.servers(OWNER)[0].image == "mine"
    (tmp_path / "images" / "mine" / "current").unlink()
    world.reopen()
    assert "mine" not in names(world, "images") and "debian-12-murano" in names(world, "images")
