"""Every resource type: made, its attributes, changed, removed without a trace."""

from __future__ import annotations

import base64
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
import yaml

from tests.clouds.stacks.resources import CASES, NET, VM, VOLUME, attr, ref, server, user_data
from tests.clouds.stacks.world import OWNER, World, hot
from vetro.clouds.interface import StackFailed, TemplateInvalid
from vetro.clouds.stacks.settings import StackSettings
from vetro.clouds.stacks.types.registry import TYPES


def test_every_type_has_a_case() -> None:
    assert set(CASES) == set(TYPES)


@pytest.mark.parametrize("name", CASES)
def test_type_is_made_shown_kept_and_removed(world: World, name: str) -> None:
    resources, expected = CASES[name]
    before = world.count("records")
    outputs = {str(place): value for place, (value, _) in enumerate(expected)}
    got = world.outputs(resources, outputs)
    for place, (value, wanted) in enumerate(expected):
        found = got[str(place)]
        assert (isinstance(found, str) and found) if wanted is str else found == wanted, value
    ids = world.ids()
    world.reopen()
    # The same template with another output changes no resource.
    assert world.outputs(resources, {**outputs, "more": 1})["more"] == 1
    assert world.ids() == ids
    assert set(world.states().values()) == {"CREATE_COMPLETE"}
    world.cloud.delete_stack(OWNER, "", "stack")
    default_group = world.cloud._database.run("DELETE FROM records WHERE kind = 'security_group' AND name = 'default'")
    assert world.count("records") == before, default_group
    assert world.count("addresses") == world.count("queues") == world.count("resources") == world.count("stacks") == 0
    assert not world.cloud.servers(OWNER)


#: resources, the error's text
REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"x": {"type": "OS::Nova::Sever"}},
        "no resource type 'OS::Nova::Sever', did you mean 'OS::Nova::Server'.* Known are AWS",
    ),
    ({"x": {"type": "Old::Thing"}}, "no resource type 'Old::Thing'; known are AWS::EC2::SecurityGroup"),
    ({"x": server(flavour="m")}, "no property 'flavour', did you mean 'flavor'"),
    (
        {"x": {"type": "OS::Nova::Server", "properties": {"image": "debian-12-murano"}}},
        "'flavor' of OS::Nova::Server is required",
    ),
    ({"x": server(flavor="m9.huge")}, "no flavor 'm9.huge'; known are m1.large"),
    ({"x": server(image="debian-12-murana")}, "did you mean 'debian-12-murano'"),
    ({"x": server(key_name="nobody")}, "no key pair 'nobody'"),
    ({"x": server(availability_zone="mars")}, "no availability zone 'mars'; there are nova"),
    ({"x": server(networks=[{"fixed_ip": "1.2.3.4"}])}, r"networks\[0\] needs a port"),
    ({"x": server(networks=[{"prot": "x"}])}, "unknown key 'prot', did you mean 'port'"),
    ({"x": server(metadata=[1])}, "metadata must be a map"),
    ({"x": server(user_data_format="XML")}, "must be one of HEAT_CFNTOOLS, RAW, SOFTWARE_CONFIG"),
    (
        {"x": {"type": "OS::Nova::Server", "properties": {"flavor": "m1.tiny"}}},
        "needs an image or block_device_mapping_v2",
    ),
    (
        {"x": {"type": "OS::Neutron::Subnet", "properties": {"cidr": "10.0.0.0/24"}}},
        "'network' of OS::Neutron::Subnet is req",
    ),
    (
        {**NET, "sub": {"type": "OS::Neutron::Subnet", "properties": {"network": ref("net"), "cidr": "10.0.0.0/99"}}},
        "cidr",
    ),
    ({**NET, "sub": {"type": "OS::Neutron::Subnet", "properties": {"network": ref("net")}}}, "'cidr' .* is required"),
    ({"x": {"type": "OS::Neutron::Port"}}, "'network' of OS::Neutron::Port is required"),
    ({"x": {"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": "private"}}}, "is not external"),
    ({"x": {"type": "OS::Cinder::Volume"}}, "'size' .* is required"),
    ({"x": {"type": "OS::Cinder::Volume", "properties": {"size": "big"}}}, "size must be a whole number"),
    ({"x": {"type": "OS::Cinder::Volume", "properties": {"size": 0}}}, "size: 0 is no size of a volume"),
    ({"x": {"type": "OS::Heat::RandomString", "properties": {"length": 100_000}}}, "length must be from 1 to 512"),
    (
        {"x": {"type": "OS::Heat::ResourceGroup", "properties": {"resource_def": {"type": "Foo::Bar"}}}},
        "no resource type 'Foo",
    ),
    (
        {
            "x": {
                "type": "OS::Heat::ResourceGroup",
                "properties": {"count": 10**9, "resource_def": {"type": "OS::Heat::None"}},
            }
        },
        "count",
    ),
    ({"x": {"type": "OS::Nova::ServerGroup", "properties": {"policies": ["any"]}}}, "'any' is no policy"),
]


