"""Servers: the resources that they become, and what goes with them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.library.deploying import Deployed, resource, server
from tests.library.simulator import Simulator
from tests.library.templates import NETWORK, PORT, group, nova
from vetro.muranopl.errors import Thrown


def test_a_plain_server_on_the_network_of_its_environment() -> None:
    done = Deployed(server("Instance"))
    assert done.resources == {**NETWORK, "REGION": group(), "port-NET-web": PORT, "web": nova()}
    assert done.outputs == {
        "lan-id": {"get_resource": "network-NET"},
        "web-id": {"get_resource": "web"},
        "addresses-web-NET": {"get_attr": ["web", "addresses", "lan-NET"]},
    }
    (found,) = done.parts
    assert (found["openstackId"], found["ipAddresses"], found["floatingIpAddress"]) == (
        "id of web",
        ["10.0.0.10"],
        None,
    )
    network = done.region["defaultNetworks"]["environment"]
    assert done.plain(found["joinedNetworks"]) == [{"network": "NET", "ipList": ["10.0.0.10"]}]
    assert (network["openstackId"], network["externalRouterId"]) == ("id of network-" + network["?"]["id"], "router-1")
    (tracked,) = done.host.performed("track")
    assert (tracked["event"], tracked["instance"], tracked["instance_type"]) == ("murano.track_instance", "srv", 200)


def test_the_template_has_version_and_description() -> None:
    template = Deployed(server("Instance")).cloud.template()
    assert template["heat_template_version"] == "2013-05-23"
    assert template["description"] == "Environment e (env), region "


def test_deploying_again_pushes_nothing() -> None:
    done = Deployed(server(assignFloatingIp=True))
    pushes, before = len(done.cloud.pushes), done.parts
    done.deploy()
    assert (len(done.cloud.pushes), done.parts) == (pushes, before)


@pytest.mark.parametrize(("kind", "port"), [("LinuxInstance", 22), ("WindowsInstance", 3389)])
def test_ports_of_the_operating_system_are_open(kind: str, port: int) -> None:
    assert Deployed(server(kind)).resources["REGION"] == group(port)


def test_a_floating_address_waits_for_the_router() -> None:
    done = Deployed(server("Instance", assignFloatingIp=True))
    assert done.resources["fip-NET-web"] == {
        "type": "OS::Neutron::FloatingIP",
        "properties": {"floating_network": "ext-net-1", "port_id": {"get_resource": "port-NET-web"}},
        "depends_on": "ri-NET",
    }
    assert done.outputs["web-floatingIPaddress"] == {"get_attr": ["fip-NET-web", "floating_ip_address"]}
    (found,) = done.parts
    assert found["floatingIpAddress"] == "192.0.2.11"
    assert found["ipAddresses"] == ["10.0.0.10", "192.0.2.11"]
    rows = {row[2]: row[3] for row in done.model["Attributes"] if row[0] == "srv"}
    assert rows["fipAssigned"] is True
    assert done.plain(rows["instanceResources"]) == ["port-NET-web", "fip-NET-web"]
    assert done.plain(rows["instanceOutputs"]) == ["addresses-web-NET", "web-floatingIPaddress"]


def test_properties_of_servers_reach_the_resource() -> None:
    done = Deployed(
        server("Instance", keyname="key", availabilityZone="z2", securityGroupName="mine", securityGroups=["a", "b"])
    )
    assert done.resources["web"] == nova(key_name="key", availability_zone="z2")
    assert done.resources["port-NET-web"]["properties"]["security_groups"] == ["a", "b"]


def test_a_named_security_group_holds_the_rules() -> None:
    done = Deployed(server("LinuxInstance", securityGroupName="mine", securityGroups=[""]))
    assert done.resources["mine"] == group(22)
    assert done.resources["port-NET-web"]["properties"]["security_groups"] == [{"get_resource": "mine"}]


def test_metadata_of_owners_and_own_one() -> None:
    simulator = Simulator()
    definition = server("Instance")
    definition["?"]["metadata"] = {"own": "1", "both": "mine"}
    done = Deployed(definition, simulator=simulator, deploy=False)
    asked: list[dict[str, Any]] = []

    def metadef(args: dict[str, Any]) -> Any:
        asked.append(args)
        if args["query"] == "namespaces":
            return [{"namespace": "N"}]
        return [{"name": "o", "properties": {"kept": {}}}]

    done.host.inner.register("metadef", metadef)
    done.model["Objects"]["?"]["metadata"] = {"kept": "far", "dropped": "2"}
    done.model["Objects"]["applications"][0]["?"]["metadata"] = {"kept": "near", "both": "theirs"}
    done.deploy()
    assert done.resources["web"]["properties"]["metadata"] == {"kept": "near", "own": "1", "both": "mine"}
    assert [a["query"] for a in asked] == ["namespaces", "objects"]
    assert asked[0] == {"region": None, "query": "namespaces", "resource_type": "OS::Nova::Server"}


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        ({"image": None}, "ResourceNotFound"),
        ({"blockDevices": [{"volume": resource("CinderVolume", "v", size=1)}]}, "ResourceConflict"),
    ],
)
def test_a_server_boots_from_one_thing(properties: dict[str, Any], name: str) -> None:
    with pytest.raises(Thrown) as caught:
        Deployed(server("Instance", **properties))
    assert caught.value.names == (f"io.murano.resources.{name}",)


# -- release -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Instance", "LinuxMuranoInstance", "ConfLangInstance", "HeatSWConfigLinuxInstance"])
def test_a_server_that_goes_takes_everything_of_its_own_along(kind: str) -> None:
    done = Deployed(server(kind, assignFloatingIp=True))
    done.deploy(parts=[])
    assert set(done.resources) == {*NETWORK, "REGION"}
    assert set(done.outputs) == {"lan-id"}
    assert [args["event"] for args in done.host.performed("track")] == [
        "murano.track_instance",
        "murano.untrack_instance",
    ]
    assert done.host.performed("log") == []


def test_a_server_can_be_released_and_deployed_again() -> None:
    step = "$server.releaseResources(), !yaql '$server.deploy()'"
    done = Deployed(server(assignFloatingIp=True), step=step)
    before = done.resources
    done.load().call("run", object_id="app")
    done.model = done.session.finalize()
    assert done.resources == before
    assert done.parts[0]["ipAddresses"] == ["10.0.0.10", "192.0.2.11"]


def test_an_environment_that_goes_deletes_its_stack_and_nothing_else() -> None:
    done = Deployed(server(), resource("CinderVolume", "v", size=1))
    copy = done.model["Objects"]
    count = len(done.host.effects.records)
    last = done.host.engine().session()
    last.load({"ObjectsCopy": copy, "Attributes": done.model["Attributes"], "Objects": None})
    last.cleanup()
    last.finalize()
    kinds = [record.kind for record in done.host.effects.records[count:]]
    assert kinds.count("stack.delete") == 1 and "stack.push" not in kinds
    assert done.cloud.stacks == {}
    assert done.host.performed("log") == []
