"""Ids as the v1 API has them: 32 hexadecimal digits (API.md 1); and the time as it writes it."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime


def new_id() -> str:
    """A random id."""
    return uuid.uuid4().hex


def stamp(at: datetime | None) -> str | None:
    """``YYYY-MM-DDTHH:MM:SS`` in UTC, without zone and fraction."""
    if at is None:
        return None
    # Most times are in UTC already.
    return (at if at.tzinfo is UTC else at.astimezone(UTC)).isoformat()[:19]
