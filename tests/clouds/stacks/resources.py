"""Templates of every resource type, and what they give."""

from __future__ import annotations

import base64
from typing import Any

NET: dict[str, Any] = {
    "net": {"type": "OS::Neutron::Net", "properties": {"name": "inner"}},
    "sub": {
        "type": "OS::Neutron::Subnet",
        "properties": {"network": {"get_resource": "net"}, "cidr": "10.1.2.0/24", "dns_nameservers": ["9.9.9.9"]},
    },
}


PORT: dict[str, Any] = {
    **NET,
    "port": {
        "type": "OS::Neutron::Port",
        "properties": {
            "network": {"get_resource": "net"},
            "replacement_policy": "AUTO",
            "fixed_ips": [{"subnet": {"get_resource": "sub"}}],
        },
    },
}


def server(**more: Any) -> dict[str, Any]:
    properties = {"flavor": "m1.small", "image": "debian-12-murano", **more}
    return {"type": "OS::Nova::Server", "properties": properties}


VM = {**PORT, "vm": server(name="web", networks=[{"port": {"get_resource": "port"}}])}


VOLUME = {"vol": {"type": "OS::Cinder::Volume", "properties": {"size": 3, "name": "data", "metadata": {"a": "b"}}}}


def attr(*path: Any) -> dict[str, Any]:
    return {"get_attr": list(path)}


def ref(name: str) -> dict[str, Any]:
    return {"get_resource": name}


