"""Bridges and the two ends of a server's interfaces. Names: ``vt`` + cloud + network, ``vx`` + cloud + port."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vetro.clouds.local.drivers.base import NetworkSpec, SubnetSpec
from vetro.clouds.local.host.errors import AddressTaken, HostFailed
from vetro.clouds.local.host.run import attempt, run
from vetro.clouds.local.values import IPInterface, IPNetwork

SYS = Path("/sys/class/net")


def digest(text: str, length: int) -> str:
    """Hexadecimal digits for a name: interface names have at most 15 letters."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def cloud_id(directory: Path) -> str:
    """Five digits that all names of the cloud kept in ``directory`` begin with."""
    return digest(os.path.realpath(directory), 5)


def bridge_name(cloud: str, network: str) -> str:
    """The bridge of a network."""
    return f"vt{cloud}{digest(network, 7)}"


def port_name(cloud: str, port: str) -> str:
    """This machine's end of a server's interface."""
    return f"vx{cloud}{digest(port, 7)}"


def ours(cloud: str) -> list[str]:
    """Names of all bridges and ends of this cloud that exist now."""
    return sorted(name for name in os.listdir(SYS) if name.startswith((f"vt{cloud}", f"vx{cloud}")))


def exists(name: str) -> bool:
    """Whether there is an interface of this name."""
    return (SYS / name).exists()


def ensure_bridge(name: str, network: NetworkSpec) -> None:
    """Makes the bridge, gives it the gateways' addresses, sets it up. Raises `AddressTaken`, `HostFailed`."""
    wanted = {address for subnet in network.subnets if (address := gateway(subnet)) is not None}
    _check_free(name, [subnet.cidr for subnet in network.subnets if subnet.cidr.version == 4])
    if not exists(name):
        # No address of IPv6 on the bridge: guests reach nothing of this machine by it.
        run(["ip", "link", "add", name, "type", "bridge", "forward_delay", "0"])
        (Path("/proc/sys/net/ipv6/conf") / name / "disable_ipv6").write_text("1", "ascii")
    present = {
        f"{item['local']}/{item['prefixlen']}"
        for link in json.loads(run(["ip", "-j", "-4", "addr", "show", "dev", name]))
        for item in link.get("addr_info", ())
    }
    for address in sorted(wanted - present):
        run(["ip", "addr", "add", address, "dev", name])
    for address in sorted(present - wanted):
        run(["ip", "addr", "del", address, "dev", name])
    run(["ip", "link", "set", name, "up"])


def gateway(subnet: SubnetSpec) -> str | None:
    """The address of this machine in a subnet, with its prefix length; None: it has none there and reaches nobody."""
    if subnet.gateway is None or subnet.cidr.version == 6:
        return None
    return f"{subnet.gateway}/{subnet.cidr.prefixlen}"


def remove(name: str) -> bool:
    """Removes an interface; False when there was none. Raises `HostFailed` when it stays."""
    if not exists(name):
        return False
    if not attempt(["ip", "link", "del", name]) and exists(name):
        raise HostFailed(f"the network interface {name} cannot be removed")
    return True


def set_routes(bridge: str, addresses: Sequence[IPInterface]) -> None:
    """Leads these single addresses (floating ones) to a bridge, and none else. Raises `AddressTaken`."""
    shown = json.loads(run(["ip", "-j", "-4", "route", "show", "dev", bridge, "proto", "static"]) or "[]")
    present = {str(route["dst"]) for route in shown}
    wanted = {str(address.ip) for address in addresses}
    others = taken() if wanted - present else {}
    for address in sorted(wanted - present):
        if others.get(address, bridge) != bridge:
            error = AddressTaken(f"the address {address} belongs to the interface {others[address]} on this machine")
            error.hint = "another local cloud gave it to a server: use another pool (setting external_cidr)"
            raise error
        run(["ip", "route", "replace", f"{address}/32", "dev", bridge, "proto", "static"])
    for address in sorted(present - wanted):
        attempt(["ip", "route", "del", address, "dev", bridge, "proto", "static"])


def taken() -> dict[str, str]:
    """Networks that this machine reaches already: CIDR -> interface. The cloud's address plan avoids them."""
    routes: list[dict[str, Any]] = json.loads(run(["ip", "-j", "-4", "route", "show"]) or "[]")
    return {
        str(route["dst"]): str(route["dev"]) for route in routes if route.get("dst") != "default" and route.get("dev")
    }


def uplinks() -> list[str]:
    """Interfaces that lead outside."""
    routes: list[dict[str, Any]] = json.loads(run(["ip", "-j", "-4", "route", "show", "default"]) or "[]")
    return sorted({str(route["dev"]) for route in routes if route.get("dev")})


def _check_free(bridge: str, wanted: Sequence[IPNetwork]) -> None:
    for found, device in taken().items():
        if device != bridge and any(net.overlaps(ipaddress.ip_network(found, strict=False)) for net in wanted):
            whose = "another local cloud's network" if device.startswith("vt") else f"the interface {device}"
            error = AddressTaken(
                f"the network {', '.join(map(str, wanted))} overlaps {found} of {whose} on this machine"
            )
            error.hint = "delete the other environment, or give this network another range"
            raise error
