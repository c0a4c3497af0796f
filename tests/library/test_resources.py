"""Templates that the resource classes make, letter for letter, and what they give back (CORE_LIBRARY.md 2, 9)."""

from __future__ import annotations

import base64
import configparser
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.library.deploying import EXISTING, NEUTRON, NOVA, Deployed, resource, server
from tests.library.simulator import Simulator
from vetro.muranopl.errors import Thrown

PORT = {
    "type": "OS::Neutron::Port",
    "properties": {
        "network": {"get_resource": "network-NET"},
        "replacement_policy": "AUTO",
        "fixed_ips": [{"subnet": {"get_resource": "subnet-NET"}}],
        "security_groups": [{"get_resource": "REGION"}],
    },
}
NETWORK = {
    "network-NET": {"type": "OS::Neutron::Net", "properties": {"name": "lan-NET"}},
    "subnet-NET": {
        "type": "OS::Neutron::Subnet",
        "properties": {
            "network": {"get_resource": "network-NET"},
            "ip_version": 4,
            "dns_nameservers": ["198.51.100.1"],
            "cidr": "10.0.0.0/24",
        },
    },
    "ri-NET": {
        "type": "OS::Neutron::RouterInterface",
        "properties": {"router_id": "router-1", "subnet": {"get_resource": "subnet-NET"}},
    },
}
ICMP = {"protocol": "icmp", "remote_ip_prefix": "0.0.0.0/0"}


def group(*ports: int) -> dict[str, Any]:
    """The default security group with these ports open to everybody."""
    rules = [
        {
            "port_range_min": port, "port_range_max": port, "protocol": "tcp", "ethertype": "IPv4",
            "direction": "ingress", "remote_ip_prefix": "0.0.0.0/0",
        }
        for port in ports
    ]  # fmt: skip
    properties = {"description": "Security group of environment e (env)", "rules": [ICMP, *rules]}
    return {"type": "OS::Neutron::SecurityGroup", "properties": properties}


def nova(**properties: Any) -> dict[str, Any]:
    """The server of `server` as a resource."""
    given = {
        "name": "web", "flavor": "small", "image": "debian", "availability_zone": "nova", "user_data": None,
        "user_data_format": "HEAT_CFNTOOLS", "key_name": None, "metadata": {},
        "networks": [{"port": {"get_resource": "port-NET-web"}}], **properties,
    }  # fmt: skip
    return {"type": "OS::Nova::Server", "properties": {k: v for k, v in given.items() if v is not ...}}


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


# -- networks ----------------------------------------------------------------------------------------------------------


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


# -- shared addresses --------------------------------------------------------------------------------------------------


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


# -- volumes and groups ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        (
            {"name": "n", "availabilityZone": "z", "readOnly": True, "sourceImage": "img"},
            {"name": "n", "availability_zone": "z", "read_only": True, "image": "img"},
        ),
        ({"sourceSnapshot": resource("CinderVolumeSnapshot", "s", openstackId="S")}, {"snapshot_id": "S"}),
        ({"sourceVolumeBackup": resource("CinderVolumeBackup", "b", openstackId="B")}, {"backup_id": "B"}),
        ({"sourceVolume": resource("ExistingCinderVolume", "e", openstackId="E")}, {"source_volid": "E"}),
        ({"sourceVolume": resource("CinderVolume", "o", size=1)}, {"source_volid": {"get_resource": "vol-o"}}),
    ],
)
def test_volumes(given: dict[str, Any], expected: dict[str, Any]) -> None:
    done = Deployed(resource("CinderVolume", "v", size=5, **given))
    assert done.resources["vol-v"] == {"type": "OS::Cinder::Volume", "properties": {"size": 5, **expected}}
    assert done.outputs["vol-v-id"] == {"get_resource": "vol-v"}
    assert done.outputs["vol-v-attachments"] == {"get_attr": ["vol-v", "attachments_list"]}
    assert done.parts[0]["openstackId"] == "id of vol-v"


def test_a_volume_is_pushed_when_its_definition_changes() -> None:
    done = Deployed(resource("CinderVolume", "v", size=5))
    pushes = len(done.cloud.pushes)
    done.deploy()
    assert len(done.cloud.pushes) == pushes
    done.deploy(parts=[{**done.parts[0], "size": 6}])
    assert len(done.cloud.pushes) == pushes + 1
    assert done.resources["vol-v"]["properties"] == {"size": 6}
    done.deploy(parts=[])
    assert "vol-v" not in done.resources


