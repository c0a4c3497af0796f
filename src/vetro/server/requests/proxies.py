"""`Proxies`: whom the service believes that it speaks for others (setting ``server.trusted_proxies``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from vetro.server.config.config import ConfigError

_HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED")
_HOST = re.compile(r"[A-Za-z0-9.:\[\]_-]{1,255}\Z")


class Proxies:
    """Addresses and networks of proxies. Raises `ConfigError` for one that is none."""

    def __init__(self, trusted: Iterable[str]) -> None:
        self._networks: list[IPv4Network | IPv6Network] = []
        for text in trusted:
            try:
                self._networks.append(ip_network(text, strict=False))
            except ValueError:
                raise ConfigError(f"'server.trusted_proxies': '{text}' is no address and no network") from None

    def trusts(self, address: str) -> bool:
        """Whether a proxy has this address."""
        try:
            found = ip_address(address)
        except ValueError:
            return False
        mapped = getattr(found, "ipv4_mapped", None)
        return any((mapped or found) in network for network in self._networks)

    def apply(self, environ: dict[str, Any]) -> None:
        """Puts the client's address, scheme and host where those of the proxy are; drops headers of anybody else.

        ``vetro.forwarded`` is whether there were any, whoever sent them.
        """
        given = {name: environ.pop(name) for name in _HEADERS if name in environ}
        environ["vetro.forwarded"] = bool(given)
        if not given or not self._networks or not self.trusts(environ.get("REMOTE_ADDR", "")):
            return
        # From the right: each trusted proxy names the one before it, the first untrusted name is the client.
        for item in reversed(given.get("HTTP_X_FORWARDED_FOR", "").split(",")):
            address = item.strip()
            try:
                ip_address(address)
            except ValueError:
                break
            environ["REMOTE_ADDR"] = address
            if not self.trusts(address):
                break
        scheme = given.get("HTTP_X_FORWARDED_PROTO", "").rpartition(",")[2].strip().lower()
        if scheme in ("http", "https"):
            environ["wsgi.url_scheme"] = scheme
        host = given.get("HTTP_X_FORWARDED_HOST", "").rpartition(",")[2].strip()
        if _HOST.match(host):
            environ["HTTP_HOST"] = host
