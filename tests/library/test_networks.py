"""Networks, security groups and shared addresses: the resources that they become."""

from __future__ import annotations

from typing import Any

import pytest

from tests.library.deploying import EXISTING, NEUTRON, NOVA, Deployed, resource, server
from tests.library.simulator import Simulator
from tests.library.templates import ICMP, PORT, nova
from vetro.muranopl.errors import Thrown


def test_which_network_is_the_primary_one() -> None:
    custom = resource("NeutronNetwork", "own", name="own")
    networks = {
        "useEnvironmentNetwork": True, "useFlatNetwork": True, "customNetworks": ["own"], "primaryNetwork": "own"
    }  # fmt: skip
    flat = {"?": {"type": "io.murano.resources.NeutronNetwork"}, "name": "flat"}
    done = Deployed(custom, server("Instance", networks=networks, assignFloatingIp=True), flat=flat)
    ports = done.resources["web"]["properties"]["networks"]
    assert [p["port"]["get_resource"] for p in ports] == ["port-NET-web", "port-FLAT-web", "port-own-web"]
    assert [key for key in done.resources if key.startswith("fip-")] == ["fip-own-web"]


def test_a_server_without_networks() -> None:
    networks = {"useEnvironmentNetwork": False, "useFlatNetwork": False, "customNetworks": [], "primaryNetwork": None}
    done = Deployed(server("Instance", networks=networks, assignFloatingIp=True))
    assert done.resources["web"] == nova(networks=...)
    assert done.parts[0]["ipAddresses"] == []


def test_networks_that_are_told_everything_ask_nothing() -> None:
    network = {
        **NEUTRON,
        "subnetCidr": "192.168.7.0/24",
        "dnsNameservers": ["9.9.9.9"],
        "autoUplink": False,
        "ipVersion": 4,
    }
    done = Deployed(server("Instance", assignFloatingIp=True), network=network)
    assert done.resources["subnet-NET"]["properties"]["cidr"] == "192.168.7.0/24"
    assert done.resources["subnet-NET"]["properties"]["dns_nameservers"] == ["9.9.9.9"]
    assert not {"ri-NET", "fip-NET-web"} & set(done.resources)
    assert {args["query"] for args in done.host.performed("network")} == {"extensions"}


def test_no_free_block_of_addresses() -> None:
    class Full(Simulator):
        def network(self, args: dict[str, Any]) -> Any:
            return None if args["query"] == "cidr" else super().network(args)

    with pytest.raises(Thrown, match="No block of addresses is left for network lan"):
        Deployed(server("Instance"), simulator=Full())


def test_ports_without_security() -> None:
    done = Deployed(server("Instance"), network={**NEUTRON, "port_security_disable": True})
    assert done.resources["port-NET-web"]["properties"] == {
        **{k: v for k, v in PORT["properties"].items() if k != "security_groups"},  # type: ignore[attr-defined]
        "port_security_enabled": False,
    }


def test_clouds_without_security_groups_are_reported() -> None:
    done = Deployed(server("LinuxInstance"), simulator=Simulator(extensions=()))
    assert "REGION" not in done.resources
    assert "security_groups" not in done.resources["port-NET-web"]["properties"]
    assert "no security groups" in done.host.inner.reports[0]["text"]
    assert done.host.inner.reports[0]["environment_id"] == "env"


def test_releasing_a_network() -> None:
    step = "!yaql '$server.releaseResources()'"
    done = Deployed(server("Instance"), resource("NeutronNetwork", "own", name="own"), step=step)
    assert "network-own" in done.resources
    done.load().call("run", object_id="app")
    done.model = done.session.finalize()
    assert not [key for key in (*done.resources, *done.outputs) if "own" in key]
    assert done.parts[1]["openstackId"] is None