#: what is made, {what an output gives: expected}; `str` means: some text that is not empty
CASES: dict[str, tuple[dict[str, Any], list[tuple[Any, Any]]]] = {
    "OS::Neutron::Net": (NET, [(attr("net", "name"), "inner"), (attr("net", "subnets", 0), str), (ref("net"), str)]),
    "OS::Neutron::Subnet": (
        NET,
        [
            (attr("sub", "cidr"), "10.1.2.0/24"),
            (attr("sub", "gateway_ip"), "10.1.2.1"),
            (attr("sub", "allocation_pools"), [{"start": "10.1.2.1", "end": "10.1.2.254"}]),
            (attr("sub", "show", "dns_nameservers"), ["9.9.9.9"]),
        ],
    ),
    "OS::Neutron::Router": (
        {"router": {"type": "OS::Neutron::Router", "properties": {"external_gateway_info": {"network": "ext-net"}}}},
        [(attr("router", "external_gateway_info", "network_id"), str), (attr("router", "status"), "ACTIVE")],
    ),
    "OS::Neutron::RouterInterface": (
        {
            **NET,
            "ri": {
                "type": "OS::Neutron::RouterInterface",
                "properties": {"router_id": "murano-default-router", "subnet": ref("sub")},
            },
        },
        [(ref("ri"), str)],
    ),
    "OS::Neutron::Port": (
        PORT,
        [
            (attr("port", "fixed_ips", 0, "ip_address"), "10.1.2.2"),
            (attr("port", "mac_address"), str),
            (attr("port", "subnets", 0, "cidr"), "10.1.2.0/24"),
        ],
    ),
    "OS::Neutron::FloatingIP": (
        {
            **VM,
            "fip": {
                "type": "OS::Neutron::FloatingIP",
                "properties": {"floating_network": "ext-net", "port_id": ref("port")},
            },
        },
        [
            (attr("fip", "floating_ip_address"), "172.24.4.2"),
            (attr("fip", "fixed_ip_address"), "10.1.2.2"),
            (attr("vm", "addresses", "inner", 1, "addr"), "172.24.4.2"),
        ],
    ),
    "OS::Neutron::FloatingIPAssociation": (
        {
            **VM,
            "fip": {"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": "ext-net"}},
            "join": {
                "type": "OS::Neutron::FloatingIPAssociation",
                "properties": {"floatingip_id": ref("fip"), "port_id": ref("port")},
            },
        },
        [(attr("vm", "networks", "inner"), ["10.1.2.2", "172.24.4.2"])],
    ),
    "OS::Neutron::SecurityGroup": (
        {
            "group": {
                "type": "OS::Neutron::SecurityGroup",
                "properties": {
                    "description": "d",
                    "rules": [
                        {
                            "protocol": "tcp",
                            "port_range_min": 80,
                            "port_range_max": "80",
                            "remote_ip_prefix": "0.0.0.0/0",
                        },
                        {"protocol": "udp", "remote_mode": "remote_group_id"},
                    ],
                },
            }
        },
        [
            (attr("group", "description"), "d"),
            (attr("group", "security_group_rules", 2, "port_range_max"), 80),
            (attr("group", "security_group_rules", 3, "remote_group_id"), str),
        ],
    ),
    "OS::Neutron::SecurityGroupRule": (
        {
            "group": {"type": "OS::Neutron::SecurityGroup", "properties": {"rules": []}},
            "rule": {
                "type": "OS::Neutron::SecurityGroupRule",
                "properties": {
                    "security_group": ref("group"),
                    "protocol": "tcp",
                    "port_range_min": 22,
                    "port_range_max": 22,
                },
            },
            "after": {"type": "OS::Heat::Value", "depends_on": "rule", "properties": {"value": 1}},
        },
        [(ref("rule"), str)],
    ),
    "AWS::EC2::SecurityGroup": (
        {
            "group": {
                "type": "AWS::EC2::SecurityGroup",
                "properties": {
                    "GroupDescription": "d",
                    "SecurityGroupIngress": [
                        {"IpProtocol": "tcp", "FromPort": "22", "ToPort": "22", "CidrIp": "0.0.0.0/0"}
                    ],
                },
            },
            "vm": server(security_groups=[ref("group")]),
        },
        [(attr("group", "security_group_rules", 2, "port_range_min"), 22)],
    ),
    "OS::Nova::Server": (
        VM,
        [
            (attr("vm", "addresses", "inner", 0, "addr"), "10.1.2.2"),
            (attr("vm", "addresses", "inner", 0, "version"), 4),
            (attr("vm", "networks"), {"inner": ["10.1.2.2"]}),
            (attr("vm", "addresses", attr("port", "network_id"), 0, "addr"), "10.1.2.2"),
            (attr("vm", "first_address"), "10.1.2.2"),
            (attr("vm", "accessIPv4"), ""),
            (attr("vm", "name"), "web"),
            (attr("vm", "show", "status"), "ACTIVE"),
            (attr("vm", "instance_name"), str),
        ],
    ),
    "OS::Nova::ServerGroup": (
        {
            "group": {"type": "OS::Nova::ServerGroup", "properties": {"name": "g", "policies": ["affinity"]}},
            "vm": server(scheduler_hints={"group": ref("group")}),
        },
        [(attr("group", "policies"), ["affinity"]), (attr("vm", "networks", "private", 0), str)],
    ),
    "OS::Nova::KeyPair": (
        {
            "key": {"type": "OS::Nova::KeyPair", "properties": {"name": "mine", "save_private_key": True}},
            "vm": server(key_name=ref("key")),
        },
        [(attr("key", "public_key"), str), (attr("key", "private_key"), str), (ref("key"), "mine")],
    ),
    "OS::Nova::FloatingIP": (
        {**VM, "fip": {"type": "OS::Nova::FloatingIP"}},
        [(attr("fip", "ip"), "172.24.4.2"), (attr("vm", "networks", "inner"), ["10.1.2.2"])],
    ),
    "OS::Nova::FloatingIPAssociation": (
        {
            **VM,
            "fip": {"type": "OS::Nova::FloatingIP"},
            "join": {
                "type": "OS::Nova::FloatingIPAssociation",
                "properties": {"floating_ip": ref("fip"), "server_id": ref("vm")},
            },
        },
        [(attr("vm", "networks", "inner"), ["10.1.2.2", "172.24.4.2"]), (attr("vm", "accessIPv4"), "172.24.4.2")],
    ),
    "OS::Heat::SoftwareConfig": (
        {"config": {"type": "OS::Heat::SoftwareConfig", "properties": {"group": "script", "config": "#!/bin/sh\n"}}},
        [(attr("config", "config"), "#!/bin/sh\n")],
    ),
    "OS::Heat::StructuredConfig": (
        {"config": {"type": "OS::Heat::StructuredConfig", "properties": {"config": {"a": {"get_input": "x"}}}}},
        [(attr("config", "config"), {"a": {"get_input": "x"}})],
    ),
    "OS::Heat::SoftwareDeployment": (
        {
            "vm": server(user_data_format="SOFTWARE_CONFIG"),
            "config": {
                "type": "OS::Heat::SoftwareConfig",
                "properties": {"group": "script", "config": "echo $a", "inputs": [{"name": "a", "default": "d"}]},
            },
            "deploy": {
                "type": "OS::Heat::SoftwareDeployment",
                "properties": {"config": ref("config"), "server": ref("vm"), "input_values": {"b": [1]}},
            },
        },
        [
            (attr("deploy", "deploy_stdout"), ""),
            (attr("deploy", "deploy_status_code"), 0),
            (attr("deploy", "other"), None),
        ],
    ),
    "OS::Heat::StructuredDeployment": (
        {
            "vm": server(),
            "config": {
                "type": "OS::Heat::StructuredConfig",
                "properties": {"config": {"a": {"get_input": "x"}, "signal": {"get_input": "deploy_signal_id"}}},
            },
            "deploy": {
                "type": "OS::Heat::StructuredDeployment",
                "properties": {"config": ref("config"), "server": ref("vm"), "input_values": {"x": {"y": 1}}},
            },
        },
        [(attr("deploy", "deploy_stderr"), "")],
    ),
    "OS::Heat::CloudConfig": (
        {"config": {"type": "OS::Heat::CloudConfig", "properties": {"cloud_config": {"hostname": "h"}}}},
        [(attr("config", "config"), "#cloud-config\nhostname: h\n")],
    ),
    "OS::Heat::MultipartMime": (
        {
            "script": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": "#!/bin/sh\nexit"}},
            "mime": {"type": "OS::Heat::MultipartMime", "properties": {"parts": [{"config": ref("script")}]}},
            "vm": server(user_data=ref("mime"), user_data_format="RAW"),
        },
        [(attr("mime", "config"), str)],
    ),
    "OS::Cinder::Volume": (VOLUME, [(attr("vol", "size"), 3), (attr("vol", "attachments_list"), [])]),
    "OS::Cinder::VolumeAttachment": (
        {
            **VOLUME,
            "vm": server(),
            "join": {
                "type": "OS::Cinder::VolumeAttachment",
                "properties": {"instance_uuid": ref("vm"), "volume_id": ref("vol"), "mountpoint": "/dev/vdc"},
            },
        },
        [(attr("vol", "attachments_list", 0, "device"), "/dev/vdc"), (attr("vol", "status"), "in-use")],
    ),
    "OS::Heat::WaitConditionHandle": (
        {"handle": {"type": "OS::Heat::WaitConditionHandle"}},
        [(attr("handle", "curl_cli"), str)],
    ),
    "OS::Heat::WaitCondition": (
        {
            "handle": {"type": "OS::Heat::WaitConditionHandle"},
            "wait": {
                "type": "OS::Heat::WaitCondition",
                "properties": {"handle": ref("handle"), "timeout": 5, "count": 3},
            },
        },
        [(attr("wait", "data"), '{"1": null}')],
    ),
    "OS::Neutron::Pool": (
        {
            **NET,
            "pool": {
                "type": "OS::Neutron::Pool",
                "properties": {
                    "protocol": "HTTP",
                    "subnet": ref("sub"),
                    "lb_method": "ROUND_ROBIN",
                    "vip": {"protocol_port": 80},
                },
            },
        },
        [(attr("pool", "vip", "protocol_port"), 80)],
    ),
    "OS::Neutron::PoolMember": (
        {
            "m": {
                "type": "OS::Neutron::PoolMember",
                "properties": {"pool_id": "p", "address": "10.0.0.1", "protocol_port": 80},
            }
        },
        [(attr("m", "address"), "10.0.0.1")],
    ),
    "OS::Neutron::LoadBalancer": (
        {
            "lb": {
                "type": "OS::Neutron::LoadBalancer",
                "properties": {"pool_id": "p", "protocol_port": 80, "members": []},
            }
        },
        [(ref("lb"), str)],
    ),
    "OS::Heat::RandomString": (
        {"random": {"type": "OS::Heat::RandomString", "properties": {"length": 8, "sequence": "digits"}}},
        [(attr("random", "value"), str), (ref("random"), str)],
    ),
    "OS::Heat::Value": (
        {"value": {"type": "OS::Heat::Value", "properties": {"value": {"a": [1]}}}},
        [(attr("value", "value", "a", 0), 1)],
    ),
    "OS::Heat::None": (
        {"none": {"type": "OS::Heat::None", "properties": {"whatever": 1}}},
        [(attr("none", "anything"), None)],
    ),
    "OS::Heat::TestResource": (
        {"test": {"type": "OS::Heat::TestResource", "properties": {"value": "v", "wait_secs": 1}}},
        [(attr("test", "output"), "v")],
    ),
    "OS::Heat::ResourceGroup": (
        {
            "group": {
                "type": "OS::Heat::ResourceGroup",
                "properties": {
                    "count": 3,
                    "resource_def": {"type": "OS::Heat::Value", "properties": {"value": "v%index%"}},
                },
            }
        },
        [
            (attr("group", "value"), ["v0", "v1", "v2"]),
            (attr("group", "resource.1.value"), "v1"),
            (attr("group", "attributes", "value"), {"0": "v0", "1": "v1", "2": "v2"}),
            (attr("group", "removed_rsrc_list"), []),
        ],
    ),
}


def user_data(queue: str) -> dict[str, Any]:
    conf = base64.b64encode(f"[rabbitmq]\nhost = h\ninput_queue = {queue}\nresult_routing_key = r\n".encode()).decode()
    return {
        "boot": {"type": "OS::Heat::CloudConfig", "properties": {"cloud_config": {"hostname": "h"}}},
        "script": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": f"#!/bin/sh\nCONF='{conf}'\n"}},
        "mime": {
            "type": "OS::Heat::MultipartMime",
            "properties": {"parts": [{"config": ref("boot")}, {"config": ref("script")}]},
        },
    }