@pytest.mark.parametrize(("resources", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_refused_before_anything_is_done(world: World, resources: dict[str, Any], text: str) -> None:
    before = world.count("records")
    good = {"first": {"type": "OS::Neutron::Net"}, **resources}
    with pytest.raises(TemplateInvalid, match=text) as caught:
        world.push(hot(good))
    assert "resources." in str(caught.value)
    assert world.count("records") == before and world.count("stacks") == 0


def test_unknown_types_are_inert_where_settings_say_so(make_world: Callable[..., World]) -> None:
    world = make_world(settings=StackSettings(inert_types=True))
    got = world.outputs({"x": {"type": "Old::Thing", "properties": {"a": 1}}}, {"id": ref("x"), "a": attr("x", "any")})
    assert got["id"] and got["a"] is None


def test_what_a_stack_was_made_of_may_be_gone_from_the_catalog(make_world: Callable[..., World]) -> None:
    """The machine has another image by now: the server runs on, and everything else of the stack can be changed."""
    first = make_world(settings=StackSettings(images=[{"name": "special"}]))
    first.push(hot({"vm": server(image="special")}))
    first.cloud.close()
    with closing(sqlite3.connect(first.cloud.directory / "cloud.db")) as database, database:
        assert database.execute("DELETE FROM records WHERE kind = 'image' AND name = 'special'").rowcount == 1
    world = make_world()
    world.push(hot({"vm": server(image="special"), "net": {"type": "OS::Neutron::Net"}}))
    assert [one.status for one in world.cloud.servers(OWNER)] == ["ACTIVE"]
    with pytest.raises(TemplateInvalid, match="there is no image 'special'"):
        world.push(hot({"vm": server(image="special"), "other": server(image="special")}))


@pytest.mark.parametrize(
    ("queue", "accepted"),
    [("eenv1-hABC", True), ("eenv2-habc", False), ("eenv1-h", False), ("xeenv1-h1", False)],
)
def test_server_gets_the_queue_of_its_own_environment_only(world: World, queue: str, accepted: bool) -> None:
    world.push(hot({**user_data(queue), "vm": server(user_data=ref("mime"), user_data_format="RAW")}))
    spec = world.driver.spec(world.ids()["vm"])
    assert spec["queue"] == (queue if accepted else None)
    assert "#cloud-config" in base64.b64decode(spec["user_data"].split("\n\n")[2].split("--")[0]).decode()


def test_two_servers_cannot_have_one_queue(world: World) -> None:
    world.push(hot({**user_data("eenv1-h1"), "vm": server(user_data=ref("mime"), user_data_format="RAW")}))
    text = "input_queue=eenv1-h1"
    with pytest.raises(StackFailed, match="queue eenv1-h1 belongs to the server"):
        world.push(hot({"other": server(user_data=text, user_data_format="RAW")}), name="second")


def test_a_renamed_server_takes_the_queue_over(world: World) -> None:
    parts = user_data("eenv1-h1")
    world.push(hot({**parts, "old": server(name="old", user_data=ref("mime"), user_data_format="RAW")}))
    world.push(hot({**parts, "new": server(name="new", user_data=ref("mime"), user_data_format="RAW")}))
    (left,) = world.cloud.servers(OWNER)
    assert left.name == "new" and world.driver.spec(left.id)["queue"] == "eenv1-h1"


def test_deployment_gets_its_inputs_and_a_failing_one_fails_the_stack(make_world: Callable[..., World]) -> None:
    table = {"configs": [{"config": "*false*", "exitCode": 3, "stderr": "a\nbad thing"}]}
    world = make_world(table=table)
    resources = CASES["OS::Heat::SoftwareDeployment"][0]
    world.push(hot(resources))
    (applied,) = world.driver.configs()
    assert applied["config"] == "echo $a"
    assert {"a": "d", "b": "[1]", "deploy_action": "CREATE"}.items() <= applied["inputs"].items()
    changed = {
        **resources,
        "config": {"type": "OS::Heat::SoftwareConfig", "properties": {"group": "script", "config": "false"}},
    }
    with pytest.raises(StackFailed, match=r"UPDATE_FAILED.*resources.deploy: .* status code 3: bad thing"):
        world.push(hot(changed))
    world.push(hot(resources))
    assert len(world.driver.configs()) == 3


def test_structured_deployment_fills_its_inputs_in(world: World) -> None:
    world.push(hot(CASES["OS::Heat::StructuredDeployment"][0]))
    (applied,) = world.driver.configs()
    config = json.loads(applied["config"])
    assert config["a"] == {"y": 1} and config["signal"] == world.ids()["deploy"]


def test_wait_condition_fails_with_the_signalled_reason_and_in_time(make_world: Callable[..., World]) -> None:
    world = make_world(table={"signals": [{"handle": "*", "never": True}]})
    resources = json.loads(json.dumps(CASES["OS::Heat::WaitCondition"][0]))
    resources["wait"]["properties"]["timeout"] = 0.1
    with pytest.raises(StackFailed, match=r"timed out after 0\.1 seconds with 0 of 3 signals"):
        world.push(hot(resources))


def test_a_test_resource_fails_changes_and_is_replaced_as_it_is_told(world: World) -> None:
    def test(**properties: Any) -> dict[str, Any]:
        return {"test": {"type": "OS::Heat::TestResource", "properties": properties}}

    with pytest.raises(StackFailed, match=r"resources.test: the test resource 'test' fails"):
        world.push(hot(test(fail=True)))
    got = [world.outputs(test(value=value), {"o": attr("test", "output")})["o"] for value in ("a", "b")]
    assert got == ["a", "b"]
    kept = world.ids()
    with pytest.raises(StackFailed, match=r"UPDATE_FAILED.*the test resource"):
        world.push(hot(test(value="b", fail=True)))
    world.push(hot(test(value="c", update_replace=True)))
    assert world.ids() != kept


def test_a_test_resource_takes_its_time_beside_real_servers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.driver, "executes", True)
    began = time.monotonic()
    world.push(hot({"test": {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 0.3}}}))
    assert time.monotonic() - began >= 0.3


