"""Bridges, interfaces, addresses and routes, on this machine or in a network namespace of it.

On this machine: links, ``vt`` + cloud + project. In the namespace of a project: ``br`` + network, ``po`` + port.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from vetro.clouds.drivers.errors import HostFailed
from vetro.clouds.drivers.spec_files import digest
from vetro.clouds.drivers.specs import NetworkSpec, SubnetSpec
from vetro.clouds.drivers.tools import attempt, run

SYS = Path("/sys/class/net")


def cloud_id(directory: Path) -> str:
    """Five digits that all names of the cloud kept in ``directory`` begin with."""
    return digest(os.path.realpath(directory), 5)


def bridge_name(network: str) -> str:
    """The bridge of a network."""
    return f"br{digest(network, 13)}"


def port_name(port: str) -> str:
    """The end at the bridge of a server's interface."""
    return f"po{digest(port, 13)}"


def ours(cloud: str) -> list[str]:
    """Interfaces of this machine that belong to a cloud: links, and what earlier versions made here."""
    return sorted(name for name in os.listdir(SYS) if name.startswith((f"vt{cloud}", f"vx{cloud}")))


def exists(name: str) -> bool:
    """Whether this machine has an interface of this name."""
    return (SYS / name).exists()


def inside(namespace: str) -> set[str]:
    """The interfaces of a namespace."""
    return {str(item["ifname"]) for item in _json(["-n", namespace, "-j", "link", "show"])}


def ensure_bridge(namespace: str, name: str, network: NetworkSpec) -> None:
    """Makes the bridge, gives it the gateways' addresses, sets it up. Raises `HostFailed`."""
    wanted = {address for subnet in network.subnets if (address := gateway(subnet)) is not None}
    ip = ["ip", "-n", namespace]
    if name not in inside(namespace):
        run([*ip, "link", "add", name, "type", "bridge", "forward_delay", "0"])
    present = {
        f"{item['local']}/{item['prefixlen']}"
        for link in _json(["-n", namespace, "-j", "-4", "addr", "show", "dev", name])
        for item in link.get("addr_info", ())
    }
    for address in sorted(wanted - present):
        run([*ip, "addr", "add", address, "dev", name])
    for address in sorted(present - wanted):
        run([*ip, "addr", "del", address, "dev", name])
    run([*ip, "link", "set", name, "up"])


def gateway(subnet: SubnetSpec) -> str | None:
    """The gateway's address with its prefix length; None: there is none, and servers reach nobody else."""
    if not isinstance(subnet.gateway, IPv4Address) or not isinstance(subnet.cidr, IPv4Network):
        return None
    return f"{subnet.gateway}/{subnet.cidr.prefixlen}"


def remove(name: str) -> bool:
    """Removes an interface of this machine; False when there was none. Raises `HostFailed` when it stays."""
    if not exists(name):
        return False
    if not attempt(["ip", "link", "del", name]) and exists(name):
        raise HostFailed(f"the network interface {name} cannot be removed")
    return True


def remove_inside(namespace: str, name: str) -> bool:
    """Removes an interface of a namespace; False when there was none. Raises `HostFailed` when it stays."""
    if attempt(["ip", "-n", namespace, "link", "del", name]):
        return True
    if name in inside(namespace):
        raise HostFailed(f"the network interface {name} of the namespace {namespace} cannot be removed")
    return False


def set_routes(device: str, wanted: Collection[IPv4Network], via: Sequence[str], namespace: str | None = None) -> None:
    """Leads these networks to a device, and none else; ``via``: further words of the route. Raises `HostFailed`."""
    at = [] if namespace is None else ["-n", namespace]
    shown = _json([*at, "-j", "-4", "route", "show", "dev", device, "proto", "static"])
    present = {IPv4Network(str(route["dst"])) for route in shown if route.get("dst") != "default"}
    for net in sorted(set(wanted) - present):
        run(["ip", *at, "route", "replace", str(net), *via, "dev", device, "proto", "static"])
    for net in sorted(present - set(wanted)):
        attempt(["ip", *at, "route", "del", str(net), "dev", device, "proto", "static"])


def taken() -> dict[str, str]:
    """Networks that this machine reaches already: CIDR -> interface."""
    routes = _json(["-j", "-4", "route", "show"])
    return {
        str(route["dst"]): str(route["dev"]) for route in routes if route.get("dst") != "default" and route.get("dev")
    }


def overlapping(net: IPv4Network, known: Mapping[str, str], device: str) -> str | None:
    """The interface among ``known`` (as `taken` gives them), other than ``device``, that leads to part of ``net``."""
    return next((at for cidr, at in known.items() if at != device and net.overlaps(IPv4Network(cidr))), None)


def uplinks() -> list[str]:
    """Interfaces that lead outside."""
    return sorted({str(route["dev"]) for route in _json(["-j", "-4", "route", "show", "default"]) if route.get("dev")})


def _json(words: Sequence[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(["ip", *words]) or "[]")
    return found
