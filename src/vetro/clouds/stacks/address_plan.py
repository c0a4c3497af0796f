"""The operator's plan of addresses: blocks for new networks, and which of them belong to one project alone (leases).

Projects do not see each other's networks, so any block serves a project that has no other use for it. But this machine
can route a block to one project only. So each is handed out once as long as there are enough, and when a network with
exactly a block of the plan is made, the project gets it as a *lease*, unless another project has it. What is no block
of the plan is never leased: a tenant's own choice of addresses stays within its project.
"""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from vetro.clouds.drivers.values import IPNetwork, network
from vetro.clouds.stacks.settings import StackSettings
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.snapshot_rows import blocks_kept

#: Seconds for which a block that was handed out stays reserved while no subnet takes it.
_RESERVED = 3600.0


class Plan:
    """The plan of one cloud. Call it in a transaction."""

    def __init__(self, database: Database, settings: StackSettings) -> None:
        self._database = database
        self._settings = settings

    def block(
        self, project: str, router: str, name: str, version: int, elsewhere: Iterable[str], now: float
    ) -> str | None:
        """A block for the network ``name`` on a router of a project; the same one again for the same network.

        It overlaps none of the project's own; None when there is no such block. Blocks that other projects have, or
        that this machine uses otherwise (``elsewhere``), are handed out when no others are left: they are not routed.
        """
        self._database.run("DELETE FROM plans WHERE at < ?", (now - _RESERVED,))
        own = [*self._subnets(project, version), *self._reserved(version, project, but=(router, name))]
        row = self._database.row(
            "SELECT cidr FROM plans WHERE router = ? AND network = ? AND project = ?", (router, name, project)
        )
        same = [net for net in [network(row[0])] if net.version == version] if row is not None else []
        here = [net for net in map(network, elsewhere) if net.version == version]
        others = [*self._leased(project, version, project), *self._reserved(version, None, but_project=project)]
        for avoided in ([*own, *here, *others], [*own, *here], own):
            for found in (*same, *self._blocks(version, name)):
                if not _overlaps(found, avoided):
                    self._database.run(
                        "INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?, ?)", (router, name, str(found), project, now)
                    )
                    return str(found)
        return None

    def lease(self, subnet: Mapping[str, Any], project: str, elsewhere: Callable[[], Iterable[str]]) -> None:
        """Gives the subnet's block to the project alone; nothing when it is none of the plan, another one has it, or
        this machine uses it otherwise (``elsewhere``): then it leads there.
        """
        net = network(subnet["cidr"])
        if (
            self.leased(subnet["id"])
            or not handed_out(self._settings, net)
            or _overlaps(net, self._leased(None, 4, project))
        ):
            return
        if _overlaps(net, map(network, elsewhere())):
            return
        self._database.run("INSERT INTO leases VALUES (?, ?, ?)", (str(net), project, subnet["id"]))

    def leased(self, subnet: str) -> bool:
        """Whether a subnet (by id) has its block as a lease."""
        return self._database.row("SELECT 1 FROM leases WHERE subnet = ?", (subnet,)) is not None

    def all_leased(self) -> frozenset[str]:
        """The subnets (ids) that have their blocks as leases."""
        return frozenset(subnet for (subnet,) in self._database.rows("SELECT subnet FROM leases"))

    def release(self, subnet: str) -> None:
        """A subnet (by id) is gone; its block is free again."""
        self._database.run("DELETE FROM leases WHERE subnet = ?", (subnet,))

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _blocks(self, version: int, name: str) -> Iterator[IPNetwork]:
        """All blocks, from one on that follows from the name."""
        count, hosts = _size(self._settings, version)
        base, bits = _base(self._settings, version), 32 if version == 4 else 128
        first = zlib.crc32(name.encode()) % count
        for number in range(count):
            yield ipaddress.ip_network((base + ((first + number) % count << hosts), bits - hosts), strict=False)

    def _subnets(self, project: str, version: int) -> list[IPNetwork]:
        """Subnets of a project in all regions: they are in one namespace."""
        rows = self._database.rows(
            "SELECT json_extract(body, '$.cidr') FROM records WHERE kind = 'subnet' AND project = ?", (project,)
        )
        return [net for (cidr,) in rows if (net := network(cidr)).version == version]

    def _reserved(
        self, version: int, project: str | None, *, but: tuple[str, str] | None = None, but_project: str | None = None
    ) -> list[IPNetwork]:
        rows = self._database.rows("SELECT cidr, router, network, project FROM plans")
        return [
            net
            for cidr, router, name, whose in rows
            if (project is None or whose == project) and whose != but_project and (router, name) != but
            if (net := network(cidr)).version == version
        ]

    def _leased(self, but: str | None, version: int, project: str) -> list[IPNetwork]:
        """Leases of others than ``but``, and what snapshots of others than the project will want back."""
        rows = self._database.rows("SELECT cidr, project FROM leases")
        kept = blocks_kept(self._database, project)
        found = [*(cidr for cidr, whose in rows if whose != but), *kept]
        return [net for net in map(network, found) if net.version == version]


def _overlaps(net: IPNetwork, others: Iterable[IPNetwork]) -> bool:
    return any(net.overlaps(other) for other in others if other.version == net.version)


def handed_out(settings: StackSettings, net: IPNetwork) -> bool:
    """Whether this is a block of the plan, or the network of servers that name none: what may be leased."""
    if net.version != 4:
        return False
    count, hosts = _size(settings, 4)
    place, rest = divmod(int(net.network_address) - _base(settings, 4), 1 << hosts)
    whole = net.prefixlen == 32 - hosts and rest == 0 and 0 <= place < count
    return whole or net == network(settings.private_cidr)


def _size(settings: StackSettings, version: int) -> tuple[int, int]:
    """How many blocks there are, and how many bits each has for hosts."""
    hosts = max(2, (settings.max_hosts - 1).bit_length()) if version == 4 else 64
    return 1 << max(1, (settings.max_networks - 1).bit_length()), hosts


def _base(settings: StackSettings, version: int) -> int:
    return int(ipaddress.ip_address(settings.plan_ipv4 if version == 4 else settings.plan_ipv6))
