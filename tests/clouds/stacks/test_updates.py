"""Updates: what is kept, changed in place, replaced and removed, in which order, and what failures leave."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.clouds.stacks.resources import CASES, NET, PORT, VM, VOLUME, attr, ref, server
from tests.clouds.stacks.world import OWNER, World, hot
from vetro.clouds.interface import StackFailed, TemplateInvalid

RANDOM = {"type": "OS::Heat::RandomString", "properties": {"length": 8}}


def changed(resources: dict[str, Any], name: str, /, **properties: Any) -> dict[str, Any]:
    made = copy.deepcopy(resources)
    made[name].setdefault("properties", {}).update(properties)
    return made


GROUP = CASES["OS::Neutron::SecurityGroup"][0]
JOINED = {**CASES["OS::Neutron::FloatingIP"][0]}
#: resources, the resource that changes, its new properties, whether it is replaced
CHANGES: list[tuple[dict[str, Any], str, dict[str, Any], bool]] = [
    (VM, "vm", {"name": "other"}, False),
    (VM, "vm", {"metadata": {"a": "b"}}, False),
    (VM, "vm", {"flavor": "m1.large"}, False),
    (VM, "vm", {"flavor": "m1.large", "flavor_update_policy": "REPLACE"}, True),
    (VM, "vm", {"image": "windows-server-murano"}, True),
    (VM, "vm", {"user_data": "#!/bin/sh"}, True),
    (VM, "vm", {"user_data": "#!/bin/sh", "user_data_update_policy": "IGNORE"}, False),
    (VM, "vm", {"key_name": "default"}, True),
    (VM, "vm", {"networks": [{"network": ref("net")}]}, False),
    ({"vm": server()}, "vm", {"security_groups": ["default"]}, False),
    (NET, "net", {"name": "other"}, False),
    (NET, "sub", {"dns_nameservers": ["1.1.1.1"]}, False),
    (NET, "sub", {"cidr": "10.9.0.0/24"}, True),
    (PORT, "port", {"allowed_address_pairs": [{"ip_address": "10.1.2.99"}]}, False),
    (PORT, "port", {"fixed_ips": [{"ip_address": "10.1.2.50"}]}, True),
    (GROUP, "group", {"rules": [{"protocol": "icmp"}]}, False),
    (GROUP, "group", {"description": "other"}, False),
    (JOINED, "fip", {"port_id": None}, False),
    (VOLUME, "vol", {"size": 9}, False),
    (VOLUME, "vol", {"name": "other"}, False),
    (VOLUME, "vol", {"availability_zone": "nova"}, True),
    ({"r": RANDOM}, "r", {"salt": "x"}, True),
    ({"v": {"type": "OS::Heat::Value", "properties": {"value": 1}}}, "v", {"value": 2}, False),
    (CASES["OS::Heat::SoftwareConfig"][0], "config", {"config": "x"}, True),
    (CASES["OS::Heat::ResourceGroup"][0], "group", {"count": 1}, False),
    (CASES["OS::Heat::SoftwareDeployment"][0], "deploy", {"input_values": {"b": 2}}, False),
    (CASES["OS::Neutron::Router"][0], "router", {"external_gateway_info": None}, False),
]


@pytest.mark.parametrize(
    ("resources", "name", "properties", "replaced"), CHANGES, ids=[str(c[1:])[:70] for c in CHANGES]
)
def test_a_change_is_made_in_place_or_replaces(
    world: World, resources: dict[str, Any], name: str, properties: dict[str, Any], replaced: bool
) -> None:
    world.push(hot(resources))
    before = world.ids()
    state = world.push(hot(changed(resources, name, **properties)))
    after = world.ids()
    assert state.status == "UPDATE_COMPLETE"
    assert (before[name] != after[name]) is replaced
    assert {key: after[key] for key in after if key != name and not replaced} == {
        key: before[key] for key in before if key != name and not replaced
    }
    assert set(world.states()) == set(resources)


def test_a_replaced_server_keeps_its_port_and_the_old_one_goes_last(world: World) -> None:
    world.push(hot(VM))
    world.push(hot(changed(VM, "vm", user_data="x")))
    assert [call for call in world.driver.calls() if "server" in call[0]] == [
        ("create server", "web"),
        ("stop server", world.driver.calls()[-3][1]),
        ("create server", "web"),
        ("delete server", "web"),
    ]
    (left,) = world.cloud.servers(OWNER)
    assert left.addresses == ["10.1.2.2"] and left.status == "ACTIVE"


def test_a_replaced_resource_is_passed_on_to_those_that_refer_to_it(world: World) -> None:
    resources = {**NET, "value": {"type": "OS::Heat::Value", "properties": {"value": ref("sub")}}}
    outputs = {"o": {"value": attr("value", "value")}}
    one = world.push(hot(resources, outputs=outputs)).outputs["o"]
    two = world.push(hot(changed(resources, "sub", cidr="10.9.0.0/24"), outputs=outputs)).outputs["o"]
    assert one != two == world.ids()["sub"]


def test_another_type_under_a_name_replaces(world: World) -> None:
    world.push(hot({"x": RANDOM}))
    world.push(hot({"x": {"type": "OS::Heat::Value", "properties": {"value": 1}}}))
    assert world.count("resources") == 1


def test_an_attribute_that_changes_in_place_is_read_again(world: World) -> None:
    def template(name: str) -> dict[str, Any]:
        resources = {
            "net": {"type": "OS::Neutron::Net", "properties": {"name": name}},
            "v": {"type": "OS::Heat::Value", "properties": {"value": attr("net", "name")}},
        }
        return hot(resources, outputs={"o": {"value": attr("v", "value")}})

    assert world.push(template("one")).outputs["o"] == "one"
    assert world.push(template("two")).outputs["o"] == "two"


def test_removed_resources_go_in_reverse_order(world: World) -> None:
    chain: dict[str, Any] = {}
    for number in range(6):
        properties = {"name": f"n{number}"}
        chain[f"n{number}"] = {"type": "OS::Neutron::Net", "properties": properties}
        if number:
            chain[f"n{number}"]["depends_on"] = f"n{number - 1}"
    world.push(hot({**chain, "keep": RANDOM}))
    ids = world.ids()
    world.push(hot({"keep": RANDOM}))
    assert world.states() == {"keep": "CREATE_COMPLETE"}
    world.push(hot({**VM, **VOLUME, "join": CASES["OS::Cinder::VolumeAttachment"][0]["join"], "keep": RANDOM}))
    world.push(hot({"keep": RANDOM}))
    gone = [what for what, _ in world.driver.calls() if what.startswith("delete")]
    assert gone == ["delete server", "delete volume", "delete network"] or gone.index("delete server") < gone.index(
        "delete network"
    )
    assert ids["keep"] == world.ids()["keep"]


def test_retained_resources_stay_when_their_stack_goes(world: World) -> None:
    world.push(hot({"net": {"type": "OS::Neutron::Net", "deletion_policy": "retain", "properties": {"name": "kept"}}}))
    world.cloud.delete_stack(OWNER, "", "stack")
    assert "kept" in [net["name"] for net in world.cloud.catalog(OWNER, "", "networks")]


def test_depends_on_orders_what_has_no_reference(world: World) -> None:
    last = {"type": "OS::Nova::Server", "depends_on": ["one", "two"], "properties": server()["properties"]}
    resources = {"last": last, "two": server(name="two"), "one": {**server(name="one"), "depends_on": "two"}}
    world.push(hot(resources))
    made = [name for what, name in world.driver.calls() if what == "create server"]
    assert made[:2] == ["two", "one"] and len(made) == 3


CYCLES: list[tuple[dict[str, Any], str]] = [
    ({"a": {"type": "OS::Heat::Value", "properties": {"value": ref("a")}}}, "a -> a"),
    (
        {
            "a": {"type": "OS::Heat::Value", "properties": {"value": ref("b")}},
            "b": {"type": "OS::Heat::Value", "depends_on": "c"},
            "c": {"type": "OS::Heat::Value", "properties": {"value": {"list_join": ["", [attr("a", "value")]]}}},
        },
        "-> b -> c -> a|-> a -> b -> c|-> c -> a -> b",
    ),
]


@pytest.mark.parametrize(("resources", "text"), CYCLES)
def test_a_circle_is_refused_by_name(world: World, resources: dict[str, Any], text: str) -> None:
    with pytest.raises(TemplateInvalid, match="circle: .*" + text.replace("|", "|circle: .*") if "|" in text else text):
        world.push(hot(resources))
    assert world.count("stacks") == 0


def test_a_circle_that_an_update_closes_is_refused_and_the_stack_goes_on(world: World) -> None:
    first = {
        "a": {"type": "OS::Heat::Value", "properties": {"value": 1}},
        "b": {"type": "OS::Heat::Value", "properties": {"value": ref("a")}},
    }
    world.push(hot(first))
    with pytest.raises(TemplateInvalid, match="circle"):
        world.push(hot(changed(first, "a", value=ref("b"))))
    state = world.push(hot({**first, "c": RANDOM}), whole=True)
    assert state.status == "UPDATE_COMPLETE"


def test_a_resource_that_others_need_cannot_be_dropped(world: World) -> None:
    world.push(hot(PORT))
    without = {name: body for name, body in PORT.items() if name != "net"}
    with pytest.raises(TemplateInvalid, match="no resource 'net'"):
        world.push(hot(without))
    assert set(world.states()) == {"net", "sub", "port"}


def test_outputs_that_cannot_be_resolved_are_null(world: World) -> None:
    got = world.outputs(
        {"net": NET["net"]},
        {
            "nobody": ref("nobody"),
            "attribute": attr("net", "nothing"),
            "path": attr("net", "name", "deep"),
            "file": {"get_file": "/etc/passwd"},
            "joined": {"list_join": [",", attr("nobody", "x")]},
            "good": attr("net", "name"),
        },
    )
    assert got == {"nobody": None, "attribute": None, "path": None, "file": None, "joined": None, "good": "inner"}


def test_an_output_that_goes_and_one_that_comes(world: World) -> None:
    assert world.outputs({"r": RANDOM}, {"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert world.outputs({"r": RANDOM}, {"b": 2, "c": 3}) == {"b": 2, "c": 3}
    world.reopen()
    state = world.cloud.read_stack(OWNER, "", "stack")
    assert state is not None and state.outputs == {"b": 2, "c": 3}


def test_failure_in_the_middle_leaves_what_was_made_and_the_next_update_goes_on(
    make_world: Callable[..., World],
) -> None:
    world = make_world(table={"servers": [{"server": "web", "times": 1, "failure": "no valid host"}]})
    resources = {**VM, "after": {"type": "OS::Heat::Value", "properties": {"value": ref("vm")}}}
    with pytest.raises(StackFailed) as caught:
        world.push(hot(resources, outputs={"n": {"value": ref("net")}, "v": {"value": ref("vm")}}))
    text = "stack 'stack' is in state CREATE_FAILED: Resource CREATE failed: DriverError: resources.vm: server 'web'"
    assert str(caught.value).startswith(text) and "no valid host" in str(caught.value)
    state = world.cloud.read_stack(OWNER, "", "stack")
    assert state is not None and state.status == "CREATE_FAILED" and "no valid host" in state.reason
    assert state.outputs["n"] and state.outputs["v"] is None
    assert world.states() == dict.fromkeys(PORT, "CREATE_COMPLETE") | {"vm": "CREATE_FAILED"}
    ids = world.ids()
    # The same digest again is no no-op for a failed stack.
    state = world.push(hot(resources, outputs={"n": {"value": ref("net")}, "v": {"value": ref("vm")}}))
    assert state.status == "UPDATE_COMPLETE" and state.outputs["v"]
    assert {name: world.ids()[name] for name in PORT} == {name: ids[name] for name in PORT}
    assert len(world.cloud.servers(OWNER)) == 1


def test_a_failed_update_can_be_taken_back_by_a_new_process(make_world: Callable[..., World]) -> None:
    world = make_world(table={"servers": [{"server": "bad*", "failure": "no"}]})
    world.push(hot(VM))
    with pytest.raises(StackFailed, match="UPDATE_FAILED"):
        world.push(hot({**VM, "bad": server(name="bad1"), "good": server(name="good")}))
    world.reopen()
    state = world.push(hot(VM))
    assert state.status == "UPDATE_COMPLETE"
    assert [item.name for item in world.cloud.servers(OWNER)] == ["web"]
    assert set(world.states()) == set(VM)


def test_a_failed_deletion_leaves_the_stack_and_can_be_repeated(world: World) -> None:
    world.push(hot({"net": NET["net"], "sub": NET["sub"]}))
    other = {"vm": server(networks=[{"network": world.ids()["net"]}])}
    world.push(hot(other), name="second")
    with pytest.raises(
        StackFailed, match=r"DELETE_FAILED: Resource DELETE failed: Conflict: resources.sub: .* is in use"
    ):
        world.cloud.delete_stack(OWNER, "", "stack")
    state = world.cloud.read_stack(OWNER, "", "stack")
    assert state is not None and state.status == "DELETE_FAILED"
    world.cloud.delete_stack(OWNER, "", "second")
    world.cloud.delete_stack(OWNER, "", "stack")
    assert world.cloud.read_stack(OWNER, "", "stack") is None


def test_times_change_with_each_update(world: World) -> None:
    one = world.push(hot({"r": RANDOM}))
    two = world.push(hot({"r": RANDOM}, description="other"))
    assert one.created == two.created and one.updated < two.updated


def test_subnets_come_before_ports_and_servers_on_their_network(world: World) -> None:
    resources = {
        "a_vm": server(networks=[{"network": ref("net")}]),
        "b_port": {"type": "OS::Neutron::Port", "properties": {"network": ref("net")}},
        **NET,
    }
    got = world.outputs(
        resources, {"a": attr("a_vm", "first_address"), "b": attr("b_port", "fixed_ips", 0, "ip_address")}
    )
    assert {got["a"], got["b"]} == {"10.1.2.2", "10.1.2.3"}
    world.cloud.delete_stack(OWNER, "", "stack")
    assert world.cloud.stacks(OWNER) == []


def test_independent_servers_are_made_beside_each_other(make_world: Callable[..., World]) -> None:
    import time

    world = make_world(table={"servers": [{"server": "*", "createDelay": 1.5}]})
    begun = time.monotonic()
    world.push(hot({f"s{n}": server(name=f"s{n}") for n in range(8)}))
    assert time.monotonic() - begun < 8 * 1.5 - 1
    assert len(world.cloud.servers(OWNER)) == 8
