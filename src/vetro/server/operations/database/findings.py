"""What examining a database finds, and the checks of the database as such: does it answer, is it set up well."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, Error, connections

from vetro.diagnostics import ERROR, OK, WARNING, Diagnostic
from vetro.server.operations.database import schema

#: Seconds by which the clocks of database and machine may differ; leases go by that of the database.
_CLOCKS = 5.0
#: Bytes that should be free beside a database file.
_SPACE = 200 << 20


def connection() -> list[Diagnostic]:
    """Whether the database answers, which one it is, how it is set up. The first is an error if nothing else can be
    looked at."""
    began = time.perf_counter()
    try:
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute("SELECT 1")
    except (Error, OSError) as error:
        text = str(error).splitlines()[0]
        return [Diagnostic("connection", ERROR, f"the database does not answer: {text}", "see 'database.url'")]
    milliseconds = (time.perf_counter() - began) * 1000
    wrapper = connections[DEFAULT_DB_ALIAS]
    found = _postgresql(wrapper) if wrapper.vendor == "postgresql" else _sqlite(wrapper)
    version = ".".join(str(part) for part in wrapper.get_database_version())
    name = "PostgreSQL" if wrapper.vendor == "postgresql" else "SQLite"
    return [Diagnostic("connection", OK, f"{name} {version} answers after {milliseconds:.0f} ms"), *found]


def _postgresql(wrapper: Any) -> list[Diagnostic]:
    found = []
    with wrapper.cursor() as cursor:
        cursor.execute(
            "SELECT pg_encoding_to_char(encoding), clock_timestamp(), current_setting('max_connections')::int,"
            " (SELECT count(*) FROM pg_stat_activity), (SELECT count(*) FROM pg_extension WHERE extname = 'pg_trgm'),"
            " (SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'vetro\\_%' AND tgenabled <> 'D'),"
            " (SELECT count(*) FROM pg_class WHERE relname = 'catalog_trigrams'),"
            " (SELECT count(*) FROM pg_class WHERE relname = 'catalog_short')"
            " FROM pg_database WHERE datname = current_database()"
        )
        encoding, now, most, used, extension, triggers, index, short = cursor.fetchone()
    if encoding != "UTF8":
        text = f"the encoding is {encoding}"
        found.append(Diagnostic("connection", ERROR, text, "make a database with ENCODING 'UTF8' and move there"))
    apart = abs((datetime.now(UTC) - now).total_seconds())
    if apart > _CLOCKS:
        text = f"the clocks of this machine and the database differ by {apart:.0f} s"
        found.append(Diagnostic("connection", WARNING, text, "let both follow a time server"))
    if used > 0.8 * most:
        text = f"{used} of {most} connections are taken"
        found.append(Diagnostic("connection", WARNING, text, "lower database.pool, or raise max_connections"))
    if schema.state().missing:
        return found
    if not (extension and index):
        hint = "'vetro db check --repair' makes it; docs/database.md, Search, says who may"
        found.append(
            Diagnostic("search", WARNING, "searches read every package: no index of substrings", hint, cure="indexes")
        )
    if not short:
        hint = "'vetro db check --repair' makes it; in a catalog of 100,000 packages that takes about a minute"
        text = "searches for one or two characters read every package: no index of short words"
        found.append(Diagnostic("search", WARNING, text, hint, cure="indexes"))
    if triggers < 4:
        hint = "triggers named vetro_… are gone: 'vetro db check --repair'; until then it is only slower"
        found.append(
            Diagnostic(
                "events", WARNING, "the database tells nobody what happens; everybody polls", hint, cure="indexes"
            )
        )
    return found


def _sqlite(wrapper: Any) -> list[Diagnostic]:
    found = []
    path = Path(str(wrapper.settings_dict["NAME"]))
    with wrapper.cursor() as cursor:
        cursor.execute("PRAGMA quick_check(5)")
        damage = [row[0] for row in cursor.fetchall() if row[0] != "ok"]
    if damage:
        hint = "restore a backup, or save what can be read: sqlite3 vetro.db .recover"
        found.append(Diagnostic("connection", ERROR, f"the file is damaged: {damage[0]}", hint))
        return found
    with wrapper.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        (mode,) = cursor.fetchone()
        cursor.execute("SELECT count(*) FROM sqlite_master WHERE name = 'catalog_text_added'")
        (index,) = cursor.fetchone()
    if mode != "wal":
        hint = "keep it on a local disk: the journal WAL works on no network file system"
        found.append(Diagnostic("connection", WARNING, f"the journal mode is {mode}: readers and writers wait", hint))
    if not index and not schema.state().missing:
        hint = "'vetro db check --repair' makes it, where SQLite has FTS5 with trigrams"
        found.append(
            Diagnostic("search", WARNING, "searches read every package: no index of substrings", hint, cure="indexes")
        )
    if path.exists():
        if path.stat().st_mode & 0o077:
            hint = f"chmod go= {path}"
            if path.parent.stat().st_mode & 0o077:
                found.append(Diagnostic("connection", WARNING, f"others may read {path}", hint))
        disk = os.statvfs(path.parent)
        free = disk.f_bavail * disk.f_frsize
        if free < _SPACE:
            found.append(Diagnostic("connection", WARNING, f"{free >> 20} MiB are free in {path.parent}", "make room"))
    return found


def tables() -> list[Diagnostic]:
    """Whether tables and program fit."""
    found = schema.state()
    if found.moved:
        hint = "set 'database.url' to it; 'vetro db reopen' makes this one the installation again"
        return [Diagnostic("schema", ERROR, f"the installation was moved to {found.moved}", hint)]
    if found.restoring:
        hint = "begin it again: 'vetro db restore FILE'"
        return [Diagnostic("schema", ERROR, "restoring a backup into this database has not ended", hint)]
    if found.unknown:
        text = f"a newer Vetro changed the tables: {', '.join(found.unknown)}"
        return [Diagnostic("schema", ERROR, text, "use the newer version here, too")]
    if found.missing:
        text = f"changes of this version are missing: {', '.join(found.missing)}"
        return [Diagnostic("schema", ERROR, text, "make a backup, then run 'vetro db migrate'")]
    return [Diagnostic("schema", OK, f"all {len(found.done)} migrations are there")]
