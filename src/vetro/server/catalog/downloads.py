"""Downloads for imports: only from hosts that the settings allow, within limits of size, time and redirects."""

from __future__ import annotations

import http.client
import time
from collections.abc import Sequence
from urllib.parse import urljoin

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.server import egress
from vetro.server.catalog.response_body import FetchFailed, body_of
from vetro.server.errors import Forbidden, Invalid
from vetro.server.setup import config

__all__ = ["FetchFailed", "FetchRefused", "Source", "fetch"]

REDIRECTS = 5


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
    address = _parts(url)
    resolved = _resolved(address, source, url)
    try:
        with egress.connection(address, resolved, until) as connection:
            headers = {"User-Agent": "vetro", "Accept": "*/*", "Connection": "close"}
            connection.request("GET", address.path, headers=headers)
            # It holds the socket, whatever the connection says.
            with connection.getresponse() as response:
                found = _answer(response, source, url)
        if time.monotonic() >= until:
            raise TimeoutError
        return found
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


def _answer(response: http.client.HTTPResponse, source: Source, url: str) -> bytes | str:
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
    return body_of(response, source.most, url)


def _parts(url: str) -> egress.Address:
    try:
        found = egress.parse(url)
    except ValueError:
        raise Invalid(Text("'{url}' has characters that an address cannot have", url=url[:200])) from None
    if found is None:
        raise Invalid(
            Text("'{url}' is no address of a package", url=url[:200]),
            hint=Text("write http://… or https://… without a user"),
        )
    return found


def _resolved(address: egress.Address, source: Source, url: str) -> str:
    """The address to connect to. Raises `FetchRefused`, `FetchFailed`."""
    host = address.host
    try:
        return egress.resolve(address, source.hosts)
    except egress.NotAllowed:
        raise FetchRefused(
            Text("packages may not be imported from {host}", host=host),
            hint=Text("an administrator adds it to packages.import_hosts"),
        ) from None
    except egress.NoHost:
        raise FetchFailed(Text("{url}: there is no host '{host}'", url=url[:200], host=host)) from None
    except egress.NotPublic:
        raise FetchRefused(
            Text("there is no public host '{host}'", host=host),
            hint=Text("an administrator may name a private one in packages.import_hosts"),
        ) from None
