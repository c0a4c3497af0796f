"""`quotas`: what a project may have in a region and uses: Nova, Cinder, Neutron (CORE_LIBRARY.md 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vetro.clouds.openstack.link import SERVICES, Link

#: Nova's and Cinder's limits: what it is called, the name of the limit, that of what is used, the option of
#: `openstack quota set`.
_ABSOLUTE: Mapping[str, tuple[tuple[str, str, str, str], ...]] = {
    "compute": (
        ("instances", "maxTotalInstances", "totalInstancesUsed", "instances"),
        ("cores", "maxTotalCores", "totalCoresUsed", "cores"),
        ("memory in MiB", "maxTotalRAMSize", "totalRAMUsed", "ram"),
    ),
    "block_storage": (
        ("volumes", "maxTotalVolumes", "totalVolumesUsed", "volumes"),
        ("GiB of volumes", "maxTotalVolumeGigabytes", "totalGigabytesUsed", "gigabytes"),
        ("snapshots of volumes", "maxTotalSnapshots", "totalSnapshotsUsed", "snapshots"),
    ),
}
#: Neutron's resources; it may know others besides.
_NEUTRON: Mapping[str, tuple[str, str]] = {
    "floatingip": ("floating IPs", "floating-ips"),
    "network": ("networks", "networks"),
    "subnet": ("subnets", "subnets"),
    "router": ("routers", "routers"),
    "port": ("ports", "ports"),
    "security_group": ("security groups", "secgroups"),
    "security_group_rule": ("rules of security groups", "secgroup-rules"),
}
#: Services that have quotas, as `Link` calls them.
LIMITED = (*_ABSOLUTE, "network")


@dataclass(frozen=True, slots=True)
class Quota:
    """``used`` of at most ``limit`` of something. ``option``: what `openstack quota set` calls it."""

    service: str
    what: str
    used: int
    limit: int
    option: str

    @property
    def part(self) -> float:
        """How much of it is in use: 1.0 is all; also where nothing is allowed."""
        return self.used / self.limit if self.limit else 1.0

    def __str__(self) -> str:
        return f"{self.service} has {self.used} of {self.limit} {self.what} in use"


def quotas(link: Link, service: str) -> Iterator[Quota]:
    """What a service of `LIMITED`, which must be there, limits; what is unlimited is left out. Raises `CloudError`."""
    name = SERVICES[service]
    if service == "network":
        answer = link.get("network", f"/quotas/{link.project()}/details.json") or {}
        for resource, row in _mapping(answer.get("quota")).items():
            row = _mapping(row)
            what, option = _NEUTRON.get(resource, (f"quota '{resource}'", ""))
            # What is reserved is being made right now, and counts.
            reserved = row.get("reserved")
            yield from _quota(name, what, row.get("used"), row.get("limit"), option, reserved)
        return
    limits = _mapping(_mapping((link.get(service, "/limits") or {}).get("limits")).get("absolute"))
    for what, most, used, option in _ABSOLUTE[service]:
        yield from _quota(name, what, limits.get(used), limits.get(most), option)


def _quota(service: str, what: str, used: Any, most: Any, option: str, reserved: Any = 0) -> Iterator[Quota]:
    if isinstance(used, int) and isinstance(most, int) and most >= 0:
        yield Quota(service, what, used + (reserved if isinstance(reserved, int) else 0), most, option)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
