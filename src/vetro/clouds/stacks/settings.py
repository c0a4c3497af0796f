"""What can be set about a cloud; plain data, so that a command line and a server can give it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from vetro.clouds.interface import CloudError

#: What the network service of every cloud around a driver offers beyond its base, as Neutron calls it.
EXTENSIONS: Final = ("security-group", "router", "external-net", "port-security", "allowed-address-pairs", "quotas")


class SettingInvalid(CloudError):
    """A setting of the cloud is unknown or has a wrong value."""

    kind = "bad-argument"
    code = "CLD126"


@dataclass(frozen=True, slots=True)
class StackSettings:
    """Settings of a cloud. The defaults are what a newcomer gets."""

    #: The name by which the home region '' is known besides (``engine.home_region``).
    home_region: str = ""
    #: Regions besides the home region ''.
    regions: Sequence[str] = ()
    #: Resource types that nobody knows are accepted as records without meaning (dry runs).
    inert_types: bool = False
    #: Clouds that execute nothing list images that only a recorder can run, too: Windows, Docker, Kubernetes.
    recorder_images: bool = True
    #: Name of the router that a project's networks join (each project has its own), and of the network beyond it.
    router: str = "murano-default-router"
    external_network: str = "ext-net"
    #: A missing router is made (True) or an error.
    create_router: bool = True
    #: Pool of floating addresses.
    external_cidr: str = "172.24.4.0/22"
    #: Range of the links that join each project's networks to this machine; private, and used by nothing else here.
    link_cidr: str = "10.255.0.0/16"
    #: The network of servers that name none; each project has its own.
    private_network: str = "private"
    private_cidr: str = "10.254.0.0/20"
    #: Address plan of new networks: where it begins, how many networks, how many hosts in each.
    plan_ipv4: str = "10.0.0.0"
    plan_ipv6: str = "fd76:6574:726f::"
    max_networks: int = 250
    max_hosts: int = 250
    #: Name servers by version; none: the gateway of the network answers.
    dns_ipv4: Sequence[str] = ()
    dns_ipv6: Sequence[str] = ()
    #: Seconds for which a change waits for machines of servers that do not answer.
    unknown_seconds: float = 30.0
    #: Most resources that are made at the same time in one stack.
    parallel: int = 16
    #: Further images and flavors, as records of the catalog (name is required).
    images: Sequence[Mapping[str, Any]] = ()
    flavors: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StackSettings:
        """Settings out of plain data. Raises `SettingInvalid` for names that there are not."""
        known = {item.name for item in fields(cls)}
        for name in data:
            if name not in known:
                raise SettingInvalid(
                    f"a cloud of this kind has no setting '{name}'; there are {', '.join(sorted(known))}"
                )
        return cls(**data)
