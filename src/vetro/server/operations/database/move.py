"""`move`: an installation from one database to another: SQLite to PostgreSQL, and back.

Django reads each row from the one and writes it to the other, so both kinds of database get it as their own. Nobody
may use either meanwhile. All rows are written in one transaction; an interruption leaves the target as it was, and the
move can be begun again. Then the source is sealed: nothing that still knows it can write where nobody reads any more.

Keys and package archives stay where they are: the database does not hold them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, DatabaseError, Error, IntegrityError, connections, models, transaction
from django.db.models.sql import InsertQuery

from vetro.data_classes import dataclass
from vetro.server.config.config import Config
from vetro.server.config.display import without_password
from vetro.server.database import database_settings
from vetro.server.operations.database import schema
from vetro.server.operations.database.activity import users
from vetro.server.operations.database.errors import MoveFailed, MoveRefused
from vetro.server.operations.database.restore import MADE, filled

#: Name of the target among Django's connections; the source is the default one.
TARGET = "target"
#: Rows read at once.
_TOGETHER = 500
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Moved:
    """What was copied: table -> rows."""

    counts: dict[str, int]
    seconds: float

    @property
    def rows(self) -> int:
        """All of them."""
        return sum(self.counts.values())


def add_target(config: Config, url: str) -> None:
    """Makes the database with this address known as `TARGET`. Raises `ConfigError`."""
    given = {
        DEFAULT_DB_ALIAS: dict(connections.databases[DEFAULT_DB_ALIAS]),
        TARGET: database_settings(config.changed({"database.url": url})),
    }
    connections.settings = connections.configure_settings(given)


def move(target_name: str, *, dry_run: bool = False, say: Say = print) -> Moved:
    """Copies the default database to `TARGET`; ``target_name`` is written down in the source, without a password.

    ``dry_run``: everything is done but the end, and the target has empty tables then. ``say`` gets a line for each
    table.

    Raises `MoveRefused` and errors of `schema` before anything was changed, `MoveFailed` when the target then is as
    it was before.
    """
    began = time.monotonic()
    if _same():
        raise MoveRefused("source and target are the same database")
    _refuse_used(DEFAULT_DB_ALIAS, "source")
    _refuse_used(TARGET, "target")
    schema.require(DEFAULT_DB_ALIAS)
    schema.migrate(TARGET)
    if counts := filled(TARGET):
        shown = ", ".join(f"{name}: {count}" for name, count in list(counts.items())[:5])
        error = MoveRefused(f"the target is not empty ({shown})")
        error.hint = "take an empty database; what is in this one would be lost"
        raise error
    try:
        # The one inside is committed first: whatever happens in between, the source is whole and not yet sealed.
        with transaction.atomic(using=DEFAULT_DB_ALIAS):
            if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
                with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            with transaction.atomic(using=TARGET):
                counts = _copy(say)
                _refuse_used(DEFAULT_DB_ALIAS, "source")
                transaction.set_rollback(dry_run, using=TARGET)
            if not dry_run:
                schema.seal(DEFAULT_DB_ALIAS, target_name)
    except (Error, OSError) as error:
        raise MoveFailed(f"the move was broken off: {_line(error)}") from None
    if not dry_run and connections[TARGET].vendor == "postgresql":
        with connections[TARGET].cursor() as cursor:
            cursor.execute("ANALYZE")  # the planner knows nothing of what came in one go
    return Moved(counts, time.monotonic() - began)


def _same() -> bool:
    one, other = (
        {name: connections[alias].settings_dict[name] for name in ("ENGINE", "NAME", "HOST", "PORT")}
        for alias in (DEFAULT_DB_ALIAS, TARGET)
    )
    return one == other


def _refuse_used(alias: str, what: str) -> None:
    if who := users(alias):
        error = MoveRefused(f"the {what} is in use: {'; '.join(who[:5])}")
        error.hint = "stop the service, its workers and everything else that uses it"
        raise error


def _copy(say: Say) -> dict[str, int]:
    everything = [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    everything = [model for model in everything if not model._meta.proxy]
    for model in reversed(everything):
        if model._meta.db_table in MADE:
            model._base_manager.using(TARGET).all().delete()
    counts = {}
    for number, model in enumerate(everything, 1):
        table = model._meta.db_table
        counts[table] = _copy_rows(model)
        if model._base_manager.using(TARGET).count() != counts[table]:
            raise MoveFailed(f"table {table} does not have the {counts[table]} rows that were written to it")
        if counts[table]:
            say(f"[{number}/{len(everything)}] {table}: {counts[table]} rows")
        numbered = model._meta.auto_field
        if numbered is not None and numbered.column is not None:
            _set_last_number(table, numbered.column, _last_number(table, numbered.column))
    try:
        connections[TARGET].check_constraints()
    except IntegrityError as error:
        failed = MoveFailed(f"the source holds references to rows that are gone: {_line(error)}")
        failed.hint = "'vetro db check' lists them"
        raise failed from None
    return counts


def _copy_rows(model: type[models.Model]) -> int:
    count = 0
    rows = model._base_manager.using(DEFAULT_DB_ALIAS).iterator(chunk_size=_TOGETHER)
    while together := list(islice(rows, _TOGETHER)):
        try:
            with transaction.atomic(using=TARGET):
                _insert(model, together)
        except (DatabaseError, ValueError):
            for row in together:
                _insert_one(model, row)
        count += len(together)
    return count


def _insert(model: type[models.Model], rows: list[models.Model]) -> None:
    """Writes rows as they are: no time of now, no default."""
    fields = list(model._meta.local_concrete_fields)
    most = connections[TARGET].ops.bulk_batch_size(fields, rows)
    for first in range(0, len(rows), most):
        query = InsertQuery(model)
        query.insert_values(fields, rows[first : first + most], raw=True)
        query.get_compiler(using=TARGET).execute_sql()


def _insert_one(model: type[models.Model], row: models.Model) -> None:
    """The same with one row, which is named if it does not fit. Raises `MoveFailed`."""
    try:
        _insert(model, [row])
    except (DatabaseError, ValueError) as error:
        raise MoveFailed(f"table {model._meta.db_table}, row {str(row.pk)[:80]}: {_line(error)}") from None


def _last_number(table: str, column: str) -> int:
    """The highest number that the source ever gave in this table; it is not given again when the row is gone."""
    connection = connections[DEFAULT_DB_ALIAS]
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(max({quote(column)}), 0) FROM {quote(table)}")
        highest = int(cursor.fetchone()[0])
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [quote(table), column])
            cursor.execute(f"SELECT last_value, is_called FROM {cursor.fetchone()[0]}")
            value, called = cursor.fetchone()
            return max(highest, int(value) if called else int(value) - 1)
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        row = cursor.fetchone()
        return max(highest, int(row[0]) if row else 0)


def _set_last_number(table: str, column: str, number: int) -> None:
    """The next row of the target gets the number after this one."""
    connection = connections[TARGET]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT setval(pg_get_serial_sequence(%s, %s), %s, %s)",
                [connection.ops.quote_name(table), column, max(number, 1), number > 0],
            )
            return
        cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
        cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, number])


def named(url: str) -> str:
    """An address as it may be shown and written down: without its password."""
    return str(without_password(url))


def _line(error: Any) -> str:
    return " ".join(str(error).splitlines()[:2])[:300]