def test_attached_volumes() -> None:
    volumes = {
        "/data": resource("CinderVolume", "v", size=1),
        "/old": resource("ExistingCinderVolume", "e", openstackId="E"),
    }
    done = Deployed(server("Instance", volumes=volumes))
    for volume, path, ref in (("v", "/data", {"get_resource": "vol-v"}), ("e", "/old", "E")):
        assert done.resources[f"vol-attachment-{volume}-web"] == {
            "type": "OS::Cinder::VolumeAttachment",
            "properties": {"instance_uuid": {"get_resource": "web"}, "mountpoint": path, "volume_id": ref},
        }
    done.deploy(parts=[])
    assert not [key for key in done.resources if key.startswith("vol")]
    assert done.host.performed("log") == []


def test_servers_that_boot_from_block_devices() -> None:
    devices = [
        {"volume": resource("CinderVolume", "v", size=1, sourceImage="img"), "bootIndex": 0, "deviceName": "vda"},
        {"volume": resource("ExistingCinderVolume", "e", openstackId="E"), "deviceType": "cdrom"},
    ]
    done = Deployed(server("Instance", image=None, blockDevices=devices))
    mapping = [
        {"device_name": "vda", "volume_id": {"get_resource": "vol-v"}, "device_type": None, "boot_index": 0},
        {"device_name": None, "volume_id": "E", "device_type": "cdrom", "boot_index": None},
    ]
    assert done.resources["web"] == nova(image=..., block_device_mapping_v2=mapping)


@pytest.mark.parametrize(("affinity", "policy"), [(True, "affinity"), (False, "anti-affinity")])
def test_affinity_groups(affinity: bool, policy: str) -> None:
    together = resource("InstanceAffinityGroup", "g", affinity=affinity)
    done = Deployed(server("Instance", instanceAffinityGroup=together))
    assert done.resources["NovaServerGroup-g"] == {
        "type": "OS::Nova::ServerGroup",
        "properties": {"name": "NovaServerGroup-g", "policies": [policy]},
    }
    assert done.resources["web"] == nova(scheduler_hints={"group": {"get_resource": "NovaServerGroup-g"}})
    done.deploy(parts=[])
    assert not {"NovaServerGroup-g", "web"} & set(done.resources)


# -- user data ---------------------------------------------------------------------------------------------------------

KEY = "-----BEGIN RSA PUBLIC KEY-----\nMIIB\nAQAB\n-----END RSA PUBLIC KEY-----\n"
BROKER = {"host": "mq.example", "port": 5671, "login": "l", "password": 'p%w<&"', "virtual_host": "v", "ssl": True}


def secured(kind: str, **settings: Any) -> Deployed:
    """A server whose engine has a broker and a signing key."""
    given = {"rabbitmq": {**BROKER, "ca_certs": "CERTIFICATE"}, **settings}
    done = Deployed(server(kind), deploy=False, settings=given)
    done.host.inner.register("agent.key", lambda args: KEY)
    done.deploy()
    return done


def unpacked(script: str) -> dict[str, str]:
    """The files that the boot script of a Linux server writes, path -> text."""
    found = re.findall(r"^unpack (\d+) (\S+) <<'END_OF_FILE'\n(.*?)\nEND_OF_FILE$", script, re.S | re.M)
    return {path: base64.b64decode(text).decode() for _, path, text in found}


def test_user_data_of_servers_with_agent() -> None:
    done = secured("LinuxMuranoInstance", engine={"agent_source": "git+https://agent"})
    keys = ("boot_config-web", "boot_script_web", "user_data-web")
    config, script, multipart = (done.resources[key] for key in keys)
    assert done.resources["web"]["properties"]["user_data"] == {"get_resource": "user_data-web"}
    assert done.resources["web"]["properties"]["user_data_format"] == "RAW"
    assert multipart == {
        "type": "OS::Heat::MultipartMime",
        "properties": {"parts": [{"config": {"get_resource": key}} for key in keys[:2]]},
    }
    assert config["type"] == "OS::Heat::CloudConfig" and config["properties"]["cloud_config"]["hostname"] == "web"
    assert (script["type"], script["properties"]["group"]) == ("OS::Heat::SoftwareConfig", "ungrouped")
    text = script["properties"]["config"]
    assert text.startswith("#!/bin/sh\n") and "'git+https://agent'" in text
    files = unpacked(text)
    assert set(files) == {
        "/etc/init/murano-agent.conf",
        "/etc/systemd/system/murano-agent.service",
        "/etc/init.d/murano-agent",
        "/etc/murano/agent.conf",
        "/etc/murano/certs/ca_certs",
    }
    assert not re.search(r"%[A-Z_0-9]+%", text + "".join(files.values()))
    assert files["/etc/murano/certs/ca_certs"] == "CERTIFICATE"
    parser = configparser.RawConfigParser()
    parser.read_string(files["/etc/murano/agent.conf"])
    listener = done.host.performed("stack.push")[0]["name"].removeprefix("murano-")
    defaults = parser.defaults()
    assert {key: value for key, value in parser["rabbitmq"].items() if key not in defaults} == {
        "host": "mq.example", "port": "5671", "login": "l", "password": "p%w<&\"", "virtual_host": "v", "ssl": "true",
        "ca_certs": "/etc/murano/certs/ca_certs", "insecure": "false", "input_queue": "eenv-hsrv",
        "result_exchange": "", "result_routing_key": f"-execution-results-{listener}",
    }  # fmt: skip
    assert defaults["engine_key"].strip() == KEY.strip()
    assert "\t-----BEGIN" in files["/etc/murano/agent.conf"]