def test_nova_networks() -> None:
    done = Deployed(server("LinuxInstance", assignFloatingIp=True), network=NOVA)
    region = "REGION"
    assert done.resources["web"] == nova(networks=..., security_groups=[{"get_resource": region}])
    assert done.resources["fip-nn-web"] == {"type": "OS::Nova::FloatingIP"}
    assert done.resources["fip-nn-webAssignment"] == {
        "type": "OS::Nova::FloatingIPAssociation",
        "properties": {"floating_ip": {"get_resource": "fip-nn-web"}, "server_id": {"get_resource": "web"}},
    }
    any_address = {"CidrIp": "0.0.0.0/0"}
    assert done.resources[region] == {
        "type": "AWS::EC2::SecurityGroup",
        "properties": {
            "GroupDescription": "Security group of environment e (env)",
            "SecurityGroupIngress": [
                {"FromPort": "-1", "ToPort": "-1", "IpProtocol": "icmp", **any_address},
                {"FromPort": "22", "ToPort": "22", "IpProtocol": "tcp", **any_address},
            ],
        },
    }
    assert done.outputs == {
        "web-id": {"get_resource": "web"},
        "web-assigned-ips": {"get_attr": ["web", "networks"]},
        "web-floatingIPaddress": {"get_attr": ["fip-nn-web", "ip"]},
    }
    assert done.parts[0]["ipAddresses"] == ["10.0.0.10", "192.0.2.11"]


def test_security_groups_of_old_clouds_know_no_ipv6() -> None:
    rule = "FromPort => 1, ToPort => 2, IpProtocol => tcp, External => true, Ethertype => IPv6"
    step = f'!yaql "$server.getRegion().securityGroupManager.addGroupIngress([dict({rule})])"'
    done = Deployed(server("Instance"), network=NOVA, step=step)
    with pytest.raises(Thrown, match="UnsupportedPropertyValue"):
        done.load().call("run", object_id="app")
    assert done.host.inner.reports[-1]["level"] == "error"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("External => false", {"ethertype": "IPv4", "remote_mode": "remote_group_id"}),
        ("External => true, Ethertype => IPv6", {"ethertype": "IPv6", "remote_ip_prefix": "::/0"}),
    ],
)
@pytest.mark.parametrize("direction", ["ingress", "egress"])
def test_rules_of_security_groups(rule: str, expected: dict[str, str], direction: str) -> None:
    method = f"addGroup{direction.capitalize()}"
    text = f"dict(FromPort => 80, ToPort => 81, IpProtocol => udp, {rule})"
    step = f'!yaql "$server.getRegion().securityGroupManager.{method}([{text}], g)", $server.getRegion().stack.push()'
    done = Deployed(server("Instance"), step=step)
    done.load().call("run", object_id="app")
    assert done.resources["g"]["properties"]["rules"] == [
        ICMP,
        {"port_range_min": 80, "port_range_max": 81, "protocol": "udp", "direction": direction, **expected},
    ]


