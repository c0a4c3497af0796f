"""What examining a database finds, and the checks of the database as such: does it answer, is it set up well."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, Error, connections

from vetro.diagnostics import ERROR, OK, WARNING, Diagnostic, Text
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
        return [
            Diagnostic(
                "connection", ERROR, Text("the database does not answer: {text}", text=text), Text("see 'database.url'")
            )
        ]
    milliseconds = (time.perf_counter() - began) * 1000
    wrapper = connections[DEFAULT_DB_ALIAS]
    found = _postgresql(wrapper) if wrapper.vendor == "postgresql" else _sqlite(wrapper)
    version = ".".join(str(part) for part in wrapper.get_database_version())
    name = "PostgreSQL" if wrapper.vendor == "postgresql" else "SQLite"
    return [
        Diagnostic(
            "connection",
            OK,
            Text(
                "{name} {version} answers after {milliseconds} ms",
                name=name,
                version=version,
                milliseconds=f"{milliseconds:.0f}",
            ),
        ),
        *found,
    ]


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
        text = Text("the encoding is {encoding}", encoding=encoding)
        found.append(Diagnostic("connection", ERROR, text, Text("make a database with ENCODING 'UTF8' and move there")))
    apart = abs((datetime.now(UTC) - now).total_seconds())
    if apart > _CLOCKS:
        text = Text("the clocks of this machine and the database differ by {apart} s", apart=f"{apart:.0f}")
        found.append(Diagnostic("connection", WARNING, text, Text("let both follow a time server")))
    if used > 0.8 * most:
        text = Text("{used} of {most} connections are taken", used=used, most=most)
        found.append(Diagnostic("connection", WARNING, text, Text("lower database.pool, or raise max_connections")))
    if schema.state().missing:
        return found
    if not (extension and index):
        hint = Text("'vetro db check --repair' makes it; docs/database.md, Search, says who may")
        found.append(
            Diagnostic(
                "search", WARNING, Text("searches read every package: no index of substrings"), hint, cure="indexes"
            )
        )
    if not short:
        hint = Text("'vetro db check --repair' makes it; in a catalog of 100,000 packages that takes about a minute")
        text = Text("searches for one or two characters read every package: no index of short words")
        found.append(Diagnostic("search", WARNING, text, hint, cure="indexes"))
    if triggers < 4:
        hint = Text("triggers named vetro_… are gone: 'vetro db check --repair'; until then it is only slower")
        found.append(
            Diagnostic(
                "events", WARNING, Text("the database tells nobody what happens; everybody polls"), hint, cure="indexes"
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
        hint = Text("restore a backup, or save what can be read: sqlite3 vetro.db .recover")
        found.append(Diagnostic("connection", ERROR, Text("the file is damaged: {damage}", damage=damage[0]), hint))
        return found
    with wrapper.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        (mode,) = cursor.fetchone()
        cursor.execute("SELECT count(*) FROM sqlite_master WHERE name = 'catalog_text_added'")
        (index,) = cursor.fetchone()
    if mode != "wal":
        hint = Text("keep it on a local disk: the journal WAL works on no network file system")
        found.append(
            Diagnostic(
                "connection", WARNING, Text("the journal mode is {mode}: readers and writers wait", mode=mode), hint
            )
        )
    if not index and not schema.state().missing:
        hint = Text("'vetro db check --repair' makes it, where SQLite has FTS5 with trigrams")
        found.append(
            Diagnostic(
                "search", WARNING, Text("searches read every package: no index of substrings"), hint, cure="indexes"
            )
        )
    if path.exists():
        if path.stat().st_mode & 0o077:
            hint = Text("chmod go= {path}", path=path)
            if path.parent.stat().st_mode & 0o077:
                found.append(Diagnostic("connection", WARNING, Text("others may read {path}", path=path), hint))
        disk = os.statvfs(path.parent)
        free = disk.f_bavail * disk.f_frsize
        if free < _SPACE:
            found.append(
                Diagnostic(
                    "connection",
                    WARNING,
                    Text("{free} MiB are free in {parent}", free=free >> 20, parent=path.parent),
                    Text("make room"),
                )
            )
    return found


def tables() -> list[Diagnostic]:
    """Whether tables and program fit."""
    found = schema.state()
    if found.moved:
        hint = Text("set 'database.url' to it; 'vetro db reopen' makes this one the installation again")
        return [Diagnostic("schema", ERROR, Text("the installation was moved to {moved}", moved=found.moved), hint)]
    if found.restoring:
        hint = Text("begin it again: 'vetro db restore FILE'")
        return [Diagnostic("schema", ERROR, Text("restoring a backup into this database has not ended"), hint)]
    if found.unknown:
        text = Text("a newer Vetro changed the tables: {unknown}", unknown=", ".join(found.unknown))
        return [Diagnostic("schema", ERROR, text, Text("use the newer version here, too"))]
    if found.missing:
        text = Text("changes of this version are missing: {missing}", missing=", ".join(found.missing))
        return [Diagnostic("schema", ERROR, text, Text("make a backup, then run 'vetro db migrate'"))]
    return [Diagnostic("schema", OK, Text("all {count} migrations are there", count=len(found.done)))]