def test_the_agent_configuration_is_readable_by_root_alone() -> None:
    script = Deployed(server()).resources["boot_script_web"]["properties"]["config"]
    modes = {path: mode for mode, path in re.findall(r"^unpack (\d+) (\S+)", script, re.M)}
    assert modes["/etc/murano/agent.conf"] == modes["/etc/murano/certs/ca_certs"] == "600"
    assert "ca_certs = \n" in unpacked(script)["/etc/murano/agent.conf"]


def test_configuration_languages_add_packages() -> None:
    config = Deployed(server("ConfLangInstance")).resources["boot_config_web"]["properties"]["cloud_config"]
    assert config["hostname"] == "web"
    assert {"python3-pip", "puppet", "chef"} <= set(config["packages"])


def test_user_data_of_windows_servers() -> None:
    done = secured("WindowsInstance")
    properties = done.resources["web"]["properties"]
    assert properties["user_data_format"] == "HEAT_CFNTOOLS"
    text = properties["user_data"]
    assert not re.search(r"%[A-Z_0-9]+%", text)
    encoded = dict(re.findall(r"^\$(\w+) = '([^']*)'$", text, re.M))
    assert (encoded["computerName"], encoded["serverAddress"]) == ("web", "mq.example")
    config = base64.b64decode(encoded["agentConfig"]).decode()
    assert not re.search(r"%[A-Z_0-9]+%", config)
    values = {item.get("key"): item.get("value") for item in ElementTree.fromstring(config).iter("add")}
    assert (values["rabbitmq.password"], values["rabbitmq.inputQueue"]) == ('p%w<&"', "eenv-hsrv")
    assert values["engine.key"].startswith("-----BEGIN RSA PUBLIC KEY-----")


def test_user_data_of_the_package() -> None:
    step = "!yaql '$server.setCustomUserData(mine)', !yaql '$server.deploy()'"
    done = Deployed(server("LinuxUDInstance"), step=step)
    assert done.resources["web"] == nova()
    done.load().call("run", object_id="app")
    assert done.resources["web"] == nova(user_data="mine")


def test_software_deployments() -> None:
    step = (
        "!yaql \"$server.addSoftwareConfig(one, 'echo 1', inputValues => {a => 1}, configGroup => script)\", "
        '!yaql "$server.addStructuredConfig(two, {k => v}, signalTransport => HEAT_SIGNAL)", $server.deploy()'
    )
    done = Deployed(server("HeatSWConfigInstance"), step=step)
    assert done.resources["web"] == nova(user_data_format="SOFTWARE_CONFIG")
    done.load().call("run", object_id="app")
    done.model = done.session.finalize()
    one, two = "web-one", "web-two"
    assert {key: done.resources[key] for key in (one, two, one + "-deployment", two + "-deployment")} == {
        one: {"type": "OS::Heat::SoftwareConfig", "properties": {"group": "script", "config": "echo 1"}},
        two: {
            "type": "OS::Heat::StructuredConfig",
            "properties": {
                "group": "Heat::Ungrouped",
                "config": {"k": "v", "completion-signal": {"get_input": "deploy_signal_id"}},
            },
        },
        one + "-deployment": {
            "type": "OS::Heat::SoftwareDeployment",
            "properties": {
                "config": {"get_resource": one}, "server": {"get_resource": "web"}, "input_values": {"a": 1},
            },
        },
        two + "-deployment": {
            "type": "OS::Heat::StructuredDeployment",
            "properties": {
                "config": {"get_resource": two}, "server": {"get_resource": "web"}, "input_values": {},
                "signal_transport": "HEAT_SIGNAL",
            },
        },
    }  # fmt: skip
    assert done.outputs["web-one-deployment-stderr"] == {"get_attr": ["web-one-deployment", "deploy_stderr"]}
    done.deploy(parts=[])
    assert not [key for key in (*done.resources, *done.outputs) if key.startswith("web")]
