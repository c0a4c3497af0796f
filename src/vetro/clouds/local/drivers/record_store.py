"""What the recording driver keeps: servers, plans and results, in a SQLite file that processes may share."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vetro.clouds.local.database import StateUnusable

VERSION = 1

_SCHEMA = """
CREATE TABLE servers (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, environment TEXT NOT NULL, name TEXT NOT NULL, queue TEXT,
    status TEXT NOT NULL, ready REAL NOT NULL, spec TEXT NOT NULL, console TEXT NOT NULL);
CREATE INDEX servers_by_queue ON servers (project, environment, queue);
CREATE TABLE things (kind TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID;
CREATE TABLE plans (
    place INTEGER PRIMARY KEY, project TEXT NOT NULL, environment TEXT NOT NULL, queue TEXT NOT NULL, id TEXT NOT NULL,
    name TEXT NOT NULL, body TEXT NOT NULL, reply_to TEXT NOT NULL, at REAL NOT NULL, server TEXT,
    result TEXT, UNIQUE (project, environment, queue, id));
CREATE INDEX plans_waiting ON plans (project, environment, queue) WHERE result IS NULL;
CREATE TABLE results (
    place INTEGER PRIMARY KEY, project TEXT NOT NULL, environment TEXT NOT NULL, queue TEXT NOT NULL, id TEXT NOT NULL,
    body TEXT NOT NULL, due REAL NOT NULL);
CREATE INDEX results_by_queue ON results (project, environment, queue, due);
CREATE TABLE configs (
    id TEXT PRIMARY KEY, server TEXT NOT NULL, name TEXT NOT NULL, grp TEXT NOT NULL, config TEXT NOT NULL,
    inputs TEXT NOT NULL, stdout TEXT NOT NULL, stderr TEXT NOT NULL, code INTEGER NOT NULL);
CREATE TABLE files (
    server TEXT NOT NULL, path TEXT NOT NULL, mode INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (server, path));
CREATE TABLE used (rule TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE calls (place INTEGER PRIMARY KEY, what TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class RecordedPlan:
    """A plan that was sent, and how it was answered."""

    id: str
    #: Its Name, '' without one.
    name: str
    queue: str
    environment: str
    #: Name of the server that would have run it; null while there is none.
    server: str | None
    body: Mapping[str, Any]
    #: The result message; null while it waits for its server, or for ever.
    result: Mapping[str, Any] | None
    sent: float


class RecordStore:
    """The file, with one connection that threads share."""

    def __init__(self, path: Path) -> None:
        """Opens or makes it. Raises `StateUnusable`."""
        self._lock = threading.RLock()
        self._depth = 0
        #: Those who wait for results are told at the end of the transaction.
        self._newer = False
        #: How often they were told.
        self.told = 0
        #: Notified when there may be a new result.
        self.news = threading.Condition()
        try:
            if not path.exists():
                path.touch(0o600)  # plans hold passwords; SQLite gives its other files the same mode
            self._connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
            run = self._connection.execute
            run("PRAGMA journal_mode = WAL")
            run("PRAGMA synchronous = NORMAL")
            with self.transaction():
                found = run("PRAGMA user_version").fetchone()[0]
                if found > VERSION:
                    raise StateUnusable(f"{path} was written by a later version of Vetro; use that version")
                if found == 0:
                    for statement in _SCHEMA.split(";"):
                        run(statement)
                    run(f"PRAGMA user_version = {VERSION}")
        except (OSError, sqlite3.Error) as error:
            raise StateUnusable(f"{path} cannot be used for recording: {error}") from None

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
                if outer and self._newer:
                    self._newer = False
                    self._notify()

    def begin(self) -> None:
        """Begins a transaction that `commit` ends on the same thread; the lock is held meanwhile."""
        self._lock.acquire()
        try:
            if self._depth == 0:
                self._connection.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._lock.release()
            raise
        self._depth += 1

    def commit(self) -> None:
        """Ends what `begin` began."""
        try:
            self._depth -= 1
            if self._depth == 0:
                try:
                    self._connection.execute("COMMIT")
                finally:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                if self._newer:
                    self._newer = False
                    self._notify()
        finally:
            self._lock.release()

    def tell(self) -> None:
        """There may be a new result: those who wait look once it is written."""
        with self._lock:
            if self._depth:
                self._newer = True
                return
        self._notify()

    def _notify(self) -> None:
        with self.news:
            self.told += 1
            self.news.notify_all()

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Makes one statement; the number of rows it changed."""
        with self._lock:
            return self._connection.execute(sql, values).rowcount

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that a query finds."""
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    def note(self, what: str, id: str, name: str = "") -> None:
        """Remembers a call of the driver."""
        self.run("INSERT INTO calls (what, id, name) VALUES (?, ?, ?)", (what, id, name))

    def plans(self, project: str | None, environment: str | None) -> list[RecordedPlan]:
        """Plans in the order in which they were sent."""
        rows = self.rows(
            "SELECT p.id, p.name, p.queue, p.environment, s.name, p.body, p.result, p.at, p.project, p.server"
            " FROM plans p LEFT JOIN servers s ON s.id = p.server ORDER BY p.place"
        )
        return [
            RecordedPlan(id, name, queue, env, server, json.loads(body), json.loads(result) if result else None, at)
            for id, name, queue, env, server, body, result, at, owner, _ in rows
            if project in (None, owner) and environment in (None, env)
        ]

    def results(self, project: str, environment: str, queue: str) -> list[tuple[str, str, float]]:
        """All results of a queue: id, body, when it is due, the earliest first."""
        return self.rows(
            "SELECT id, body, due FROM results WHERE project = ? AND environment = ? AND queue = ? ORDER BY due, place",
            (project, environment, queue),
        )

    def close(self) -> None:
        """Closes the file. Doing it twice is fine."""
        with self._lock:
            self._connection.close()
