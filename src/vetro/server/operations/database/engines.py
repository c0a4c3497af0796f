"""Copies of a whole database by its own means: SQLite's online backup, and PostgreSQL's ``pg_dump`` and ``pg_restore``.

Both directions are of one moment and all or nothing: the copy is of the snapshot that the caller holds, and a database
is filled in one transaction of its own.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, Error, connections, transaction
from psycopg.conninfo import make_conninfo

from vetro.server.operations.database.errors import BackupFailed, BackupUnusable, RestoreFailed
from vetro.server.operations.database.schema import MARK

#: Tables whose rows are of the machines of the installation that was saved.
_OF_MACHINES = ("dispatch_workerprocess",)
#: Lines of ``pg_restore --list`` that only the owner of the database could replay; migrations make the extension.
_NOT_OURS = re.compile(r"\d+; \d+ \d+ (SCHEMA|EXTENSION|COMMENT - (SCHEMA|EXTENSION)|ACL) ")
#: How the extension for the indexes of search is listed, and how these begin.
_TRIGRAMS, _NEEDS_TRIGRAMS = " EXTENSION - pg_trgm ", " catalog_trigrams"
_PR_SET_PDEATHSIG = 1


def copy_to(path: Path) -> None:
    """Writes the default database to the file ``path``, inside the caller's `snapshot`. Raises `BackupFailed`."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # It may take longer than a connection may do nothing in a transaction.
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute("SELECT pg_export_snapshot()")
            (name,) = cursor.fetchone()
        words = ("--format=custom", "--no-owner", "--no-privileges", f"--snapshot={name}", f"--file={path}")
        _run("pg_dump", *words, address=True, failure=BackupFailed)
        return
    try:
        with closing(sqlite3.connect(path)) as copy:
            connection.connection.backup(copy)  # the pages of the snapshot, not of what is written meanwhile
            copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        raise BackupFailed(f"the database cannot be copied: {error}") from None


def fill_from(path: Path, made: str) -> None:
    """Makes the default database what is in the file ``path``, with `MARK` in it; `clear_mark` takes it away.

    Whatever it held is gone then. Broken off, it is as empty as before, or marked. Raises `RestoreFailed`,
    `BackupUnusable` for a file that is no database.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "postgresql":
        _fill_postgresql(connection, path, made)
    else:
        _fill_sqlite(connection, path, made)


def _fill_sqlite(connection: Any, path: Path, made: str) -> None:
    try:
        with closing(sqlite3.connect(path)) as copy:
            found = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                raise BackupUnusable(f"the database in the backup is damaged: {str(found)[:200]}")
            for name in _OF_MACHINES:
                copy.execute(f"DELETE FROM {name}")
            copy.execute(f"CREATE TABLE IF NOT EXISTS {MARK} (made varchar(80) NOT NULL)")
            copy.execute(f"INSERT INTO {MARK} VALUES (?)", [made[:80]])
            copy.commit()
            connection.ensure_connection()
            copy.backup(connection.connection)  # one transaction
    except sqlite3.Error as error:
        raise RestoreFailed(f"restoring was broken off: {str(error)[:300]}") from None


def _fill_postgresql(connection: Any, path: Path, made: str) -> None:
    listed = _run("pg_restore", "--list", str(path), failure=BackupUnusable)
    wanted = "".join(line for line in listed.splitlines(True) if not _NOT_OURS.match(line))
    if _TRIGRAMS in listed and not _made_trigrams(connection):
        wanted = "".join(line for line in wanted.splitlines(True) if _NEEDS_TRIGRAMS not in line)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {MARK} (made varchar(80) NOT NULL)")
        cursor.execute(f"INSERT INTO {MARK} VALUES (%s)", [made[:80]])
        _drop_everything(cursor)
    try:
        _run("pg_restore", "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges",
             "--use-list=/dev/stdin", str(path), address=True, failure=RestoreFailed, given=wanted)  # fmt: skip
    except RestoreFailed:
        clear_mark()  # nothing was written
        raise
    with connection.cursor() as cursor:
        for name in _OF_MACHINES:
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(name)}")
        cursor.execute("ANALYZE")


def _made_trigrams(connection: Any) -> bool:
    """Makes the extension for the index of search. Without it searches read every package, as `check` then says."""
    try:
        with transaction.atomic(using=DEFAULT_DB_ALIAS), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except Error:
        return False
    return True


def _drop_everything(cursor: Any) -> None:
    """Removes what is in the schema, but `MARK` and what extensions brought."""
    for catalog, column, kind in (
        ("pg_class", "rel", "TABLE"),
        ("pg_proc", "pro", "ROUTINE"),
        ("pg_type", "typ", "TYPE"),
    ):
        name = {"TABLE": "regclass", "ROUTINE": "regprocedure", "TYPE": "regtype"}[kind]
        only = {
            "TABLE": f"relkind IN ('r', 'p') AND relname <> '{MARK}'",
            "ROUTINE": "prokind IN ('f', 'p')",
            "TYPE": "typtype IN ('e', 'd')",
        }[kind]
        cursor.execute(
            f"SELECT x.oid::{name}::text FROM {catalog} x WHERE {column}namespace = current_schema()::regnamespace"
            f" AND {only} AND NOT EXISTS (SELECT 1 FROM pg_depend d"
            f" WHERE d.objid = x.oid AND d.classid = '{catalog}'::regclass AND d.deptype = 'e')"
        )
        if names := [row[0] for row in cursor.fetchall()]:
            cursor.execute(f"DROP {kind} {', '.join(names)} CASCADE")


def clear_mark() -> None:
    """Says that restoring has ended, inside the caller's transaction."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {MARK}")


def _run(program: str, *words: str, address: bool = False, failure: Any, given: str = "") -> str:
    """Runs one of PostgreSQL's programs on a text; what it prints. It ends with this process. Raises ``failure``."""
    where, environment = _address() if address else ([], {})
    libc = ctypes.CDLL(None)
    try:
        done = subprocess.run(
            [program, *where, *words], env={**os.environ, **environment, "LC_MESSAGES": "C"}, input=given,
            capture_output=True, text=True, errors="replace",
            preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
        )  # fmt: skip
    except OSError as error:
        failed = failure(f"{program} cannot be started: {error.strerror}")
        failed.hint = "install PostgreSQL's client programs, of the server's version or a newer one"
        raise failed from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.splitlines() or ["?"]
        failed = failure(f"{said[0][:300]}")
        if "version mismatch" in done.stderr:
            failed.hint = "install PostgreSQL's client programs of the server's version or a newer one"
        raise failed
    return done.stdout


def _address() -> tuple[Sequence[str], dict[str, str]]:
    """How these programs reach the default database; the password is not among their words."""
    settings = connections.settings[DEFAULT_DB_ALIAS]
    given = {
        "dbname": settings["NAME"], "user": settings["USER"], "host": settings["HOST"], "port": settings["PORT"],
        **{name: value for name, value in settings["OPTIONS"].items() if isinstance(value, str)},
    }  # fmt: skip
    password = {"PGPASSWORD": settings["PASSWORD"]} if settings["PASSWORD"] else {}
    return [f"--dbname={make_conninfo(**{name: value for name, value in given.items() if value})}"], password
