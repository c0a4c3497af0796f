"""Connections to addresses that people name: only to hosts that the settings allow, within a time, to what was checked.

The address that was checked is the address that is connected to: a name that resolves differently the second time
gains nothing. Hosts that the settings name may be private ones; with ``*`` only public addresses are reached. Nothing
here follows a redirect.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, Final
from urllib.parse import urlsplit

from vetro.data_classes import dataclass

_PORTS = {"http": 80, "https": 443}
#: Bytes of the head of an answer, with all provisional ones before it.
MOST_HEAD: Final = 1 << 18
_CARRIERS = tuple(ipaddress.IPv6Network(text) for text in ("64:ff9b::/96", "::/96"))
#: All of IPv6 that is given to anybody.
_GIVEN = ipaddress.IPv6Network("2000::/3")
#: What this Python takes for public: reserved by RFC 6890, where a cloud tells its credentials, and where another does.
_INSIDE = tuple(ipaddress.IPv4Network(text) for text in ("192.0.0.0/24", "168.63.129.16/32"))


class NotAllowed(Exception):
    """The settings do not name this host."""


class NotPublic(Exception):
    """There is no such host, or none with a public address."""


class NoHost(Exception):
    """A host that the settings name does not exist."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address of the web, in its parts. ``path`` begins with a slash."""

    scheme: str
    host: str
    port: int
    path: str


def parse(url: str) -> Address | None:
    """The parts of an http or https address; None for what is none, or names a user. Raises `ValueError` for characters
    that no address has."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None:
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or any(c <= " " for c in path) or any(c <= " " for c in parts.hostname):
        raise ValueError(url)
    return Address(parts.scheme, parts.hostname.lower(), port, path)


def is_named(address: Address, hosts: Sequence[str]) -> bool:
    """Whether the settings name this very host. Raises `NotAllowed` where they allow it in no way."""
    listed = {entry.lower() for entry in hosts}
    host, port = address.host, address.port
    named = host in listed or f"{host}:{port}" in listed or f"[{host}]:{port}" in listed
    if not named and "*" not in listed:
        raise NotAllowed(host)
    return named


def resolve(address: Address, hosts: Sequence[str]) -> str:
    """The address of the network to connect to. Raises `NotAllowed`, `NotPublic`, `NoHost`.

    Of hosts that nobody named, private ones and such that there are not get one answer, and take about the same time:
    that of asking the name service. So nobody learns from here which names the network behind has.
    """
    named = is_named(address, hosts)
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        if named:
            raise NoHost(address.host) from None
        found = []
    addresses = [str(item[4][0]) for item in found]
    if not named and not (addresses and all(is_public(text) for text in addresses)):
        raise NotPublic(address.host)
    return addresses[0]


@contextmanager
def connection(address: Address, resolved: str, until: float) -> Iterator[http.client.HTTPConnection]:
    """A connection to what `resolve` said, which is cut at ``until`` (`time.monotonic`).

    Timeouts of a socket count from byte to byte; the watch ends what drips.
    """
    made = (_Secure if address.scheme == "https" else _Plain)(address.host, address.port, resolved, until)
    watch = threading.Timer(max(until - time.monotonic(), 0), made.cut)
    watch.daemon = True
    watch.start()
    try:
        yield made
    finally:
        watch.cancel()
        made.close()


class _Head:
    """The beginning of an answer, which has an end: `http.client` skips as many provisional answers as come."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = MOST_HEAD

    def readline(self, limit: int = -1) -> bytes:
        """A line. Raises `HTTPException` beyond `MOST_HEAD`."""
        line = self._file.readline(limit)
        self._left -= len(line)
        if self._left < 0:
            raise http.client.HTTPException("the head of the answer has no end")
        return line

    def close(self) -> None:
        """Closes what it reads."""
        self._file.close()


class _Response(http.client.HTTPResponse):
    def begin(self) -> None:
        """Reads the head. Raises `HTTPException` for one without end."""
        file: Any = self.fp
        head: Any = _Head(file)
        self.fp = head
        try:
            super().begin()
        finally:
            if self.fp is head:
                self.fp = file


class _Plain(http.client.HTTPConnection):
    """A connection to an address that was checked, under the name that was asked for."""

    response_class = _Response

    def __init__(self, host: str, port: int, address: str, until: float) -> None:
        super().__init__(host, port)
        self._address = address
        self._until = until
        self._raw: socket.socket | None = None

    def connect(self) -> None:
        """Connects within the time that is left."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._raw = self.sock = socket.create_connection((self._address, self.port), timeout=left)

    def cut(self) -> None:
        """Ends it from another thread."""
        if self._raw is not None:
            try:
                # Of what is below TLS, which another thread reads.
                socket.socket.shutdown(self._raw, socket.SHUT_RDWR)
            except OSError:  # it has ended already
                return


class _Secure(_Plain):
    """The same by TLS; the certificate has to fit the name."""

    def connect(self) -> None:
        """Connects and checks the certificate."""
        super().connect()
        assert self._raw is not None
        # The new socket has the connection, the old one nothing that could be cut.
        self._raw = self.sock = ssl.create_default_context().wrap_socket(self._raw, server_hostname=self.host)
        if time.monotonic() >= self._until:  # the watch came while there was nothing to cut
            raise TimeoutError


def is_public(text: str) -> bool:
    """Whether an address of the network is one that everybody reaches."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inside = address.ipv4_mapped or address.sixtofour
        if any(address in network for network in _CARRIERS):  # NAT64 and old forms: the last four bytes are IPv4
            inside = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inside is None:
            return address in _GIVEN and address.is_global
        address = inside
    return address.is_global and not address.is_multicast and not any(address in network for network in _INSIDE)
