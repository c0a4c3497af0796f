"""Points in time and lengths of time (YAQL.md 4.8): making and changing them; their parts are in `datetime_parts`.

A point in time always knows its offset from UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.values import FROZEN

ZERO = timedelta(0)
#: Texts to be read freely, and format texts, are no longer than this.
_TEXT = 200
#: The host's ``strftime`` may take digits as widths: ``%999999999d``.
_WIDE_FIELD = re.compile(r"%[-_0^#+]*\d{3}")

FROZEN.update({datetime, timedelta})  # they hold nothing lazy: `freeze` need not look into them

_OFFSET = Param("offset", Type.SPAN, default=ZERO)
_DT = Param("dt", Type.DATETIME)
_SPAN = Param("span", Type.SPAN)


def zone(offset: timedelta) -> timezone:
    """The time zone of an offset. Raises ValueError for a day or more."""
    if abs(offset) >= timedelta(days=1):
        raise ValueError("an offset from UTC is shorter than a day")
    return UTC if offset == ZERO else timezone(offset, "")


def aware(dt: datetime) -> datetime:
    """``dt``; one without offset is taken as UTC."""
    return dt if dt.tzinfo is not None else dt.replace(tzinfo=UTC)


def _int(name: str, default: Any = 0) -> Param:
    return Param(name, Type.INT, default=default)


@function(
    "datetime",
    params=(
        Param("year", Type.INT),
        Param("month", Type.INT),
        Param("day", Type.INT),
        _int("hour"),
        _int("minute"),
        _int("second"),
        _int("microsecond"),
        _OFFSET,
    ),
)
def from_parts(
    year: int,
    month: int,
    day: int,
    hour: int = 0,
    minute: int = 0,
    second: int = 0,
    microsecond: int = 0,
    offset: timedelta = ZERO,
) -> datetime:
    """A point in time from calendar and clock. Raises ValueError when there is none such."""
    return datetime(year, month, day, hour, minute, second, microsecond, zone(offset))


@function("datetime", params=(Param("timestamp", Type.NUM), _OFFSET))
def from_timestamp(timestamp: float, offset: timedelta = ZERO) -> datetime:
    """The point in time so many seconds after the start of 1970, shown at ``offset``.

    Raises ValueError when it is out of range.
    """
    try:
        return datetime.fromtimestamp(timestamp, tz=zone(offset))
    except (OverflowError, OSError):
        raise ValueError(f"timestamp {timestamp!r:.40} is out of range") from None


@function("datetime", params=(Param("string", Type.STR), Param("format", Type.STR, default=None)))
def from_text(cx: CodeContext, string: str, format: str | None = None) -> datetime:
    """The point in time that a text tells, read freely or by a ``strptime`` format; UTC when it names no zone.

    Raises ValueError when it cannot be read.
    """
    if len(string) > _TEXT or len(format or "") > _TEXT:
        raise ValueError(f"a date of more than {_TEXT} characters cannot be read")
    if format is not None:
        return aware(datetime.strptime(string, format))
    from dateutil import parser as free_form  # few programs need it

    today = datetime.fromtimestamp(cx.rt.clock(), tz=UTC).replace(tzinfo=None)
    try:
        found = free_form.parse(
            string, default=today.replace(hour=0, minute=0, second=0, microsecond=0), tzinfos=_no_names
        )
    except (ValueError, OverflowError):
        raise ValueError(f"{string!r} is no date") from None
    return found.replace(tzinfo=zone(found.utcoffset() or ZERO))


def _no_names(name: str | None, offset: int | None) -> Any:
    """Zone names mean nothing beyond UTC, whatever zone the machine is in."""
    if offset is None:
        return UTC
    return timezone(timedelta(seconds=offset))


@function(
    "timespan",
    params=tuple(_int(n) for n in ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds")),
)
def timespan(
    days: int = 0, hours: int = 0, minutes: int = 0, seconds: int = 0, milliseconds: int = 0, microseconds: int = 0
) -> timedelta:
    """A length of time. Raises OverflowError when it is out of range."""
    return timedelta(
        days=days,
        hours=hours,
        minutes=minutes,
        seconds=seconds,
        milliseconds=milliseconds,
        microseconds=microseconds,
    )


@function("now", params=(_OFFSET,))
def now(cx: CodeContext, offset: timedelta = ZERO) -> datetime:
    """The run's present time, shown at ``offset``."""
    return datetime.fromtimestamp(cx.rt.clock(), tz=zone(offset))


@function("localtz")
def local_offset(cx: CodeContext) -> timedelta:
    """The offset of the machine's own time zone at the run's present time."""
    return datetime.fromtimestamp(cx.rt.clock()).astimezone().utcoffset() or ZERO


@function("utctz")
def utc_offset() -> timedelta:
    """No offset."""
    return ZERO


@function(
    "replace",
    style="M",
    params=(
        _DT,
        *(_int(n, None) for n in ("year", "month", "day", "hour", "minute", "second", "microsecond")),
        Param("offset", Type.SPAN, default=None),
    ),
)
def replace(
    dt: datetime,
    year: int | None = None,
    month: int | None = None,
    day: int | None = None,
    hour: int | None = None,
    minute: int | None = None,
    second: int | None = None,
    microsecond: int | None = None,
    offset: timedelta | None = None,
) -> datetime:
    """``dt`` with some parts changed. Raises ValueError when there is no such point in time."""
    changes: dict[str, Any] = {
        "year": year,
        "month": month,
        "day": day,
        "hour": hour,
        "minute": minute,
        "second": second,
        "microsecond": microsecond,
        "tzinfo": None if offset is None else zone(offset),
    }
    return aware(dt).replace(**{name: value for name, value in changes.items() if value is not None})


@function("format", style="M", params=(_DT, Param("format", Type.STR)))
def format_datetime(dt: datetime, format: str) -> str:
    """The text of ``dt`` by a ``strftime`` format. Raises ValueError for a format that is too long."""
    if len(format) > _TEXT or _WIDE_FIELD.search(format):
        raise ValueError(f"a date format has at most {_TEXT} characters and no wide fields")
    return aware(dt).strftime(format)
