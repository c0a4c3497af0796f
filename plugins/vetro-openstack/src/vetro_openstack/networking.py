"""What the library's NetworkExplorer asks of Neutron: routers, plan of addresses, raw records (CORE_LIBRARY.md 3)."""

from __future__ import annotations

import ipaddress
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from vetro.clouds.interface import NotFound
from vetro_openstack.catalog import QueryUnknown, text_argument
from vetro_openstack.link import Link
from vetro_openstack.settings import OpenStackSettings

#: Seconds that a router may take to get its gateway (CORE_LIBRARY.md 3).
_GATEWAY_SECONDS = 30.0
_INTERFACES = (
    "network:router_interface",
    "network:router_interface_distributed",
    "network:ha_router_replicated_interface",
)
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Networking:
    """Answers of Neutron. Blocks that were handed out stay with their networks while this object lives."""

    def __init__(self, settings: OpenStackSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._given: dict[tuple[str, str, int], _Network] = {}

    def answer(self, link: Link, query: str, args: Mapping[str, Any]) -> Any:
        """The answer of a query of the effect ``network``. Raises `QueryUnknown`, `NotFound`, `NotAvailable`."""
        known: Mapping[str, Callable[[], Any]] = {
            "router": lambda: self._router(link),
            "cidr": lambda: self._cidr(
                link,
                text_argument(args, "router", "an id"),
                text_argument(args, "network", "an id"),
                int(args.get("version") or 4),
            ),
            "dns": lambda: self._dns(int(args.get("version") or 4)),
            "external_of_router": lambda: _external_of_router(link, text_argument(args, "router", "an id")),
            "external_of_network": lambda: _external_of_network(link, text_argument(args, "network", "an id")),
            "networks": lambda: _all(link, "networks"),
            "subnets": lambda: _all(link, "subnets"),
            "routers": lambda: self._routers(link),
            "ports": lambda: _all(link, "ports"),
            "extensions": lambda: (link.get("network", "/extensions") or {}).get("extensions") or [],
        }
        if query not in known:
            raise QueryUnknown(f"the network service has no query '{query}'; there are {', '.join(known)}")
        return known[query]()

    def _router(self, link: Link) -> str:
        name, until = self._settings.router, time.monotonic() + _GATEWAY_SECONDS
        with self._lock:  # one router, however many ask
            found = self._find_router(link)
            if found is None:
                found = self._make_router(link)
        while not found.get("external_gateway_info"):
            if time.monotonic() > until:
                raise NotFound(f"the router '{name}' has no gateway to an external network; set one")
            link.pause(1.0)
            found = self._find_router(link) or {}
        return str(found["id"])

    def _find_router(self, link: Link) -> dict[str, Any] | None:
        return next(iter(self._routers(link, name=self._settings.router)), None)

    def _routers(self, link: Link, **params: str) -> list[dict[str, Any]]:
        """Those of the project: an administrator's user sees them all."""
        project = link.project()
        return [
            row for row in _all(link, "routers", **params) if row.get("tenant_id", row.get("project_id")) == project
        ]

    def _make_router(self, link: Link) -> dict[str, Any]:
        name, wanted = self._settings.router, self._settings.external_network
        if not self._settings.create_router:
            raise NotFound(f"there is no router '{name}', and networking.create_router is off: make it")
        outside = _all(link, "networks", **{"router:external": "true"})
        network = next((row for row in outside if wanted in (row["id"], row.get("name"))), None)
        if network is None:
            names = ", ".join(sorted(str(row.get("name") or row["id"]) for row in outside)) or "none"
            raise NotFound(
                f"there is no external network '{wanted}'; there are: {names}; set networking.external_network"
            )
        body = {"router": {"name": name, "external_gateway_info": {"network_id": network["id"]}}}
        return dict(link.request("network", "POST", "/routers", json=body, again=False)["router"])

    def _cidr(self, link: Link, router: str, network: str, version: int) -> str | None:
        settings = self._settings
        start = settings.plan_ipv4 if version == 4 else "fd76:6574:726f::"
        networks = max(1, (settings.max_networks - 1).bit_length())
        hosts = max(2, (settings.max_hosts - 1).bit_length()) if version == 4 else 64
        base, bits = int(ipaddress.ip_address(start)), 32 if version == 4 else 128
        count = 1 << networks
        first = zlib.crc32(network.encode()) % count
        ports = link.pages("network", "/ports", "ports", device_id=router)
        joined = {ip["subnet_id"] for port in ports for ip in port.get("fixed_ips") or ()}
        taken = [
            ipaddress.ip_network(row["cidr"])
            for row in _all(link, "subnets")
            if row["id"] in joined and row.get("ip_version") == version
        ]
        with self._lock:
            taken += [
                block
                for (other, name, kind), block in self._given.items()
                if other == router and name != network and kind == version
            ]
            for number in range(count):
                block = ipaddress.ip_network((base + ((first + number) % count << hosts), bits - hosts), strict=False)
                if not any(block.overlaps(one) for one in taken):
                    self._given[router, network, version] = block
                    return str(block)
        return None

    def _dns(self, version: int) -> list[str]:
        return [item for item in self._settings.dns_ipv4 if ipaddress.ip_address(item).version == version]


def _all(link: Link, what: str, **params: str) -> list[dict[str, Any]]:
    return list(link.pages("network", f"/{what}", what, **params))


def _external_of_router(link: Link, router: str) -> str | None:
    answer = link.get("network", f"/routers/{router}")
    if answer is None:
        raise NotFound(f"there is no router '{router}'")
    info = answer["router"].get("external_gateway_info")
    return str(info["network_id"]) if info else None


def _external_of_network(link: Link, network: str) -> str | None:
    for port in link.pages("network", "/ports", "ports", network_id=network):
        if port.get("device_owner") in _INTERFACES:
            answer = link.get("network", f"/routers/{port['device_id']}")
            info = answer["router"].get("external_gateway_info") if answer else None
            if info:
                return str(info["network_id"])
    return None
