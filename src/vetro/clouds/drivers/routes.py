"""Which way this machine sends what is for an address: asked of the kernel, so rules and all tables count."""

from __future__ import annotations

import socket
import struct
from ipaddress import ip_address

from vetro.data_classes import dataclass

_HEADER, _ROUTE, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBBBBBBBI"), struct.Struct("=HH")
_GET, _REQUEST, _ANSWER = 26, 1, 24
_DESTINATION, _DEVICE = 1, 4
_UNICAST, _LOCAL = 1, 2


@dataclass(frozen=True, slots=True)
class Route:
    """``local``: the address is one of this machine's own. ``device``: the interface that packets leave by."""

    local: bool
    device: str


def route_to(address: str) -> Route | None:
    """The way to an address; None where there is none, or no single machine has such an address."""
    to = ip_address(address)
    family = socket.AF_INET if to.version == 4 else socket.AF_INET6
    route = _ROUTE.pack(family, to.max_prefixlen, 0, 0, 0, 0, 0, 0, 0)
    attribute = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(to.packed), _DESTINATION) + to.packed
    size = _HEADER.size + len(route) + len(attribute)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE) as kernel:
            kernel.settimeout(1.0)
            kernel.sendto(_HEADER.pack(size, _GET, _REQUEST, 1, 0) + route + attribute, (0, 0))
            answer = kernel.recv(1 << 16)
        return _read(answer)
    except (OSError, struct.error):
        return None


def _read(answer: bytes) -> Route | None:
    length, kind, _, _, _ = _HEADER.unpack_from(answer)
    if kind != _ANSWER:
        return None
    found = _ROUTE.unpack_from(answer, _HEADER.size)[7]
    place, device = _HEADER.size + _ROUTE.size, ""
    while place + _ATTRIBUTE.size <= length:
        size, name = _ATTRIBUTE.unpack_from(answer, place)
        if name == _DEVICE:
            device = socket.if_indextoname(struct.unpack_from("=I", answer, place + _ATTRIBUTE.size)[0])
        place += max((size + 3) & ~3, _ATTRIBUTE.size)
    return Route(found == _LOCAL, device) if found in (_UNICAST, _LOCAL) else None
