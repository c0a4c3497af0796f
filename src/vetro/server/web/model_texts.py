"""Words and addresses for people, out of object models: names of objects, short names of classes, where they answer."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from vetro.model.header import header_of, label_of

_URL = re.compile(r"https?://[^\s<>\"'`{}|\\^]+", re.IGNORECASE)
#: Properties that hold addresses, in old packages and new ones.
_ADDRESS = re.compile(r"(^|_)(ip|ips)($|_)|ip_?address|floating|^address(es)?$|^host(name)?$|^endpoint", re.IGNORECASE)
_MOST = 6


def addresses_of(obj: Any) -> list[dict[str, str]]:
    """Where an object and what it owns can be reached: [{text, url}]; ``url`` empty for a plain address.

    ``obj`` must be concealed already. Pages first, then public addresses, then others.
    """
    found: dict[str, str] = {}
    for name, value in _texts(obj):
        for match in _URL.finditer(value):
            url = match.group().rstrip(".,;:!?)")
            if _plain(url):
                found.setdefault(url, url)
        if _ADDRESS.search(name) and _is_address(value):
            found.setdefault(value, "")
    ordered = sorted(found.items(), key=lambda item: not item[1])
    return [{"text": text, "url": url} for text, url in ordered[:_MOST]]


def text_of(value: Any) -> str:
    """A value as one line or several."""
    if isinstance(value, str):
        return value
    if header_of(value) is not None:
        return label_of(value)
    return json.dumps(value, ensure_ascii=False, indent=1) if isinstance(value, (dict, list)) else json.dumps(value)


def _texts(obj: Any) -> Iterator[tuple[str, str]]:
    stack: list[tuple[str, Any]] = [("", obj)]
    while stack:
        name, value = stack.pop()
        if isinstance(value, str):
            if 0 < len(value) < 2000:
                yield name, value
        elif isinstance(value, Mapping):
            stack.extend((str(key), item) for key, item in reversed(list(value.items())) if key != "?")
        elif isinstance(value, list):
            stack.extend((name, item) for item in reversed(value))


def _plain(url: str) -> bool:
    """Whether it is an address without a password in it."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and not parts.username and not parts.password
    except ValueError:
        return False


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def time_of(text: str | None) -> datetime | None:
    """A time as the rules write it (`vetro.server.ids.stamp`)."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None
