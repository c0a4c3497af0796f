"""`move`: an installation from one database to another: SQLite to PostgreSQL, and back.

Nobody may use either database meanwhile, and locks keep writers out. All tables are written in one transaction, read
again and compared before it is committed; so an interruption leaves the target as it was, and the move can be begun
again. Then the source is sealed: nothing that still knows it can write where nobody reads any more.

Ciphertext is copied as it is. Keys and package archives stay where they are: the database does not hold them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import DEFAULT_DB_ALIAS, Error, IntegrityError, OperationalError, connections, transaction

from vetro.server.config import Config
from vetro.server.config_shown import without_password
from vetro.server.database import database_settings
from vetro.server.dbtools import copying, schema
from vetro.server.dbtools.busy import users
from vetro.server.dbtools.errors import MoveFailed, MoveRefused
from vetro.server.dbtools.tables import MADE, Sum, Table, rows, tables

#: Name of the target among Django's connections; the source is the default one.
TARGET = "target"
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


class _OnlyTried(Exception):
    """Undoes a move that was only to be tried."""


def add_target(config: Config, url: str) -> None:
    """Makes the database with this address known as `TARGET`. Raises `ConfigError`."""
    given = {
        DEFAULT_DB_ALIAS: dict(connections.databases[DEFAULT_DB_ALIAS]),
        TARGET: database_settings(config.changed({"database.url": url})),
    }
    connections.settings = connections.configure_settings(given)


def move(target_name: str, *, again: bool = False, dry_run: bool = False, say: Say = print) -> Moved:
    """Copies the default database to `TARGET`; ``target_name`` is written down in the source, without a password.

    ``again``: the target holds an earlier copy of the same installation, which is replaced. ``dry_run``: everything
    is done but the end, and the target has empty tables then. ``say`` gets a line for each table.

    Raises `MoveRefused` and errors of `schema` before anything was changed, `MoveFailed` when the target then is as
    it was before.
    """
    began = time.monotonic()
    if _same():
        raise MoveRefused("source and target are the same database")
    for alias, what in ((DEFAULT_DB_ALIAS, "source"), (TARGET, "target")):
        if who := users(alias):
            error = MoveRefused(f"the {what} is in use: {'; '.join(who[:5])}")
            error.hint = "stop the service, its workers and everything else that uses it"
            raise error
    found = schema.state(DEFAULT_DB_ALIAS)
    if found.moved and not again:
        schema.refuse_foreign(found)
    if found.unknown or found.missing:
        schema.require(DEFAULT_DB_ALIAS)
    schema.migrate(TARGET, sealed=True)
    everything = tables()
    try:
        with _locked(DEFAULT_DB_ALIAS, "source", everything), _locked(TARGET, "target", everything):
            _refuse_filled(everything, again)
            counts = _copy(everything, say)
            schema.reopen(TARGET)
            if connections[DEFAULT_DB_ALIAS].vendor == "sqlite" and (who := users(DEFAULT_DB_ALIAS)):
                raise MoveRefused(f"somebody began to use the source meanwhile: {'; '.join(who[:5])}")
            if dry_run:
                raise _OnlyTried
            # Committed from the inside out: whatever happens in between, the source is whole and not yet sealed.
            if not found.moved:
                transaction.on_commit(lambda: _seal(target_name), using=TARGET)
    except _OnlyTried:
        pass
    except (Error, OSError) as error:
        raise MoveFailed(f"the move was broken off: {str(error).splitlines()[0]}") from None
    if not dry_run and connections[TARGET].vendor == "postgresql":
        with connections[TARGET].cursor() as cursor:
            cursor.execute("ANALYZE")  # the planner knows nothing of what came in one go
    return Moved(counts, time.monotonic() - began)


def _seal(target_name: str) -> None:
    schema.seal(DEFAULT_DB_ALIAS, target_name)


def _same() -> bool:
    one, other = (
        {name: connections[alias].settings_dict[name] for name in ("ENGINE", "NAME", "HOST", "PORT")}
        for alias in (DEFAULT_DB_ALIAS, TARGET)
    )
    return one == other


@contextmanager
def _locked(alias: str, what: str, everything: Sequence[Table]) -> Iterator[None]:
    """A transaction in which nobody else writes."""
    connection = connections[alias]
    try:
        context = transaction.atomic(using=alias)
        context.__enter__()
    except OperationalError:
        raise MoveRefused(f"the {what} is being written to") from None
    try:
        if connection.vendor == "postgresql":
            names = ", ".join(connection.ops.quote_name(table.name) for table in everything)
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                try:
                    cursor.execute(f"LOCK TABLE {names} IN EXCLUSIVE MODE NOWAIT")
                    # Whoever starts now waits here, and then sees the seal.
                    cursor.execute("LOCK TABLE django_migrations IN ACCESS EXCLUSIVE MODE NOWAIT")
                except OperationalError:
                    raise MoveRefused(f"the {what} is being written to") from None
        yield
    except BaseException as error:
        context.__exit__(type(error), error, error.__traceback__)
        raise
    context.__exit__(None, None, None)


def _refuse_filled(everything: Sequence[Table], again: bool) -> None:
    """The target is empty, or holds a copy of the source in which nothing has happened since."""
    filled = {}
    for table in everything:
        if table.name not in MADE and (count := copying.count(TARGET, table)):
            filled[table.name] = count
    if not filled:
        return
    if not again:
        shown = ", ".join(f"{name}: {count}" for name, count in list(filled.items())[:5])
        error = MoveRefused(f"the target is not empty ({shown})")
        error.hint = "take an empty database; --again replaces an earlier copy of this installation"
        raise error
    strange = set(_audit(TARGET)) - set(_audit(DEFAULT_DB_ALIAS))
    if strange or "audit_auditrecord" not in filled:
        error = MoveRefused(
            f"the target is no earlier copy of this installation: {len(strange)} changes were made only there"
            if strange
            else "the target is no earlier copy of this installation"
        )
        error.hint = "take an empty database; what is in this one would be lost"
        raise error
    # Tasks and drafts go on without an entry in the audit, but not without an event, a report, a state.
    for table in everything:
        if table.numbered and table.name not in MADE:
            there, here = (copying.last_number(alias, table) for alias in (TARGET, DEFAULT_DB_ALIAS))
            if there > here:
                error = MoveRefused(f"work went on in the target: {table.name} was numbered up to {there}, not {here}")
                error.hint = "take an empty database; what is in this one would be lost"
                raise error


def _audit(alias: str) -> Iterator[tuple[Any, ...]]:
    (table,) = (table for table in tables() if table.name == "audit_auditrecord")
    names = [column.name for column in table.columns]
    wanted = [names.index(name) for name in ("id", "at", "user_id", "action", "target_id")]
    for row in rows(alias, table):
        yield tuple(row[number] for number in wanted)


def _copy(everything: Sequence[Table], say: Say) -> dict[str, int]:
    counts = {}
    sums = {}
    with copying.quietly(TARGET):
        copying.empty(TARGET, everything)
        for number, table in enumerate(everything, 1):
            total = sums[table.name] = Sum(table)
            copying.fill(TARGET, table, copying.summed(total, rows(DEFAULT_DB_ALIAS, table)))
            counts[table.name] = total.count
            if total.count:
                say(f"[{number}/{len(everything)}] {table.name}: {total.count} rows")
        for table in everything:
            if table.numbered:
                copying.set_last_number(TARGET, table, copying.last_number(DEFAULT_DB_ALIAS, table))
        _compare(everything, sums)
        try:
            connections[TARGET].check_constraints()
        except IntegrityError as error:
            failed = MoveFailed(f"the source holds references to rows that are gone: {str(error).splitlines()[0]}")
            failed.hint = "'vetro db check' lists them"
            raise failed from None
    say("the copy was read again: all rows and checksums agree")
    return counts


def _compare(everything: Sequence[Table], sums: dict[str, Sum]) -> None:
    for table in everything:
        copied = Sum(table)
        for row in rows(TARGET, table):
            copied.add(row)
        wanted = sums[table.name]
        if (copied.count, copied.checksum) != (wanted.count, wanted.checksum):
            raise MoveFailed(
                f"table {table.name} is not the same in both databases: {wanted.count} rows with checksum"
                f" {wanted.checksum[:12]}…, copied {copied.count} with {copied.checksum[:12]}…"
            )


def named(url: str) -> str:
    """An address as it may be shown and written down: without its password."""
    return str(without_password(url))
