"""Probes: one connection to an address that the cloud handed out, and whether the answer is well.

No credentials are sent and no redirect is followed; a probe reads at most 64 KiB and takes at most 5 seconds, over all
addresses of a server. What answers is a tenant's program: nothing of it is told but its status.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Collection, Sequence
from functools import cache
from ipaddress import IPv4Network, IPv6Address, ip_address
from typing import Literal

from vetro.clouds.drivers.routes import route_to
from vetro.data_classes import dataclass
from vetro.diagnostics import Text

#: Seconds that one probe takes at most.
DEADLINE = 5.0
#: Bytes that are read at most.
LARGEST = 64 << 10
#: "This network": the kernel takes some of them for the machine itself.
_THIS = IPv4Network("0.0.0.0/8")
_CONTROL = frozenset(map(chr, (*range(33), 127)))


@dataclass(frozen=True, slots=True)
class Probe:
    """What is asked. ``expect``: statuses that are well; empty: 200 to 399 where ``strict``, else all below 500."""

    kind: Literal["http", "https", "tcp"]
    port: int
    path: str = "/"
    expect: Collection[int] = ()
    strict: bool = True


async def run(probe: Probe, addresses: Sequence[str], device: str = "") -> str | None:
    """None when it is well at one of the addresses, else why it is not. ``device``: the only interface that is used."""
    why: str | None = Text("the server has no address that can be reached from here")
    at = ""
    try:
        async with asyncio.timeout(DEADLINE):
            for at in addresses:
                why = await _at(probe, at, device)
                if why is None:
                    break
    except TimeoutError:
        why = Text("no answer from {at} within {seconds:g} s", at=_shown(at, probe.port), seconds=DEADLINE)
    return why


async def _at(probe: Probe, address: str, device: str) -> str | None:
    at = _shown(address, probe.port)
    try:
        if probe.kind == "tcp":
            with _socket(address, device) as connection:
                await asyncio.get_running_loop().sock_connect(connection, (address, probe.port))
            return None
        line = await _first_line(probe, address, device)
    except (OSError, ssl.SSLError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        number = getattr(error, "errno", None)
        if isinstance(error, ssl.SSLError):  # its number is none of the system's
            reason = (error.reason or type(error).__name__).lower().replace("_", " ")
        else:
            reason = os.strerror(number) if isinstance(number, int) and number > 0 else type(error).__name__
        return Text("no connection to {at}: {reason}", at=at, reason=reason)
    status = _status(line)
    if status is None:
        return Text("{at} does not speak HTTP", at=at)
    if status in probe.expect or (not probe.expect and (200 <= status < 400 if probe.strict else status < 500)):
        return None
    return Text("{at} answers with status {status}", at=at, status=status)


def _socket(address: str, device: str) -> socket.socket:
    """One that leaves by ``device`` and no other way, whatever becomes of the routes meanwhile."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        if device:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode() + b"\0")
    except BaseException:
        made.close()
        raise
    return made


async def _first_line(probe: Probe, address: str, device: str) -> bytes:
    path = "".join("%20" if c in _CONTROL else c for c in probe.path)
    request = (
        f"GET {path} HTTP/1.1\r\nHost: {_shown(address, probe.port)}\r\n"
        "User-Agent: Vetro-health\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    ).encode("utf-8", "replace")
    loop = asyncio.get_running_loop()
    answer = b""
    with _socket(address, device) as connection:
        await loop.sock_connect(connection, (address, probe.port))
        if probe.kind == "https":
            return await _encrypted(request, socket.socket(fileno=connection.detach()))
        await loop.sock_sendall(connection, request)
        while b"\n" not in answer and len(answer) < LARGEST:
            data = await loop.sock_recv(connection, 4096)
            if not data:
                break
            answer += data
    return answer


async def _encrypted(request: bytes, connection: socket.socket) -> bytes:
    """``connection`` is closed with the transport that takes it."""
    reader, writer = await asyncio.open_connection(
        sock=connection, ssl=_unverified(), server_hostname="", limit=LARGEST
    )
    try:
        writer.write(request)
        await writer.drain()
        return await reader.readline()
    finally:
        writer.transport.abort()


@cache
def _unverified() -> ssl.SSLContext:
    """Whoever answers is well: certificates of servers by their addresses are nobody's.

    Servers choose what a handshake costs us: of the groups that they may choose from none is expensive.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
    context.set_ecdh_curve("prime256v1")
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _status(line: bytes) -> int | None:
    words = line.split(b"\n", 1)[0].split(None, 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or len(words[1]) != 3 or not words[1].isdigit():
        return None
    return int(words[1])


def _shown(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def is_address(text: str) -> bool:
    """Whether a text is an IP address that a server may have: none of this machine alone, of a link alone, of a group,
    nor one that stands for another address.
    """
    try:
        found = ip_address(text)
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        if found.sixtofour is not None or found.teredo is not None or found.scope_id is not None:
            return False
    elif found in _THIS:
        return False
    special = found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified
    return not (special or found.is_reserved)


def allowed(address: str, device: str) -> bool:
    """Whether an address may be asked now: it is none of this machine's own, and the way to it leaves by ``device``,
    where one is named.
    """
    if not is_address(address):
        return False
    way = route_to(address)
    return way is not None and not way.local and (not device or way.device == device)
