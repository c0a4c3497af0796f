"""Parts of pushed templates that several tests of resources expect."""

from __future__ import annotations

from typing import Any

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
