"""What the library's NetworkExplorer asks: routers, the plan of addresses, raw records (CORE_LIBRARY.md 3)."""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from vetro.clouds.interface import CloudError, NotFound, Owner
from vetro.clouds.local.inventory import Inventory, fixed_id
from vetro.clouds.local.seed import router_record
from vetro.clouds.local.services import Services
from vetro.clouds.local.wiring import ROUTER_INTERFACE

#: Seconds for which a block that was handed out stays reserved while no subnet takes it.
_RESERVED = 3600.0
_EXTENSIONS = ("security-group", "router", "external-net", "port-security", "allowed-address-pairs", "quotas")


class QueryInvalid(CloudError):
    """A query to the network service that there is not, or without what it needs."""

    kind = "bad-argument"
    code = "CLD134"


class Networking:
    """Answers of the network service of one region for one owner."""

    def __init__(self, services: Services, owner: Owner, region: str) -> None:
        self._services = services
        self._owner = owner
        self._things: Inventory = services.things(region, owner.project)

    def answer(self, query: str, args: Mapping[str, Any]) -> Any:
        """The answer of a query of the effect ``network``. Raises `QueryInvalid`, `NotFound`."""
        known: Mapping[str, Callable[[], Any]] = {
            "router": self.router,
            "cidr": lambda: self.cidr(_text(args, "router"), _text(args, "network"), int(args.get("version") or 4)),
            "dns": lambda: self.dns(int(args.get("version") or 4)),
            "external_of_router": lambda: self.external_of_router(_text(args, "router")),
            "external_of_network": lambda: self.external_of_network(_text(args, "network")),
            "networks": self.networks,
            "subnets": lambda: self._things.all("subnet"),
            "ports": lambda: self._things.all("port"),
            "extensions": lambda: [{"alias": alias, "name": alias, "description": ""} for alias in _EXTENSIONS],
        }
        if query not in known:
            raise QueryInvalid(f"the network service has no query '{query}'; there are {', '.join(known)}")
        return known[query]()

    def router(self) -> str:
        """Id of the router that networks join; made under its fixed name when it is missing and that is allowed."""
        settings = self._services.settings
        with self._services.database.transaction():
            found = self._things.find("router", settings.router)
            if found is None:
                if not settings.create_router:
                    raise NotFound(f"there is no router '{settings.router}', and making it is not allowed")
                external = self._things.get("network", settings.external_network)
                id = fixed_id("router", self._things.region, self._owner.project, settings.router)
                found = router_record(id, settings.router, external["id"], self._owner.project)
                self._things.save("router", found)
        if not found.get("external_gateway_info"):
            raise NotFound(f"the router '{settings.router}' has no gateway to an external network; set one")
        return str(found["id"])

    def cidr(self, router: str, network: str, version: int) -> str | None:
        """A block that overlaps no subnet on the router, nor what this machine uses otherwise; null: all are taken.

        The same network gets the same block again, and what was handed out to others is kept for them for a while.
        """
        settings, database = self._services.settings, self._services.database
        start = settings.plan_ipv4 if version == 4 else settings.plan_ipv6
        networks = max(1, (settings.max_networks - 1).bit_length())
        hosts = max(2, (settings.max_hosts - 1).bit_length()) if version == 4 else 64
        base, bits = int(ipaddress.ip_address(start)), 32 if version == 4 else 128
        count = 1 << networks
        now = self._services.clock()
        nets = (ipaddress.ip_network(cidr, strict=False) for cidr in self._services.driver.taken())
        elsewhere = [net for net in nets if net.version == version]
        with database.transaction():
            database.run("DELETE FROM plans WHERE at < ?", (now - _RESERVED,))
            taken = [*self._taken(router, network, version), *elsewhere]
            mine = database.row(
                "SELECT cidr FROM plans WHERE router = ? AND network = ? AND project = ?",
                (router, network, self._owner.project),
            )
            same = ipaddress.ip_network(mine[0]) if mine is not None else None
            if same is not None and same.version == version and not any(same.overlaps(one) for one in taken):
                return str(same)
            first = zlib.crc32(network.encode()) % count
            for number in range(count):
                block = ipaddress.ip_network((base + ((first + number) % count << hosts), bits - hosts), strict=False)
                if not any(block.overlaps(one) for one in taken):
                    database.run(
                        "INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?, ?)",
                        (router, network, str(block), self._owner.project, now),
                    )
                    return str(block)
        return None

    def _taken(self, router: str, network: str, version: int) -> list[Any]:
        everything = self._services.things(self._things.region, None)
        found = []
        for port in everything.all("port", holder=router):
            for ip in port["fixed_ips"]:
                subnet = everything.find("subnet", ip["subnet_id"])
                if subnet is not None and subnet["ip_version"] == version:
                    found.append(ipaddress.ip_network(subnet["cidr"]))
        for cidr, other, project in self._services.database.rows(
            "SELECT cidr, network, project FROM plans WHERE router = ?", (router,)
        ):
            if (other, project) != (network, self._owner.project) and ipaddress.ip_network(cidr).version == version:
                found.append(ipaddress.ip_network(cidr))
        return found

    def dns(self, version: int) -> list[str]:
        """The configured name servers of an IP version."""
        settings = self._services.settings
        return list(settings.dns_ipv4 if version == 4 else settings.dns_ipv6)

    def external_of_router(self, router: str) -> str | None:
        """Id of the network behind a router's gateway. Raises `NotFound`."""
        info = self._things.get("router", router).get("external_gateway_info")
        return info["network_id"] if info else None

    def external_of_network(self, network: str) -> str | None:
        """Id of an external network that a network is joined to by a router; null without one."""
        record = self._things.find("network", network)
        if record is not None:
            for port in self._things.all("port", parent=record["id"]):
                if port["device_owner"] == ROUTER_INTERFACE:
                    found = self._services.things(self._things.region, None).find("router", port["device_id"])
                    if found is not None and found.get("external_gateway_info"):
                        return str(found["external_gateway_info"]["network_id"])
        return None

    def networks(self) -> list[dict[str, Any]]:
        """Records of networks with the ids of their subnets."""
        made = self._things.all("network")
        for record in made:
            record["subnets"] = [subnet["id"] for subnet in self._things.all("subnet", parent=record["id"])]
        return made


def _text(args: Mapping[str, Any], name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str) or not value:
        raise QueryInvalid(f"the query needs '{name}', an id or a name")
    return value
