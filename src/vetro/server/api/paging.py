"""Parts of lists with the cursors that lead to the next part, and times, as answers of the API have them."""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from vetro.server.errors import Invalid

#: Largest whole number that databases hold.
LARGEST = (1 << 63) - 1


def page(items: Sequence[Any], total: int | None = None, next: str | None = None) -> dict[str, Any]:
    """A part of a list as plain data; ``next`` is the cursor of the next part."""
    return {"items": list(items), "total": total, "next": next}


def cursor(*values: str | int) -> str:
    """Where a page ends, as text for clients."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def place(text: str | None, *kinds: type) -> list[Any] | None:
    """The values of a cursor, of these types; None where there is none. Raises `Invalid`."""
    if not text:
        return None
    try:
        found = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        found = None
    if (
        not isinstance(found, list)
        or len(found) != len(kinds)
        or any(type(value) is not kind for value, kind in zip(found, kinds))
        or any(isinstance(value, int) and abs(value) > LARGEST for value in found)
        or any(isinstance(value, str) and not _storable(value) for value in found)
    ):
        raise Invalid("This is no cursor of this list.", hint="leave it out, or give what 'next' said")
    return found


def part(items: Sequence[Any], key: str, after: str | None, limit: int) -> dict[str, Any]:
    """A page of a list that is in memory, by name; ``key`` names the field that tells those of one name apart.

    The cursor holds both, so it is a place even when what stood there is gone. Raises `Invalid`.
    """
    begin = place(after, str, str)
    rows = sorted(((str(item["name"]), str(item[key])), number) for number, item in enumerate(items))
    start = 0 if begin is None else bisect_right(rows, ((begin[0], begin[1]), len(items)))
    chosen = rows[start : start + limit]
    end = cursor(*chosen[-1][0]) if chosen and start + limit < len(rows) else None
    return page([items[number] for _, number in chosen], len(items), end)


def zoned(text: str | None) -> str | None:
    """A time as the rules write it, with its zone."""
    return f"{text}Z" if text else None


def aware(at: datetime) -> datetime:
    """A time in UTC; one without a zone is UTC. Raises `Invalid` where the calendar of UTC does not reach."""
    try:
        return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except OverflowError:
        raise Invalid("This is no time: it is beyond the calendar.") from None


def picked(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """These keys only."""
    return {name: given[name] for name in names if name in given}


def _storable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\0" not in text
