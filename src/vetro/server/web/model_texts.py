"""Words for people out of object models: values as text, times."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from vetro.model.header import header_of, label_of


def text_of(value: Any) -> str:
    """A value as one line or several."""
    if isinstance(value, str):
        return value
    if header_of(value) is not None:
        return label_of(value)
    return json.dumps(value, ensure_ascii=False, indent=1) if isinstance(value, (dict, list)) else json.dumps(value)


def time_of(text: str | None) -> datetime | None:
    """A time as the rules write it (`vetro.server.ids.stamp`)."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None
