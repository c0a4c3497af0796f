"""What the cloud helper does for nobody, whoever has taken over the service: what would reach beyond its servers.

The types of requests keep text out of commands, paths and rules. These keep values in bounds that the service itself
keeps, too: addresses that this machine leads to servers are those that its administrator gave away, a thing stays its
project's, a server has a size.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import field
from ipaddress import IPv4Network
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from vetro.clouds.drivers.errors import HelperRefused
from vetro.clouds.drivers.specs import NetworkSpec, ServerSpec
from vetro.clouds.stacks.address_plan import handed_out
from vetro.clouds.stacks.settings import StackSettings
from vetro.data_classes import dataclass

#: The largest server: MiB of memory, processors, GiB of disk.
_LARGEST = {"ram": 1 << 20, "vcpus": 1024, "disk": 1 << 16}


#: Characters of what a server's record has besides its user data, and how deep it may be.
_LONGEST_RECORD, _DEEPEST = 1 << 18, 16
#: Requests that make a record here, by what they make, and how many there may be for each server that there may be.
_COUNTED = {"ensure_network": "networks", "ensure_group": "groups", "ensure_volume": "volumes"}
_EACH = 16


class Known(Protocol):
    """What a driver has made."""

    def spec(self, server: str) -> ServerSpec | None:
        """A server; None when there is none."""
        ...  # pragma: no cover - protocol

    def networks(self) -> Sequence[NetworkSpec]:
        """All networks."""
        ...  # pragma: no cover - protocol

    def count(self, what: str) -> int:
        """How many servers, networks, groups or volumes there are."""
        ...  # pragma: no cover - protocol

    def has(self, what: str, id: str) -> bool:
        """Whether there is this server, network, group or volume."""
        ...  # pragma: no cover - protocol

    def sizes(self) -> Mapping[str, tuple[float, float]]:
        """Memory (MiB) and disk (GiB) of each server as its flavor has them; a quarantined one has a disk only."""
        ...  # pragma: no cover - protocol


#: Memory (MiB) and disk (GiB) of a server.
Size = tuple[float, float]


def size_of(spec: ServerSpec) -> Size:
    """What a server may take, by its flavor."""
    return float(spec.flavor.get("ram") or 0), float(spec.flavor.get("disk") or 1)


def of_machine(directory: Path) -> tuple[int, int]:
    """Memory (MiB) and disk (GiB) that servers get together where nobody says more: half as much memory again as there
    is, and twice the file system, since most servers use less than they may."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (memory * 3 // 2) >> 20, (shutil.disk_usage(directory).total * 2) >> 30


@dataclass(frozen=True, slots=True)
class HelperLimits:
    """``settings``: the address plan and the pool of floating addresses. ``servers``: the most that there may be;
    ``memory`` (MiB) and ``disk`` (GiB): what they may have together."""

    settings: StackSettings = field(default_factory=StackSettings)
    servers: int = 500
    memory: float = math.inf
    disk: float = math.inf

    def check(
        self, name: str, arguments: tuple[Any, ...], known: Known, begun: Mapping[str, Size] = MappingProxyType({})
    ) -> None:
        """``begun``: other servers that are being made or changed, and what they will have. Raises `HelperRefused`."""
        if name in ("create", "update"):
            self._server(arguments[0], known, begun, new=name == "create")
        elif name == "ensure_network":
            self._network(arguments[0], known)
        what = _COUNTED.get(name)
        if what is not None and not known.has(what, arguments[0].id) and known.count(what) >= self.servers * _EACH:
            raise HelperRefused(f"there are {self.servers * _EACH} {what}, the most that the cloud helper makes")

    def _server(self, spec: ServerSpec, known: Known, begun: Mapping[str, Size], *, new: bool) -> None:
        before = known.spec(spec.id)
        if before is not None and _whose(before) != _whose(spec):
            raise HelperRefused(f"the server {spec.id} belongs to another environment")
        fresh = sum(not known.has("servers", other) for other in begun)
        if before is None and new and known.count("servers") + fresh >= self.servers:
            error = HelperRefused(f"there are {self.servers} servers, the most that the cloud helper makes")
            error.hint = "its option --servers sets another limit"
            raise error
        if _characters([spec.image, spec.flavor, spec.metadata]) > _LONGEST_RECORD:
            raise HelperRefused(f"the record of the server {spec.id} has more than {_LONGEST_RECORD} characters")
        for what, most in _LARGEST.items():
            found: Any = spec.flavor.get(what) or (what == "disk" and 1)
            if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found <= most:
                raise HelperRefused(f"the flavor of the server {spec.id} must have '{what}' from 1 to {most}")
        self._room(spec, known, begun)
        pool = IPv4Network(self.settings.external_cidr)
        for nic in spec.nics:
            for address in nic.floating:
                if address not in pool:
                    raise self._foreign(f"the floating address {address}")

    def _room(self, spec: ServerSpec, known: Known, begun: Mapping[str, Size]) -> None:
        there = dict(known.sizes())
        before, wanted = there.pop(spec.id, (0.0, 0.0)), size_of(spec)
        for id, (memory, disk) in begun.items():
            now = there.get(id, (0.0, 0.0))
            there[id] = max(now[0], memory), max(now[1], disk)
        for place, (option, most, unit) in enumerate((("memory", self.memory, "MiB"), ("disk", self.disk, "GiB"))):
            taken = sum(size[place] for size in there.values())
            if wanted[place] > before[place] and taken + wanted[place] > most:
                error = HelperRefused(
                    f"servers have {taken:.0f} {unit} of {option} together: {wanted[place]:.0f} more for"
                    f" {spec.id} are beyond the {most:.0f} that the cloud helper gives"
                )
                error.hint = f"its option --{option} sets another limit"
                raise error

    def _network(self, network: NetworkSpec, known: Known) -> None:
        for other in known.networks():
            if other.id == network.id and other.project != network.project:
                raise HelperRefused(f"the network {network.id} belongs to another project")
        pool = IPv4Network(self.settings.external_cidr)
        for subnet in network.subnets:
            if network.external and not (isinstance(subnet.cidr, IPv4Network) and subnet.cidr.subnet_of(pool)):
                raise self._foreign(f"the pool {subnet.cidr}")
            if subnet.leased and not handed_out(self.settings, subnet.cidr):
                raise self._foreign(f"the network {subnet.cidr}")

    def _foreign(self, what: str) -> HelperRefused:
        error = HelperRefused(f"{what} is none that the cloud helper leads to servers")
        error.hint = "the file of its option --settings has to say of addresses what the settings of the service say"
        return error


def _characters(value: Any, depth: int = 0) -> int:
    if depth > _DEEPEST:
        raise HelperRefused("the record of a server is too deep")
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, (list, tuple)):
        return sum(_characters(item, depth + 1) for item in value)
    return len(str(value))


def _whose(spec: ServerSpec) -> tuple[str, str]:
    return spec.owner.project, spec.owner.environment
