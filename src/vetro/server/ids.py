"""Ids as the v1 API has them: 32 hexadecimal digits (API.md 1); and the time as it writes it."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime


def new_id() -> str:
    """A random id."""
    return uuid.uuid4().hex


def stamp(at: datetime | None) -> str | None:
    """``YYYY-MM-DDTHH:MM:SS`` in UTC, without zone and fraction."""
    return None if at is None else at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
