"""Signatures of webhooks as Standard Webhooks 1.0 has them: HMAC-SHA256 over id, time and body.

While a secret is exchanged for another one, messages have a signature by each.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

PREFIX: Final = "whsec_"
#: Bytes of a secret.
_BYTES = 32


def new_secret() -> str:
    """A secret as receivers are given it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def rotated(keys: Sequence[Mapping[str, Any]], secret: str, now: datetime, overlap: timedelta) -> list[dict[str, Any]]:
    """The keys with a new one before them. The newest of the others works on for ``overlap``, older ones end."""
    until = (now + overlap).isoformat()
    return [{"key": secret, "until": None}, *({"key": one["key"], "until": until} for one in keys[:1])]


def valid(keys: Iterable[Mapping[str, Any]], now: float) -> list[str]:
    """The secrets that are in force at a time (seconds since 1970), the newest first."""
    found = []
    for one in keys:
        until = one.get("until")
        if until is None or datetime.fromisoformat(until).timestamp() > now:
            found.append(str(one["key"]))
    return found


def headers(id: str, at: int, body: bytes, keys: Iterable[str]) -> dict[str, str]:
    """The headers of a message that is sent at a time."""
    return {
        "webhook-id": id,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(signature(key, id, at, body) for key in keys),
    }


def signature(secret: str, id: str, at: int, body: bytes) -> str:
    """The signature by one secret."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
