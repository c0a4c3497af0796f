"""The state of a local cloud: one SQLite file in WAL mode that several threads and processes share.

A transaction is all or nothing also when its process is killed. Drivers are never called inside of one.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vetro.clouds.interface import CloudError

#: Changes with the schema; a file with a higher number belongs to a later Vetro.
VERSION = 1

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records (
    id TEXT NOT NULL, region TEXT NOT NULL, kind TEXT NOT NULL, project TEXT NOT NULL, environment TEXT NOT NULL,
    name TEXT NOT NULL, parent TEXT NOT NULL, holder TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (id, region));
CREATE INDEX records_by_name ON records (kind, region, name);
CREATE INDEX records_by_parent ON records (parent, kind) WHERE parent != '';
CREATE INDEX records_by_holder ON records (holder, kind) WHERE holder != '';
CREATE TABLE addresses (
    subnet TEXT NOT NULL, place INTEGER NOT NULL, holder TEXT NOT NULL, PRIMARY KEY (subnet, place)) WITHOUT ROWID;
CREATE INDEX addresses_by_holder ON addresses (holder);
CREATE TABLE plans (
    router TEXT NOT NULL, network TEXT NOT NULL, cidr TEXT NOT NULL, project TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (router, network, project));
CREATE TABLE queues (
    queue TEXT NOT NULL, project TEXT NOT NULL, server TEXT NOT NULL, PRIMARY KEY (project, queue)) WITHOUT ROWID;
CREATE INDEX queues_by_server ON queues (server);
CREATE TABLE stacks (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, environment TEXT NOT NULL, user TEXT NOT NULL, region TEXT NOT NULL,
    name TEXT NOT NULL, parent TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, digest TEXT NOT NULL,
    created REAL NOT NULL, updated REAL NOT NULL, generation INTEGER NOT NULL);
CREATE UNIQUE INDEX stacks_by_name ON stacks (project, region, name) WHERE parent = '';
CREATE INDEX stacks_by_environment ON stacks (project, environment);
CREATE INDEX stacks_by_parent ON stacks (parent) WHERE parent != '';
CREATE TABLE parts (
    stack TEXT NOT NULL, section TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (stack, section, key));
CREATE TABLE resources (
    stack TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, status TEXT NOT NULL,
    reason TEXT NOT NULL, properties TEXT NOT NULL, requires TEXT NOT NULL, data TEXT NOT NULL, policy TEXT NOT NULL,
    old INTEGER NOT NULL, place INTEGER NOT NULL, created REAL NOT NULL, updated REAL NOT NULL,
    PRIMARY KEY (stack, id));
CREATE TABLE outputs (
    stack TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (stack, key)) WITHOUT ROWID;
"""


class StateUnusable(CloudError):
    """The file with the cloud's state cannot be used; the message says why and what to do."""

    code = "CLD127"


class Database:
    """A connection that threads share. Statements of several threads are made one after the other."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the file. Raises `StateUnusable`."""
        self.path = path
        self._lock = threading.RLock()
        self._depth = 0
        #: Records that never change while the cloud is open: flavors, zones.
        self.fixed: dict[tuple[str, str, str], dict[str, Any]] = {}
        try:
            if not path.exists():
                path.touch(0o600)  # templates hold passwords; SQLite gives its other files the same mode
            self._connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise StateUnusable(f"{path} cannot be used as the state of a local cloud: {error}") from None

    def _prepare(self) -> None:
        run = self._connection.execute
        run("PRAGMA journal_mode = WAL")
        # A killed process loses nothing; a power cut at most the last moments, and never the consistency.
        run("PRAGMA synchronous = NORMAL")
        run("PRAGMA cache_size = -16384")
        run("PRAGMA temp_store = MEMORY")
        run("PRAGMA wal_autocheckpoint = 4000")
        with self.transaction():
            found = run("PRAGMA user_version").fetchone()[0]
            if found > VERSION:
                raise StateUnusable(f"{self.path} was written by a later version of Vetro; use that version")
            if found == 0:
                for statement in _SCHEMA.split(";"):
                    run(statement)
                run(f"PRAGMA user_version = {VERSION}")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements of the block or none. What a block within a block did is undone with it, too."""
        with self._lock:
            outer, name = self._depth == 0, f"inner{self._depth}"
            self._connection.execute("BEGIN IMMEDIATE" if outer else f"SAVEPOINT {name}")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK" if outer else f"ROLLBACK TO {name}")
                raise
            else:
                self._connection.execute("COMMIT" if outer else f"RELEASE {name}")
            finally:
                self._depth -= 1

    def begin(self) -> None:
        """Begins a transaction that `commit` ends, for work that is collected; the lock is held meanwhile."""
        self._lock.acquire()
        try:
            if self._depth == 0:
                self._connection.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._lock.release()
            raise
        self._depth += 1

    def commit(self) -> None:
        """Ends what `begin` began. When it cannot be written, nothing of it was done."""
        self._end("COMMIT")

    def rollback(self) -> None:
        """Undoes what was done since the outermost `begin`, and ends what `begin` began."""
        self._end("ROLLBACK")

    def _end(self, how: str) -> None:
        try:
            self._depth -= 1
            if self._depth == 0:
                try:
                    self._connection.execute(how)
                finally:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
        finally:
            self._lock.release()

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Makes one statement; the number of rows it changed."""
        with self._lock:
            return self._connection.execute(sql, values).rowcount

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Makes one statement for each row of values."""
        with self._lock:
            self._connection.executemany(sql, rows)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that a query finds."""
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first row that a query finds."""
        with self._lock:
            found: tuple[Any, ...] | None = self._connection.execute(sql, values).fetchone()
            return found

    def close(self) -> None:
        """Closes the file. Doing it twice is fine."""
        with self._lock:
            self._connection.close()
