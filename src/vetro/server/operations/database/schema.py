"""The tables: which changes (migrations) are in the database, bringing it up to date, and refusing what does not fit.

A database that was moved away (`vetro.server.operations.database.move`) is sealed: a row of the table of migrations
says where to. One in which restoring a backup has not ended has a mark (`vetro.server.operations.database.engines`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.sql import emit_post_migrate_signal, emit_pre_migrate_signal
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from vetro import file_lock
from vetro.data_classes import dataclass
from vetro.server.operations.database.errors import DatabaseMoved, RestoreFailed, SchemaNewer, SchemaOlder
from vetro.server.tasks.backends import labels_of_plugins

#: Any number will do as long as nobody else locks it.
_LOCK = 7630942018
#: Seconds between two words about how far it is.
_TOLD = 2.0
#: What stands in the column for the app, in the row that seals.
_SEAL = "moved to"
#: A table that is there from when a database is filled from a backup until restoring has ended.
MARK = "vetro_restoring"


@dataclass(frozen=True, slots=True)
class Schema:
    """Migrations as ``app.name``. ``missing`` are to be done, ``unknown`` were done by another version of Vetro."""

    done: tuple[str, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    #: Where the installation was moved to; empty: nowhere.
    moved: str = ""
    #: Whether restoring a backup was begun and has not ended.
    restoring: bool = False

    @property
    def current(self) -> bool:
        """Whether this version of Vetro and the tables fit."""
        return not (self.missing or self.unknown or self.moved or self.restoring)


def state(alias: str = DEFAULT_DB_ALIAS) -> Schema:
    """What is in the database. Raises errors of the database."""
    loader = MigrationLoader(connections[alias])
    applied, disk = set(loader.applied_migrations), set(loader.disk_migrations)
    moved = next((name for app, name in applied if app == _SEAL), "")
    restoring = MARK in connections[alias].introspection.table_names()
    done = {key for key in applied if key[0] != _SEAL}
    unknown = done - disk
    if unknown:  # tables of a dispatcher are no data: where another one is in use, nobody minds that they are there
        plugins = labels_of_plugins()
        unknown = {key for key in unknown if key[0] not in plugins}
    return Schema(_named(done & disk), _named(disk - done), _named(unknown), moved, restoring)


def require(alias: str = DEFAULT_DB_ALIAS) -> None:
    """Raises `SchemaNewer`, `SchemaOlder`, `DatabaseMoved` or `RestoreFailed` unless tables and program fit."""
    found = state(alias)
    refuse_foreign(found)
    if found.missing:
        raise SchemaOlder(f"the database lacks {len(found.missing)} changes of this version ({_some(found.missing)})")


def refuse_foreign(found: Schema, *, restoring: bool = False) -> None:
    """Raises `DatabaseMoved`, `SchemaNewer`, and `RestoreFailed` unless ``restoring``: what bringing it up to date does
    not mend."""
    if found.restoring and not restoring:
        error = RestoreFailed("restoring a backup into this database has not ended")
        error.hint = "begin it again: 'vetro db restore FILE' with the same settings"
        raise error
    if found.moved:
        raise DatabaseMoved(f"this installation was moved to {found.moved}")
    if found.unknown:
        raise SchemaNewer(f"the database was changed by a newer Vetro ({_some(found.unknown)})")


def migrate(
    alias: str = DEFAULT_DB_ALIAS, *, restoring: bool = False, say: Callable[[str], None] = lambda text: None
) -> list[str]:
    """Brings the tables up to date; which migrations that took. Two at once wait for each other.

    ``restoring``: also while restoring has not ended; ``say`` gets what is done, as it goes on. Raises `SchemaNewer`,
    `DatabaseMoved`, `RestoreFailed`, and errors of the database: then the last of the migrations is undone.
    """
    with migration_lock(alias):
        found = state(alias)
        refuse_foreign(found, restoring=restoring)
        if found.missing:
            what = "bringing the database up to date" if found.done else "making the database"
            told = time.monotonic()
            say(f"{what} …")

            def begun(number: int, of: int) -> None:
                nonlocal told
                if time.monotonic() - told > _TOLD:
                    told = time.monotonic()
                    say(f"{what}: {number} of {of} steps")

            migrate_all(connections[alias], begun)
    return list(found.missing)


def of_the_data(migrations: Iterable[str]) -> list[str]:
    """Those of them that make tables of the installation; the others' tables are made anew from these."""
    plugins = labels_of_plugins()
    return [name for name in migrations if name.partition(".")[0] not in plugins]


@contextmanager
def migration_lock(alias: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Nobody else brings the tables up to date meanwhile."""
    connection = connections[alias]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
            try:
                yield
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
        return
    path = str(connection.settings_dict["NAME"])
    if ":memory:" in path or "mode=memory" in path:
        yield
        return
    with file_lock.exclusive(Path(f"{path}-migrating")):
        yield


def seal(alias: str, target: str) -> None:
    """Marks the database as moved to ``target``, inside the caller's transaction."""
    _recorder(alias).record_applied(_SEAL, target[:255])


def reopen(alias: str = DEFAULT_DB_ALIAS) -> str:
    """Makes a database that was moved away the installation again; where it had been moved to, empty if nowhere."""
    found = state(alias).moved
    if found:
        _recorder(alias).record_unapplied(_SEAL, found)
    return found


def _recorder(alias: str) -> Any:
    return MigrationRecorder(connections[alias])


def _named(keys: set[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted(f"{app}.{name}" for app, name in keys))


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown}, …" if len(names) > 3 else shown


class Executor(MigrationExecutor):
    """Carries out migrations forwards; each is recorded in the transaction which does it.

    Django records one after its transaction when there are statements left for its end; who is killed in between has
    tables of which nobody knows, and no later run gets past them.
    """

    def apply_migration(self, state: Any, migration: Any, fake: bool = False, fake_initial: bool = False) -> Any:
        """The state after a migration, which is done and recorded, or neither."""
        with self.connection.schema_editor(atomic=migration.atomic) as editor:
            state = migration.apply(state, editor)
            waiting, editor.deferred_sql = list(editor.deferred_sql), []
            for statement in waiting:
                editor.execute(statement, None)
            self.record_migration(migration)  # type: ignore[call-arg]  # the stubs are behind
        return state


def migrate_all(connection: Any, begun: Callable[[int, int], None] = lambda number, of: None) -> None:
    """Does every migration that is missing, as the command ``migrate`` does; ``begun`` is told which one, of how many.

    Raises errors of the database.
    """

    number = 0

    def progress(what: str, *_: Any) -> None:
        nonlocal number
        if what == "apply_start":
            number += 1
            begun(number, len(plan))

    executor = Executor(connection, progress)
    executor.loader.check_consistent_history(connection)
    targets = executor.loader.graph.leaf_nodes()
    plan = executor.migration_plan(targets)
    emit_pre_migrate_signal(0, False, connection.alias, plan=plan)
    executor.migrate(targets, plan=plan)
    emit_post_migrate_signal(0, False, connection.alias, plan=plan)
