"""Writing rows into the tables of another database: COPY on PostgreSQL, INSERT on SQLite; and the numbers it gives
to the rows that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import Error, connections

from vetro.server.dbtools.errors import MoveFailed
from vetro.server.dbtools.tables import TOGETHER, Sum, Table

#: Tables whose triggers tell those who listen; what is copied is no news.
_TELLING = ("dispatch_event", "dispatch_task")


def fill(alias: str, table: Table, rows: Iterable[list[Any]]) -> None:
    """Puts rows (as `tables.rows` gives them) into an empty table. Raises `MoveFailed` for what does not fit there."""
    connection = connections[alias]
    quote = connection.ops.quote_name
    names = ", ".join(quote(column.name) for column in table.columns)
    checked = _fitting(alias, table, rows)
    try:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                with cursor.copy(f"COPY {quote(table.name)} ({names}) FROM STDIN") as copy:
                    for row in checked:
                        copy.write_row(row)
                return
            marks = ", ".join(["%s"] * len(table.columns))
            times = [number for number, column in enumerate(table.columns) if column.kind == "time"]
            statement = f"INSERT INTO {quote(table.name)} ({names}) VALUES ({marks})"
            batch: list[list[Any]] = []
            for row in checked:
                for number in times:
                    row[number] = connection.ops.adapt_datetimefield_value(row[number])
                batch.append(row)
                if len(batch) == TOGETHER:
                    cursor.executemany(statement, batch)
                    batch = []
            if batch:
                cursor.executemany(statement, batch)
    except Error as error:
        raise MoveFailed(f"table {table.name} cannot be written: {_first_lines(error)}") from None


def summed(total: Sum, found: Iterable[list[Any]]) -> Iterator[list[Any]]:
    """The rows, each added to the sum as it passes."""
    for row in found:
        total.add(row)
        yield row


def count(alias: str, table: Table) -> int:
    """How many rows a table has."""
    with connections[alias].cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {connections[alias].ops.quote_name(table.name)}")
        return int(cursor.fetchone()[0])


def empty(alias: str, tables: Iterable[Table]) -> None:
    """Removes every row, in the caller's transaction."""
    with connections[alias].cursor() as cursor:
        for table in reversed(list(tables)):
            cursor.execute(f"DELETE FROM {connections[alias].ops.quote_name(table.name)}")


@contextmanager
def quietly(alias: str) -> Iterator[None]:
    """Nobody who listens is told of rows that are written meanwhile."""
    if connections[alias].vendor != "postgresql":
        yield
        return
    with connections[alias].cursor() as cursor:
        for name in _TELLING:
            cursor.execute(f"ALTER TABLE {name} DISABLE TRIGGER USER")
        yield
        # Checks of references that wait for the end of the transaction would be in the way.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for name in _TELLING:
            cursor.execute(f"ALTER TABLE {name} ENABLE TRIGGER USER")


def last_number(alias: str, table: Table) -> int:
    """The highest number that the database ever gave in this table; it is not given again when the row is gone."""
    connection = connections[alias]
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(max({quote(table.numbered)}), 0) FROM {quote(table.name)}")
        highest = int(cursor.fetchone()[0])
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [quote(table.name), table.numbered])
            cursor.execute(f"SELECT last_value, is_called FROM {cursor.fetchone()[0]}")
            value, called = cursor.fetchone()
            return max(highest, int(value) if called else int(value) - 1)
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table.name])
        row = cursor.fetchone()
        return max(highest, int(row[0]) if row else 0)


def set_last_number(alias: str, table: Table, number: int) -> None:
    """The next row gets the number after this one."""
    connection = connections[alias]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT setval(pg_get_serial_sequence(%s, %s), %s, %s)",
                [connection.ops.quote_name(table.name), table.numbered, max(number, 1), number > 0],
            )
            return
        cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table.name])
        cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table.name, number])


def _fitting(alias: str, table: Table, rows: Iterable[list[Any]]) -> Iterator[list[Any]]:
    """The rows. Raises `MoveFailed` with the row and column that the target cannot hold: SQLite takes anything."""
    strict = connections[alias].vendor == "postgresql"
    tests: list[tuple[int, Callable[[Any], str]]] = []
    for number, column in enumerate(table.columns):
        if column.kind in ("text", "json") and strict:
            tests.append((number, _text_test(column.kind, column.most)))
        elif column.integer:
            tests.append((number, _integer_test(*connections[alias].ops.integer_field_range(column.integer))))
    for row in rows:
        for number, test in tests:
            if row[number] is not None and (problem := test(row[number])):
                raise MoveFailed(
                    f"table {table.name}, row {str(row[0])[:80]}: column {table.columns[number].name} {problem}"
                )
        yield row


def _text_test(kind: str, most: int | None) -> Callable[[str], str]:
    def test(value: str) -> str:
        if "\0" in value or (kind == "json" and r"\u0000" in value.replace(r"\\", "")):
            return "holds a character NUL, which PostgreSQL cannot keep"
        if most is not None and len(value) > most:
            return f"has {len(value)} characters; {most} fit"
        return ""

    return test


def _integer_test(least: int | None, most: int | None) -> Callable[[int], str]:
    def test(value: int) -> str:
        fits = (least is None or value >= least) and (most is None or value <= most)
        return "" if fits else f"holds {value}, which is too large"

    return test


def _first_lines(error: Exception) -> str:
    return " ".join(str(error).splitlines()[:2])[:300]
