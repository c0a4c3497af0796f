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

from vetro.clouds.interface import Message
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
        """All statements of the block or none."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

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

    def next_result(
        self, project: str, environment: str, queue: str, seen: set[str], now: float
    ) -> tuple[Message | None, float | None]:
        """The first due result that is not in ``seen``; else when the next one is due."""
        rows = self.rows(
            "SELECT id, body, due FROM results WHERE project = ? AND environment = ? AND queue = ? ORDER BY due, place",
            (project, environment, queue),
        )
        for id, body, due in rows:
            if id not in seen:
                return (Message(id, body), None) if due <= now else (None, due)
        return None, None

    def close(self) -> None:
        """Closes the file. Doing it twice is fine."""
        with self._lock:
            self._connection.close()
