"""`repair`: makes again what belongs to the tables and holds no data: triggers that tell what happens, search indexes.

They go missing where a dump was restored without them, where somebody turned triggers off to load rows, or where the
user of the database was not allowed to make them at first.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

from django.db import DEFAULT_DB_ALIAS, Error, connections, transaction

from vetro.server.operations.database import schema
from vetro.server.operations.database.errors import NoDatabase

#: A view and its three triggers.
_TOGETHER = 4


def repair(alias: str = DEFAULT_DB_ALIAS) -> list[str]:
    """What was made, in words; empty where nothing was missing.

    Raises `SchemaOlder`, `SchemaNewer`, `DatabaseMoved`, and `NoDatabase` for what the database does not allow.
    """
    schema.require(alias)
    connection = connections[alias]
    try:
        with schema.migration_lock(alias), transaction.atomic(using=alias):
            if connection.vendor == "postgresql":
                return [*_triggers(connection), *_index(connection), *_together(connection), *_short(connection)]
            return [*_substrings(connection), *_together(connection)]
    except Error as error:
        failed = NoDatabase(f"this cannot be made: {str(error).splitlines()[0]}")
        failed.hint = "the owner of the tables may, and for the extension pg_trgm a superuser"
        raise failed from None


def _triggers(connection: Any) -> list[str]:
    done = []
    notify = import_module("vetro.server.tasks.migrations.0002_notify")
    with connection.cursor() as cursor:
        for table in ("dispatch_event", "dispatch_task"):
            cursor.execute(
                "SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal AND tgenabled = 'D'",
                [table],
            )
            names = [name for (name,) in cursor.fetchall()]
            if names:
                cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
                done.append(f"turned on: {', '.join(names)}")
        cursor.execute("SELECT tgname FROM pg_trigger WHERE tgname LIKE 'vetro\\_%%' AND NOT tgisinternal")
        there = {name for (name,) in cursor.fetchall()}
        for statement in notify.STATEMENTS:
            words = statement.split()
            if words[:2] == ["CREATE", "TRIGGER"]:
                if words[2] in there:
                    continue
                done.append(f"trigger {words[2]}")
            cursor.execute(statement)
    return done


def _index(connection: Any) -> list[str]:
    found = "SELECT count(*) FROM pg_class WHERE relname = 'catalog_trigrams'"
    with connection.cursor() as cursor:
        cursor.execute(found)
        if cursor.fetchone()[0]:
            return []
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        columns = ", ".join(f"{field} gin_trgm_ops" for field in _fields())
        cursor.execute(f"CREATE INDEX catalog_trigrams ON catalog_packagetext USING gin ({columns})")
    return ["index catalog_trigrams"]


def _short(connection: Any) -> list[str]:
    """The index of short words, and its function where that is gone, too."""
    words = import_module("vetro.server.catalog.migrations.0005_short_words")
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('catalog_short') IS NOT NULL, to_regproc('catalog_grams') IS NOT NULL")
        index, function = cursor.fetchone()
        if index:
            return []
        for statement in ([] if function else [words.FUNCTION]) + [words.INDEX, words.STATISTICS]:
            cursor.execute(statement)
    return ["index catalog_short"]


def _substrings(connection: Any) -> list[str]:
    """Of SQLite: one table a field. They are filled anew where they were missing or do not agree with the texts."""
    search = import_module("vetro.server.catalog.migrations.0003_search")
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE 'catalog\\_t%' ESCAPE '\\'")
        there = {name for (name,) in cursor.fetchall()}
        done = []
        for statement in search.SQLITE:
            words = statement.split()
            name = words[words.index("TABLE" if "TABLE" in words[:3] else "TRIGGER") + 1]
            if name not in there:
                cursor.execute(statement)
                done.append(name)
        for field in _fields():
            table = f"catalog_trigrams_{field}"
            if table not in done and _agrees(connection, table):
                continue
            cursor.execute(f"INSERT INTO {table}({table}) VALUES ('rebuild')")
            if table not in done:
                done.append(f"{table} (filled anew)")
    return done


def _together(connection: Any) -> list[str]:
    """The index of all fields together."""
    search = import_module("vetro.server.catalog.migrations.0011_searchword")
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT to_regclass('catalog_trigrams_all') IS NOT NULL")
            if cursor.fetchone()[0]:
                return []
            cursor.execute(search.POSTGRESQL)
            return ["index catalog_trigrams_all"]
        cursor.execute("SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'catalog\\_all%' ESCAPE '\\'")
        if cursor.fetchone()[0] == _TOGETHER and _agrees(connection, "catalog_trigrams_all"):
            return []
    of = SimpleNamespace(connection=connection)  # no editor: one does not work within a transaction of SQLite
    search.remove(None, of)
    search.add(None, of)
    return ["catalog_trigrams_all"]


def _agrees(connection: Any, table: str) -> bool:
    try:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
    except Error:
        return False
    return True


def _fields() -> tuple[str, ...]:
    search = import_module("vetro.server.catalog.migrations.0003_search")
    return tuple(search.FIELDS)