class Stocked(Simulator):
    """A cloud with networks of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.networks += [
            {"id": "n1", "name": "first", "router:external": False, "tenant_id": "local"},
            {"id": "n2", "name": "second", "router:external": False, "tenant_id": "other"},
            {"id": "ext2", "name": "far", "router:external": True},
        ]
        self.subnets = [
            {"id": "s1", "name": "sub1", "network_id": "n1", "cidr": "10.1.0.0/24", "gateway_ip": "10.1.0.1"},
            {"id": "s2", "name": "sub2", "network_id": "n2"},
        ]
        self.ports = [{"network_id": "n2", "device_owner": "network:router_interface", "device_id": "r2"}]

    def network(self, args: dict[str, Any]) -> Any:
        if args["query"] == "external_of_router":
            return {"r2": "ext2"}.get(args["router"])
        return super().network(args)


@pytest.mark.parametrize(
    ("names", "port", "outer", "found"),
    [
        ({}, {"network": "n1", "fixed_ips": [{"subnet": "s1"}]}, "ext-net-1", ["first", "sub1", "ext-net"]),
        ({"internalNetworkName": "second"}, {"network": "n2"}, "ext2", ["second", "sub2", "far"]),
        (
            {"internalNetworkName": "n1", "internalSubnetworkName": "sub1", "externalNetworkName": "ext2"},
            {"network": "n1", "fixed_ips": [{"subnet": "s1"}]},
            "ext2",
            ["first", "sub1", "far"],
        ),
    ],
)
def test_existing_networks(names: dict[str, str], port: dict[str, Any], outer: str, found: list[str]) -> None:
    done = Deployed(
        server("Instance", assignFloatingIp=True, securityGroups=["g"]),
        network={**EXISTING, **names},
        simulator=Stocked(),
    )
    properties = {**port, "replacement_policy": "AUTO", "security_groups": ["g"]}
    assert done.resources["port-NET-web"]["properties"] == properties
    assert done.resources["fip-NET-web"]["properties"]["floating_network"] == outer
    assert done.outputs["addresses-web-NET"]["get_attr"][2] == found[0]
    network = done.region["defaultNetworks"]["environment"]
    keys = ("internalNetworkName", "internalSubnetworkName", "externalNetworkName")
    assert [network[key] for key in keys] == found


@pytest.mark.parametrize("name", ["internalNetworkName", "internalSubnetworkName", "externalNetworkName"])
def test_existing_networks_that_do_not_exist(name: str) -> None:
    with pytest.raises(Thrown, match="'nope'"):
        Deployed(server("Instance"), network={**EXISTING, name: "nope"}, simulator=Stocked())


def test_shared_addresses() -> None:
    shared = resource(".SharedIp", "ip", assignFloatingIp=True)
    simulator = Simulator()
    done = Deployed(shared, server("Instance", sharedIps=["ip"]), simulator=simulator)
    port = done.resources["AllowedAddressPairsPort-ip"]
    network = done.region["defaultNetworks"]["environment"]
    assert port == {
        "type": "OS::Neutron::Port",
        "properties": {"network_id": f"id of network-{network['?']['id']}".replace(network["?"]["id"], "NET"),
                       "replacement_policy": "AUTO"},
    }  # fmt: skip
    assert done.resources["Shared-Floating-ip-ip"] == {
        "type": "OS::Neutron::FloatingIP",
        "properties": {
            "floating_network_id": "ext-net-1", "port_id": {"get_resource": "AllowedAddressPairsPort-ip"}
        },
    }  # fmt: skip
    assert done.outputs["AllowedAddressPairsPort-ip-virtualIp"] == {
        "get_attr": ["AllowedAddressPairsPort-ip", "fixed_ips", 0, "ip_address"]
    }
    assert done.outputs["Shared-Floating-ip-ip-val"] == {"get_attr": ["Shared-Floating-ip-ip", "floating_ip_address"]}
    ip = done.parts[0]
    assert (ip["virtualIp"], ip["floatingIpAddress"]) == ("10.0.0.10", "192.0.2.11")
    pairs = done.resources["port-NET-web"]["properties"]["allowed_address_pairs"]
    assert pairs == [{"ip_address": "10.0.0.10/32"}]


def test_shared_addresses_of_a_known_subnet_and_their_release() -> None:
    shared = resource(".SharedIp", "ip", network=resource("ExistingNeutronNetwork", "en"))
    done = Deployed(shared, simulator=Stocked(), step="!yaql '$server.releaseResources()'")
    properties = done.resources["AllowedAddressPairsPort-ip"]["properties"]
    assert (properties["network_id"], properties["fixed_ips"]) == ("n1", [{"subnet_id": "s1"}])
    done.load().call("run", object_id="app")
    done.model = done.session.finalize()
    assert "AllowedAddressPairsPort-ip" not in done.resources
    assert done.parts[0]["virtualIp"] is None


def test_ranges_of_shared_addresses() -> None:
    done = Deployed(resource(".SharedIpRange", "range", cidr="10.9.0.0/28"), server("Instance", sharedIps=["range"]))
    assert done.resources["AllowedAddressPairsSubnet-range"] == {
        "type": "OS::Neutron::Subnet",
        "properties": {"enable_dhcp": False, "network": "id of network-NET", "cidr": "10.9.0.0/28"},
    }
    assert (done.parts[0]["cidr"], done.parts[0]["virtualIp"]) == ("10.9.0.0/28", "10.9.0.0/28")
    pairs = done.resources["port-NET-web"]["properties"]["allowed_address_pairs"]
    assert pairs == [{"ip_address": "10.9.0.0/28"}]
