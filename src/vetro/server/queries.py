"""`fetch`, `fetch_in_parts`, `write`, `insert`, `insert_rows`: SQL written by hand, where a request must cost little.

Django's cursors convert, wrap and record each statement, which on SQLite costs more than the statement itself: a
project's limits or the number of its tasks take 4 µs here and 370 to 700 by its ORM, and a whole request some 3 ms
(``benchmarks.service``). These hand it to the connection that Django keeps, so they see the transaction at hand and
raise the same errors. Statements have ``%s`` for values and ``%%`` for a percent sign, as everywhere in Django.
What is asked seldom goes by the ORM.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, Final

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX
from django.db.models import QuerySet

#: A time that `insert` writes: now, by the database's clock (`vetro.server.tasks.clock`), once in a row.
NOW: Final = object()
#: Rows of one statement of `insert_rows`.
_TOGETHER: Final = 100


def delete_in_batches(rows: QuerySet[Any], batch: int, *, leave: int = 0) -> int:
    """Deletes these rows, ``batch`` with one statement so that nobody waits long for the database, until no more than
    ``leave`` are there; how many went, with those that depended on them. Raises `django.db.Error`; what went until then
    stays away.
    """
    count = 0
    while len(ids := list(rows.values_list("pk", flat=True)[: batch + leave])) > leave:
        count += rows.model._default_manager.filter(pk__in=ids[:batch]).delete()[0]
    return count


def fetch(sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """The rows of a query. Raises `django.db.Error`."""
    db = connections["default"]
    own = own_connection(db)
    if own is None:
        with db.cursor() as cursor:
            cursor.execute(sql, values)
            return list(cursor.fetchall())
    try:
        return own.execute(_marked(sql), values).fetchall()
    except sqlite3.Error:
        with db.wrap_database_errors:
            raise


def fetch_in_parts(sql: str, values: Sequence[Any] = (), most: int = 2000) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a query, as of one moment, ``most`` at a time: never all of them in memory. Raises
    `django.db.Error`."""
    db = connections["default"]
    own = own_connection(db)
    if own is not None:
        with db.wrap_database_errors:
            found = own.execute(_marked(sql), values)
            while rows := found.fetchmany(most):
                yield rows
        return
    rows = fetch(f"{sql} LIMIT {most + 1}", values)
    if len(rows) <= most:  # a cursor of the server is six statements
        if rows:
            yield rows
        return
    with nullcontext() if on_sqlite() else transaction.atomic(), db.chunked_cursor() as cursor:
        cursor.execute(sql, values)
        while rows := cursor.fetchmany(most):
            yield rows


def write(sql: str, values: Sequence[Any] = ()) -> int:
    """Executes a statement; how many rows it changed. Raises `django.db.Error`."""
    db = connections["default"]
    own = own_connection(db)
    if own is None:
        with db.cursor() as cursor:
            cursor.execute(sql, values)
            return int(cursor.rowcount)
    try:
        return own.execute(_marked(sql), values).rowcount
    except sqlite3.Error:
        with db.wrap_database_errors:
            raise


def insert(table: str, row: Mapping[str, Any]) -> None:
    """Adds a row. Times must have a zone, or are `NOW`; mappings become JSON. Raises `django.db.Error`."""
    values = [_value(value) for value in row.values() if value is not NOW or on_sqlite()]
    write(_insertion(table, tuple(row), tuple(row.values()).index(NOW) if NOW in row.values() else -1), values)


def insert_rows(
    table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, now: str = "", new: bool = False
) -> int:
    """Adds rows, a hundred with a statement; how many. Values are what the database stores: ciphertext, JSON as text,
    times by `time_value`. ``now``: one more column, which gets the time by the database's clock. ``new``: rows are left
    out that are there already, by any constraint. Raises `django.db.Error`."""
    time = [] if not now else [time_value(datetime.now(UTC))] if on_sqlite() else None
    done = 0
    for start in range(0, len(rows), _TOGETHER):
        part = rows[start : start + _TOGETHER]
        values = [value for row in part for value in (*row, *(time or ()))]
        done += write(_insertions(table, (*columns, *([now] if now else ())), len(part), time is None, new), values)
    return done


@lru_cache(maxsize=256)
def _insertions(table: str, columns: tuple[str, ...], count: int, clock: bool, new: bool) -> str:
    marks = ["%s"] * len(columns)
    if clock:
        marks[-1] = "statement_timestamp()"
    names, row = ", ".join(f'"{column}"' for column in columns), f"({', '.join(marks)})"
    conflict = " ON CONFLICT DO NOTHING" if new else ""
    return f"INSERT INTO {table} ({names}) VALUES {', '.join([row] * count)}{conflict}"


def _value(value: Any) -> Any:
    if value is NOW:
        return time_value(datetime.now(UTC))
    if isinstance(value, datetime):
        return time_value(value)
    return json.dumps(value) if isinstance(value, Mapping) else value


@lru_cache(maxsize=64)
def _insertion(table: str, columns: tuple[str, ...], now: int) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    values = ["%s"] * len(columns)
    if now >= 0 and not on_sqlite():
        values[now] = "statement_timestamp()"
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(values)})"


@cache
def on_sqlite() -> bool:
    """Whether the database is SQLite; it stays that as long as the process lives."""
    return bool(connections["default"].vendor == "sqlite")


def time_value(at: datetime) -> Any:
    """A time, with its zone, as a value of statements."""
    return str(at.astimezone(UTC).replace(tzinfo=None)) if on_sqlite() else at


def own_connection(db: BaseDatabaseWrapper | None = None) -> sqlite3.Connection | None:
    """SQLite's own connection; None on other databases, and where somebody wants to see each statement."""
    if db is None:
        db = connections["default"]
    # Settings have no DEBUG, so this is all that has statements logged.
    if db.vendor != "sqlite" or db.execute_wrappers or db.force_debug_cursor:
        return None
    if db.connection is None:
        db.ensure_connection()
    if db.needs_rollback and db.in_atomic_block:
        db.validate_no_broken_transaction()
    found: sqlite3.Connection = db.connection
    return found


@lru_cache(maxsize=512)
def _marked(sql: str) -> str:
    """The statement with SQLite's marks for values."""
    return str(FORMAT_QMARK_REGEX.sub("?", sql).replace("%%", "%"))