def test_addresses_are_given_back_and_fixed_ones_are_kept(world: World) -> None:
    def port(**more: Any) -> dict[str, Any]:
        return {
            "type": "OS::Neutron::Port",
            "properties": {"network": ref("net"), "fixed_ips": [{**more, "subnet": ref("sub")}]},
        }

    small = {
        **NET,
        "sub": {"type": "OS::Neutron::Subnet", "properties": {"network": ref("net"), "cidr": "10.1.2.0/29"}},
    }
    ports = {f"p{n}": port() for n in range(4)}
    got = world.outputs({**small, **ports, "fixed": port(ip_address="10.1.2.6")}, {"f": attr("fixed", "fixed_ips", 0)})
    assert got["f"]["ip_address"] == "10.1.2.6"
    with pytest.raises(StackFailed, match=r"the subnet .* \(10.1.2.0/29\) has no free address"):
        world.push(hot({**small, **ports, "fixed": port(ip_address="10.1.2.6"), "one": port()}))
    del ports["p2"]
    world.push(hot({**small, **ports, "fixed": port(ip_address="10.1.2.6")}))
    got = world.outputs(
        {**small, **ports, "fixed": port(ip_address="10.1.2.6"), "one": port()}, {"o": attr("one", "fixed_ips", 0)}
    )
    assert got["o"]["ip_address"] == "10.1.2.4"


def test_what_the_driver_gets_of_a_server(world: World) -> None:
    resources = {
        **VM,
        **VOLUME,
        "group": {"type": "OS::Neutron::SecurityGroup", "properties": {"rules": [{"protocol": "icmp"}]}},
        "ri": {
            "type": "OS::Neutron::RouterInterface",
            "properties": {"router_id": "murano-default-router", "subnet": ref("sub")},
        },
        "fip": CASES["OS::Neutron::FloatingIP"][0]["fip"],
    }
    resources["port"] = {
        "type": "OS::Neutron::Port",
        "properties": {
            "network_id": ref("net"),
            "security_groups": [ref("group")],
            "allowed_address_pairs": [{"ip_address": "10.1.2.77/32"}],
        },
    }
    resources["vm"] = server(
        name="Web 1",
        key_name="default",
        metadata={"a": 1},
        networks=[{"port": ref("port")}],
        block_device_mapping_v2=[
            {"device_name": "vdb", "volume_id": ref("vol"), "device_type": "disk", "boot_index": -1}
        ],
    )
    world.push(hot(resources))
    spec, ids = world.driver.spec(world.ids()["vm"]), world.ids()
    assert (spec["name"], spec["hostname"], spec["metadata"]) == ("Web 1", "web-1", {"a": "1"})
    assert spec["image"]["name"] == "debian-12-murano" and spec["flavor"]["ram"] == 2048
    assert spec["key"][0] == "default" and spec["key"][1].startswith("ssh-ed25519 ")
    (nic,) = spec["nics"]
    assert (nic["ip"], nic["prefix"], nic["gateway"]) == ("10.1.2.2", 24, "10.1.2.1")
    assert (nic["groups"], nic["allowed"], nic["floating"]) == ([ids["group"]], ["10.1.2.77/32"], ["172.24.4.2"])
    assert spec["volumes"][0]["device"] == "vdb" and spec["volumes"][0]["size_gib"] == 3
    network = world.driver.things("network")[ids["net"]]
    assert network["router"] and network["uplink"] and network["subnets"][0]["cidr"] == "10.1.2.0/24"
    rules = world.driver.things("group")[ids["group"]]["rules"]
    assert [(rule["direction"], rule["protocol"]) for rule in rules] == [
        ("egress", None),
        ("egress", None),
        ("ingress", 1),
    ]


def test_cloud_config_is_the_same_text_each_time(world: World) -> None:
    data = {"users": ["default", {"name": "ü"}], "long": "x " * 200, "multi": "a\nb\n"}
    got = world.outputs(
        {"c": {"type": "OS::Heat::CloudConfig", "properties": {"cloud_config": data}}}, {"c": attr("c", "config")}
    )
    assert yaml.safe_load(got["c"]) == data
