"""``io.murano.system.NetworkExplorer``: what there is in the network service (CORE_LIBRARY.md 3)."""

from __future__ import annotations

from typing import Any

from vetro.library.natives.common import perform, private, whole
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.types.native import method, state
from vetro.yaql.resolve.signature import Param, Type
from vetro.yaql.values import freeze

EXPLORER = "io.murano.system.NetworkExplorer"


class RouterNotFound(MuranoError):
    """The cloud has no router for new networks, and may not make one."""

    code = "LIB220"
    kind = "key-error"
    aliases = ("KeyError",)


def _ask(cx: Any, this: Any, query: str, **args: Any) -> Any:
    region = private(whole(this), EXPLORER, "_regionName") or None
    return perform(cx, "network", region=region, query=query, **args)


_VERSION = Param("ipVersion", Type.INT, 4)
_ROUTER = Param("routerId", Type.STR)


class NetworkExplorer:
    """Each method is one question; records are mappings as the service has them."""

    @method("getDefaultRouter")
    def default_router(cx: Any, this: Any) -> str:
        """The id of the router for new networks. Raises `RouterNotFound`, and what the host says of one unfit."""
        found = _ask(cx, this, "router")
        if found is None:
            raise RouterNotFound(
                "the cloud has no router for new networks",
                hint="name one in the network's externalRouterId, or set its autoUplink to false",
            )
        return str(found)

    @method("getAvailableCidr", params=(Param("routerId", Type.STR, nullable=True), Param("netId", Type.STR), _VERSION))
    def available_cidr(cx: Any, this: Any, router: str | None, network: str, version: int = 4) -> Any:
        """A block of addresses that overlaps no subnet of the router; null when none is left."""
        return _ask(cx, this, "cidr", router=router, network=network, version=version)

    @method("getDefaultDns", params=(_VERSION,))
    def default_dns(cx: Any, this: Any, version: int = 4) -> Any:
        """Addresses of the configured name servers of an IP version."""
        return _ask(cx, this, "dns", version=version) or ()

    @method("getExternalNetworkIdForRouter", params=(_ROUTER,))
    def external_of_router(cx: Any, this: Any, router: str) -> Any:
        """The id of the outer network that a router leads to; null when there is none."""
        return _ask(cx, this, "external_of_router", router=router)

    @method("getExternalNetworkIdForNetwork", params=(Param("networkId", Type.STR),))
    def external_of_network(cx: Any, this: Any, network: str) -> Any:
        """The id of the outer network that a network's routers lead to; null when there is none."""
        return _ask(cx, this, "external_of_network", network=network)

    @method("listNetworks")
    def networks(cx: Any, this: Any) -> Any:
        """All networks."""
        return _ask(cx, this, "networks")

    @method("listSubnetworks")
    def subnetworks(cx: Any, this: Any) -> Any:
        """All subnets."""
        return _ask(cx, this, "subnets")

    @method("listPorts")
    def ports(cx: Any, this: Any) -> Any:
        """All ports."""
        return _ask(cx, this, "ports")

    @method("listNeutronExtensions")
    def extensions(cx: Any, this: Any) -> Any:
        """What the service offers beyond its base; asked once, it does not change while a deployment runs.

        Where the engine's settings say it (``networking.extensions``: aliases) nobody is asked.
        """
        told = (cx.session.settings.get("networking") or {}).get("extensions")
        if told is not None:
            return freeze([{"alias": alias, "name": alias, "description": ""} for alias in told])
        values = state(whole(this))
        if "extensions" not in values:
            values["extensions"] = _ask(cx, this, "extensions")
        return values["extensions"]
