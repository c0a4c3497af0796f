"""Addresses of subnets: which are free, and who has the others."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from vetro.clouds.drivers import values
from vetro.clouds.interface import CloudError, Conflict, Owner
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.snapshot_rows import addresses_kept

#: Places of a subnet that are handed out at most: SQLite's integers end, and nobody needs more.
_LAST_PLACE = 1 << 62


class NoAddressLeft(CloudError):
    """A subnet has no free address; the message says how large it is."""

    code = "CLD128"


def network_of(subnet: Mapping[str, Any]) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """The network of a subnet's record."""
    return _network(subnet["cidr"])


@lru_cache(maxsize=1024)
def _network(cidr: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(cidr)


def mac_of(port: str) -> str:
    """The hardware address of a port, from its id."""
    digits = hashlib.sha256(port.encode()).hexdigest()
    return f"fa:16:3e:{digits[0:2]}:{digits[2:4]}:{digits[4:6]}"


def pools_of(subnet: Mapping[str, Any]) -> list[dict[str, str]]:
    """The allocation pools: those of the record, else everything but the ends and the gateway."""
    if subnet.get("allocation_pools"):
        return list(subnet["allocation_pools"])
    net = network_of(subnet)
    last = min(net.num_addresses - (2 if net.version == 4 and net.prefixlen < 31 else 1), _LAST_PLACE)
    return [{"start": str(net[1 if net.num_addresses > 2 else 0]), "end": str(net[last])}]


class Addresses:
    """Hands out addresses; call it inside of a transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, subnet: Mapping[str, Any], holder: str, owner: Owner, wanted: str | None = None) -> str:
        """An address for ``holder`` (an id), the wanted one or the next. Raises `NoAddressLeft`, `Conflict`.

        Those that a snapshot will want back go to nobody; by name its own environment has them.
        """
        net = network_of(subnet)
        if wanted is not None:
            address = values.address(wanted)
            if address not in net:
                raise Conflict(f"the address {wanted} is not in the subnet {net}")
            place = int(address) - int(net.network_address)
            if place in addresses_kept(self._database, subnet["id"], owner):
                raise Conflict(f"the address {wanted} is kept for the snapshot of another environment")
            self._put(subnet, place, holder, str(address))
            return str(address)
        gateway = subnet.get("gateway_ip")
        taken = int(ipaddress.ip_address(gateway)) - int(net.network_address) if gateway else -1
        for pool in pools_of(subnet):
            first = int(ipaddress.ip_address(pool["start"])) - int(net.network_address)
            last = int(ipaddress.ip_address(pool["end"])) - int(net.network_address)
            free = self._free(subnet["id"], first, last, taken)
            if free is not None:
                self._put(subnet, free, holder, None)
                return str(net[free])
        raise NoAddressLeft(
            f"the subnet {subnet.get('name') or subnet['id']} ({net}) has no free address; use a larger one"
        )

    def _free(self, subnet: str, first: int, last: int, gateway: int) -> int | None:
        row = self._database.row(
            "SELECT max(place) FROM addresses WHERE subnet = ? AND place BETWEEN ? AND ?", (subnet, first, last)
        )
        kept = [place for place in addresses_kept(self._database, subnet) if first <= place <= last]
        highest = max([first - 1, *kept, *(row[:1] if row is not None and row[0] is not None else ())])
        place = highest + 1 + (highest + 1 == gateway)
        if place <= last:
            return int(place)
        # The end was reached: look for what was given back.
        used = self._database.rows(
            "SELECT place FROM addresses WHERE subnet = ? AND place BETWEEN ? AND ?", (subnet, first, last)
        )
        expected = first
        for place in sorted({*kept, *(place for (place,) in used)}):
            expected += expected == gateway
            if place > expected:
                return expected
            expected = max(expected, place + 1)
        return None

    def _put(self, subnet: Mapping[str, Any], place: int, holder: str, wanted: str | None) -> None:
        row = self._database.row("SELECT holder FROM addresses WHERE subnet = ? AND place = ?", (subnet["id"], place))
        if row is not None and row[0] != holder:
            raise Conflict(f"the address {wanted} is taken by {row[0]}")
        if wanted is not None and wanted == subnet.get("gateway_ip"):
            raise Conflict(f"the address {wanted} is that of the gateway")
        self._database.run("INSERT OR REPLACE INTO addresses VALUES (?, ?, ?)", (subnet["id"], place, holder))

    def release(self, holder: str) -> None:
        """Gives back all addresses of a holder."""
        self._database.run("DELETE FROM addresses WHERE holder = ?", (holder,))
