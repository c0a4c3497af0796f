"""How users reach the service: address, TLS, proxies, names."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from urllib.parse import urlsplit

from vetro.diagnostics import ERROR, OK, WARNING, Diagnostic, Text
from vetro.server.accounts import policy
from vetro.server.config.address import running_port
from vetro.server.config.config import Config
from vetro.server.requests.host_names import Hosts, is_loopback, names
from vetro.server.requests.proxies import Proxies


def examine(config: Config) -> Iterator[Diagnostic]:
    """All of it."""
    policy.describe()
    Proxies(config["server.trusted_proxies"])
    host, public = str(config["server.host"]), str(config["server.public_url"])
    parts = urlsplit(public)
    wrong = bool(public) and (parts.scheme not in ("http", "https") or not parts.hostname)
    if wrong:
        yield Diagnostic(
            "address",
            ERROR,
            Text("'server.public_url' is no address: {public}", public=public),
            Text("https://NAME, as users type it"),
        )
    elif parts.scheme == "http" and not is_loopback(str(parts.hostname)):
        hint = Text(
            "put a proxy with TLS before it, and https:// into 'server.public_url'; docs/operations/many-machines.md"
        )
        yield Diagnostic("address", WARNING, Text("passwords go unencrypted to {public}", public=public), hint)
    elif not public and not is_loopback(host):
        hint = Text(
            "set 'server.public_url' to https://NAME, with a proxy that speaks TLS; docs/operations/many-machines.md"
        )
        text = Text("it listens on {host} without TLS, and links name whatever host a request names", host=host)
        yield Diagnostic("address", WARNING, text, hint)
    trusted = [str(entry) for entry in config["server.trusted_proxies"]]
    if parts.scheme == "https" and not trusted:
        hint = Text("set 'server.trusted_proxies' to the address of the proxy")
        text = Text(
            "the proxy is not believed: all clients seem to have its address, and share its limit of wrong passwords"
        )
        yield Diagnostic("address", WARNING, text, hint)
    if wide := [entry for entry in trusted if ip_network(entry, strict=False).prefixlen == 0]:
        hint = Text("name the proxies only")
        yield Diagnostic(
            "address", ERROR, Text("{address} lets every client say where it comes from", address=wide[0]), hint
        )
    allowed = names(config)
    if parts.hostname and not Hosts(config).allow(parts.hostname):
        text = Text(
            "'server.allowed_hosts' ({allowed}) does not hold the name in 'server.public_url'",
            allowed=", ".join(allowed),
        )
        yield Diagnostic("address", ERROR, text, Text("add {hostname}", hostname=parts.hostname))
    if "*" in allowed:
        hint = Text("name those by which users call it, or leave 'server.allowed_hosts' empty")
        yield Diagnostic(
            "address", WARNING, Text("it answers to any name, also to one that a stranger lets lead here"), hint
        )
    if not wrong:
        place = f"{host}:{config['server.port']}"
        if (port := running_port(config)) not in (None, int(config["server.port"])):
            place = f"{host}:{port} (--port; the settings say {config['server.port']})"
        text = Text("it listens on {place}, for users the same", place=place)
        if public:
            text = Text("it listens on {place}, for users {public}", place=place, public=public)
        yield Diagnostic("address", OK, text)
        yield Diagnostic("address", OK, Text("it answers to {allowed}", allowed=", ".join(dict.fromkeys(allowed))))
