"""`Hosts`: the names by which the service may be called (setting ``server.allowed_hosts``).

A page of a stranger whose name was made to lead to this machine gets nothing of a service that knows its own names.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from vetro.server.config.config import Config

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ANYWHERE = ("", "0.0.0.0", "::")


def names(config: Config) -> list[str]:
    """The names: those of the setting, else what follows from where the service listens and what users are told."""
    given = [str(name).lower() for name in config["server.allowed_hosts"]]
    if given:
        return given
    host, public = str(config["server.host"]).lower(), urlsplit(str(config["server.public_url"])).hostname
    found = [*_LOOPBACK, *([public.lower()] if public else [])]
    return [*found, socket.gethostname().lower()] if host in _ANYWHERE else [*found, host]


class Hosts:
    """Where the service listens on all addresses and the setting names none, each address is one of its names: no
    name can be made to lead to an address that is written as such."""

    def __init__(self, config: Config) -> None:
        self._names = frozenset(names(config))
        self._ends = tuple(name for name in self._names if name.startswith("."))
        self._all = "*" in self._names
        self._addresses = not config["server.allowed_hosts"] and str(config["server.host"]) in _ANYWHERE

    def allow(self, header: str) -> bool:
        """Whether the header ``Host`` of a request, with or without a port, names the service. No header does."""
        if self._all or not header:
            return True
        name = bare(header)
        if name in self._names or f".{name}" in self._ends or name.endswith(self._ends or ("\n",)):
            return True
        return self._addresses and _is_address(name)


def bare(header: str) -> str:
    """A name or an address without its port and brackets, in lower case."""
    text = header.strip().lower()
    if text.startswith("["):
        name, _, port = text[1:].partition("]")
        return name if not port or (port.startswith(":") and port[1:].isdigit()) else text
    name, _, port = text.rpartition(":")
    return (name if name and port.isdigit() else text).rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(address: str) -> bool:
    """Whether this is an address, or the name, by which a machine reaches itself."""
    if address == "localhost":
        return True
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def network_of(address: str) -> str:
    """What counts as one address: an IPv4 address, also where IPv6 carries it; the /64 of another IPv6 address."""
    try:
        found = ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(found, IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{IPv6Address(int(found) >> 64 << 64)}/64"
