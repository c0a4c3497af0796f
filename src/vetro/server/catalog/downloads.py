"""Downloads for imports: only from hosts that the settings allow, within limits of size, time and redirects.

The address that was checked is the address that is connected to: a name that resolves differently the second time
gains nothing. Hosts that the settings name may be private ones; with ``*`` only public addresses are reached.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from vetro.diagnostics import Text
from vetro.server.catalog.response_body import FetchFailed, body_of
from vetro.server.errors import Forbidden, Invalid
from vetro.server.setup import config

__all__ = ["FetchFailed", "FetchRefused", "Source", "fetch"]

REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}
_CARRIERS = tuple(ipaddress.IPv6Network(text) for text in ("64:ff9b::/96", "::/96"))
#: All of IPv6 that is given to anybody.
_GIVEN = ipaddress.IPv6Network("2000::/3")
#: What this Python takes for public: reserved by RFC 6890, where a cloud tells its credentials, and where another does.
_INSIDE = tuple(ipaddress.IPv4Network(text) for text in ("192.0.0.0/24", "168.63.129.16/32"))


class FetchRefused(Forbidden):
    """The settings do not allow an import from this address."""

    code = "SRV530"


@dataclass(frozen=True, slots=True)
class Source:
    """Where imports may come from, and what a download may cost."""

    hosts: Sequence[str]
    seconds: float
    most: int

    @classmethod
    def configured(cls, most: int | None = None) -> Source:
        """As the settings ``packages.import_hosts``, ``import_seconds`` and ``max_upload_mib`` say."""
        c = config()
        limit = int(c["packages.max_upload_mib"]) << 20
        return cls(tuple(c["packages.import_hosts"]), float(c["packages.import_seconds"]), most or limit)


def fetch(url: str, source: Source | None = None) -> bytes:
    """The bytes behind an http or https address.

    Raises `Invalid` for what is no such address, `FetchRefused`, `FetchFailed`.
    """
    source = source or Source.configured()
    until = time.monotonic() + source.seconds
    for _ in range(REDIRECTS + 1):
        found = _one(url, source, until)
        if isinstance(found, bytes):
            return found
        url = urljoin(url, found)
    raise FetchFailed(Text("{url}: more than {redirects} redirects", url=url[:200], redirects=REDIRECTS))


def _one(url: str, source: Source, until: float) -> bytes | str:
    """The bytes, or where to go instead."""
    scheme, host, port, path = _parts(url)
    address = _address(host, port, source, url)
    connection = _Secure(host, port, address, until) if scheme == "https" else _Plain(host, port, address, until)
    # Timeouts of a socket count from byte to byte; the watch ends what drips.
    watch = threading.Timer(max(until - time.monotonic(), 0), connection.cut)
    watch.daemon = True
    watch.start()
    response: http.client.HTTPResponse | None = None
    try:
        connection.request("GET", path, headers={"User-Agent": "vetro", "Accept": "*/*", "Connection": "close"})
        response = connection.getresponse()
        if response.status in (301, 302, 303, 307, 308):
            target = response.getheader("Location")
            if not target:
                raise FetchFailed(Text("{url}: it is said to have moved, but not where to", url=url[:200]))
            return target
        if response.status != 200:
            raise FetchFailed(
                Text(
                    "{url}: answered {status} {reason}",
                    url=url[:200],
                    status=response.status,
                    reason=response.reason[:100],
                )
            )
        data = body_of(response, source.most, url)
        if time.monotonic() >= until:
            raise TimeoutError
        return data
    except FetchFailed:
        raise
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, TimeoutError) or time.monotonic() >= until:
            raise FetchFailed(
                Text("{url}: it took more than {seconds:g} seconds", url=url[:200], seconds=source.seconds)
            ) from None
        raise FetchFailed(
            Text("{url}: {error}", url=url[:200], error=str(error)[:200] or type(error).__name__)
        ) from None
    finally:
        watch.cancel()
        if response is not None:  # it holds the socket, whatever the connection says
            response.close()
        connection.close()


class _Plain(http.client.HTTPConnection):
    """A connection to an address that was checked, under the name that was asked for."""

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


def _parts(url: str) -> tuple[str, str, int, str]:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        raise Invalid(Text("'{url}' is no address", url=url[:200])) from None
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None:
        raise Invalid(
            Text("'{url}' is no address of a package", url=url[:200]),
            hint=Text("write http://… or https://… without a user"),
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or any(c <= " " for c in path) or any(c <= " " for c in parts.hostname):
        raise Invalid(Text("'{url}' has characters that an address cannot have", url=url[:200]))
    return parts.scheme, parts.hostname.lower(), port, path


def _address(host: str, port: int, source: Source, url: str) -> str:
    """The address to connect to. Raises `FetchRefused`, `FetchFailed`.

    Of hosts that nobody named, private ones and such that there are not get one answer, and take about the same time:
    that of asking the name service. So nobody learns from here which names the network behind has.
    """
    listed = {entry.lower() for entry in source.hosts}
    named = host in listed or f"{host}:{port}" in listed or f"[{host}]:{port}" in listed
    if not named and "*" not in listed:
        raise FetchRefused(
            Text("packages may not be imported from {host}", host=host),
            hint=Text("an administrator adds it to packages.import_hosts"),
        )
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        if named:
            raise FetchFailed(Text("{url}: there is no host '{host}'", url=url[:200], host=host)) from None
        found = []
    addresses = [str(item[4][0]) for item in found]
    if not named and not (addresses and all(_public(address) for address in addresses)):
        raise FetchRefused(
            Text("there is no public host '{host}'", host=host),
            hint=Text("an administrator may name a private one in packages.import_hosts"),
        )
    return addresses[0]


def _public(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inside = address.ipv4_mapped or address.sixtofour
        if any(address in network for network in _CARRIERS):  # NAT64 and old forms: the last four bytes are IPv4
            inside = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inside is None:
            return address in _GIVEN and address.is_global
        address = inside
    return address.is_global and not address.is_multicast and not any(address in network for network in _INSIDE)
