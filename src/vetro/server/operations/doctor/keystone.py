"""The Keystone that checks tokens: whether it answers, and to the credentials of the service."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from vetro.diagnostics import OK, WARNING, Diagnostic, Text
from vetro.server.accounts.keystone import caller_of_keystone, checked_settings
from vetro.server.config.config import Config
from vetro.server.errors import NotSignedIn


def examine(config: Config) -> Iterator[Diagnostic]:
    """Shows it a token that nobody has."""
    url = str(config["keystone.url"])
    if not url:
        return
    checked_settings(config)
    try:
        caller_of_keystone(f"vetro-doctor-{secrets.token_hex(8)}")
    except NotSignedIn:
        yield Diagnostic("keystone", OK, Text("{url} answers to the credentials of the service", url=url))
    if url.startswith("http://"):
        hint = Text("use https:// in 'keystone.url'")
        yield Diagnostic("keystone", WARNING, Text("tokens of users go unencrypted to {url}", url=url), hint)
