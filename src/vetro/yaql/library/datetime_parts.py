"""Parts of points in time and lengths of time: ``$dt.year``, ``$span.hours`` (YAQL.md 4.8)."""

from __future__ import annotations

from datetime import datetime, timedelta

from vetro.yaql.library.datetimes import ZERO, aware
from vetro.yaql.resolve.signature import Param, Type, function

_DT = (Param("dt", Type.DATETIME),)
_SPAN = (Param("span", Type.SPAN),)


@function("#property#year", params=_DT)
def year(dt: datetime) -> int:
    """The year."""
    return dt.year


@function("#property#month", params=_DT)
def month(dt: datetime) -> int:
    """The month, from 1."""
    return dt.month


@function("#property#day", params=_DT)
def day(dt: datetime) -> int:
    """The day of the month, from 1."""
    return dt.day


@function("#property#hour", params=_DT)
def hour(dt: datetime) -> int:
    """The hour of the day."""
    return dt.hour


@function("#property#minute", params=_DT)
def minute(dt: datetime) -> int:
    """The minute of the hour."""
    return dt.minute


@function("#property#second", params=_DT)
def second(dt: datetime) -> int:
    """The second of the minute."""
    return dt.second


@function("#property#microsecond", params=_DT)
def microsecond(dt: datetime) -> int:
    """The microsecond of the second."""
    return dt.microsecond


@function("#property#weekday", params=_DT)
def weekday(dt: datetime) -> int:
    """The day of the week; Monday is 0."""
    return dt.weekday()


@function("#property#date", params=_DT)
def date(dt: datetime) -> datetime:
    """Midnight at the start of the day."""
    return datetime(dt.year, dt.month, dt.day, tzinfo=aware(dt).tzinfo)


@function("#property#time", params=_DT)
def time(dt: datetime) -> timedelta:
    """The time since midnight."""
    return timedelta(hours=dt.hour, minutes=dt.minute, seconds=dt.second, microseconds=dt.microsecond)


@function("#property#utc", params=_DT)
def utc(dt: datetime) -> datetime:
    """``dt`` minus its offset, still labelled with it."""
    dt = aware(dt)
    return dt - (dt.utcoffset() or ZERO)


@function("#property#offset", params=_DT)
def offset(dt: datetime) -> timedelta:
    """The offset from UTC."""
    return aware(dt).utcoffset() or ZERO


@function("#property#timestamp", params=_DT)
def timestamp(dt: datetime) -> float:
    """Seconds from the start of 1970 to ``utc``; so it is off by the offset where that is not zero."""
    return utc(dt).timestamp()


@function("#property#days", params=_SPAN)
def days(span: timedelta) -> float:
    """The whole length in days."""
    return span.total_seconds() / 86400.0


@function("#property#hours", params=_SPAN)
def hours(span: timedelta) -> float:
    """The whole length in hours."""
    return span.total_seconds() / 3600.0


@function("#property#minutes", params=_SPAN)
def minutes(span: timedelta) -> float:
    """The whole length in minutes."""
    return span.total_seconds() / 60.0


@function("#property#seconds", params=_SPAN)
def seconds(span: timedelta) -> float:
    """The whole length in seconds."""
    return span.total_seconds()


@function("#property#milliseconds", params=_SPAN)
def milliseconds(span: timedelta) -> float:
    """The whole length in milliseconds."""
    return span.total_seconds() * 1000.0


@function("#property#microseconds", params=_SPAN)
def microseconds(span: timedelta) -> int:
    """The whole length in microseconds."""
    return span // timedelta(microseconds=1)
