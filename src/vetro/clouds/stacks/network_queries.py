"""What the library's NetworkExplorer asks: routers, the plan of addresses, raw records (CORE_LIBRARY.md 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vetro.clouds.drivers.values import Name, ValueInvalid
from vetro.clouds.interface import CloudError, NotFound, Owner
from vetro.clouds.stacks.address_plan import Plan
from vetro.clouds.stacks.default_networks import ROUTER_INTERFACE, default_router_id, ensure_defaults, router_record
from vetro.clouds.stacks.services import Services
from vetro.clouds.stacks.settings import EXTENSIONS
from vetro.clouds.stacks.state.inventory import Inventory


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
        ensure_defaults(services.database, services.settings, region, owner.project)

    def answer(self, query: str, args: Mapping[str, Any]) -> Any:
        """The answer of a query of the effect ``network``. Raises `QueryInvalid`, `NotFound`."""
        known: Mapping[str, Callable[[], Any]] = {
            "router": self.router,
            "cidr": lambda: self.cidr(_text(args, "router"), _text(args, "network"), _version(args)),
            "dns": lambda: self.dns(_version(args)),
            "external_of_router": lambda: self.external_of_router(_text(args, "router")),
            "external_of_network": lambda: self.external_of_network(_text(args, "network")),
            "networks": self.networks,
            "subnets": lambda: self._things.all("subnet"),
            "routers": lambda: self._things.all("router"),
            "ports": lambda: self._things.all("port"),
            "extensions": lambda: [{"alias": alias, "name": alias, "description": ""} for alias in EXTENSIONS],
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
                id = default_router_id(settings, self._things.region, self._owner.project)
                found = router_record(id, settings.router, external["id"], self._owner.project)
                self._things.save("router", found)
        if not found.get("external_gateway_info"):
            raise NotFound(f"the router '{settings.router}' has no gateway to an external network; set one")
        return str(found["id"])

    def cidr(self, router: str, network: str, version: int) -> str | None:
        """A block of the address plan that overlaps no subnet of the project; null: it has them all itself.

        The same network gets the same block again. See `vetro.clouds.stacks.address_plan`.
        """
        elsewhere, services = self._services.driver.taken(), self._services
        with services.database.transaction():
            plan = Plan(services.database, services.settings)
            return plan.block(self._owner.project, router, network, version, elsewhere, services.clock())

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
    try:
        return Name(value)
    except ValueInvalid as error:
        raise QueryInvalid(f"'{name}' of the query: {error}") from None


def _version(args: Mapping[str, Any]) -> int:
    value = args.get("version") or 4
    if isinstance(value, bool) or value not in (4, 6):
        raise QueryInvalid("'version' of the query is 4 or 6")
    return int(value)
