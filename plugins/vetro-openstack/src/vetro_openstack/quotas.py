"""`quotas`: what a project may have in a region and uses: Nova, Cinder, Neutron (CORE_LIBRARY.md 9)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vetro.clouds.interface import CloudError
from vetro.clouds.kind_protocols import Remark
from vetro_openstack.link import SERVICES, Link
from vetro_openstack.settings import OpenStackSettings

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


#: Part of a quota from which on somebody should do something.
_MUCH = 0.9
#: What is shown although there is enough of it: what people plan with. The rest follows from it.
_SHOWN = frozenset(
    {"instances", "cores", "ram", "volumes", "gigabytes", "floating-ips", "networks", "routers", "secgroups"}
)


def examine(settings: OpenStackSettings, session: Any, closing: threading.Event) -> Iterator[Remark]:
    """What is in use, and a warning for each quota that is nearly used up. Raises `CloudError`: Keystone is away."""
    regions = list(dict.fromkeys((settings.region, *settings.regions)))
    seen = False
    for region in regions:
        link = Link(settings, session, region, closing)
        where = f"in region {region}, " if len(regions) > 1 else ""
        found: list[Quota] = []
        for service in LIMITED:
            if not link.offers(service):
                continue
            try:
                found += quotas(link, service)
            except CloudError as error:
                text = f"{where}{SERVICES[service]} does not tell its quotas: {error.message}"
                hint = "see whether the worker's user may read them in this project"
                yield Remark("warning", text, hint)
        shown = [f"{one.used} of {one.limit} {one.what}" for one in found if one.option in _SHOWN]
        if shown:
            yield Remark("ok", f"{where}the project uses {', '.join(shown)}")
        for one in found:
            if one.limit and one.part >= _MUCH:  # a quota of nothing is meant so
                yield Remark("warning", where + str(one), _advice(one, link.project()))
        seen = seen or bool(found)
    if seen and settings.projects == "environment":
        text = "these are the quotas of the project that is signed in to; stacks are made in those of the environments"
        yield Remark("ok", text)


def _advice(quota: Quota, project: str) -> str:
    full = "what needs one more fails" if quota.used >= quota.limit else "it is nearly used up"
    more = f"'openstack quota set --{quota.option} NUMBER {project}'" if quota.option else "a larger quota"
    return f"{full}: ask the cloud's administrator for {more}, or remove environments that nobody needs"
