"""What the recording driver keeps: servers, plans and results, in a SQLite file that processes may share."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vetro.clouds.record.answers import texts_of
from vetro.clouds.stacks.state.file import StateFile
from vetro.data_classes import dataclass

_SCHEMA = """
CREATE TABLE servers (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, environment TEXT NOT NULL, name TEXT NOT NULL, queue TEXT,
    status TEXT NOT NULL, ready REAL NOT NULL, spec TEXT NOT NULL, console TEXT NOT NULL);
CREATE INDEX servers_by_queue ON servers (project, environment, queue);
CREATE INDEX servers_that_are_off ON servers (status) WHERE status NOT IN ('ACTIVE', 'DELETED');
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

_SNAPSHOTS = """
CREATE TABLE snapshots (
    server TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (server, name)) WITHOUT ROWID;
CREATE TABLE snapshot_files (
    server TEXT NOT NULL, snapshot TEXT NOT NULL, path TEXT NOT NULL, mode INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (server, snapshot, path));
"""


#: Earlier versions kept what environments were told that have no servers any more.
_GONE = ";".join(
    f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM servers WHERE servers.project = {table}.project"
    f" AND servers.environment = {table}.environment AND servers.status != 'DELETED')"
    for table in ("plans", "results")
)


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

    @property
    def texts(self) -> list[str]:
        """What the plan would have run or written: scripts, files, commands."""
        return texts_of(self.body)


class RecordStore(StateFile):
    """The file, and a way to wait for what others write into it."""

    _purpose = "for recording"
    _schema = _SCHEMA + _SNAPSHOTS
    _version = 3
    _upgrades: Mapping[int, str] = {1: _SNAPSHOTS, 2: _GONE}
    _compact = True

    def __init__(self, path: Path | None, content: bytes = b"") -> None:
        """See `StateFile`. Raises `StateUnusable`."""
        #: Those who wait for results are told at the end of the transaction.
        self._newer = False
        #: How often they were told.
        self.told = 0
        #: Notified when there may be a new result.
        self.news = threading.Condition()
        super().__init__(path, content)

    def _ended(self) -> None:
        if self._newer:
            self._newer = False
            self._notify()

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

    def note(self, what: str, id: str, name: str = "") -> None:
        """Remembers a call of the driver."""
        self.run("INSERT INTO calls (what, id, name) VALUES (?, ?, ?)", (what, id, name))

    def forget(self, project: str, environment: str) -> None:
        """Drops all of an environment, so that the files have nothing of it any more."""
        owner = (project, environment)
        mine = "(SELECT id FROM servers WHERE project = ? AND environment = ?)"
        with self.transaction():
            for table in ("configs", "files", "snapshots", "snapshot_files"):
                self.run(f"DELETE FROM {table} WHERE server IN {mine}", owner)
            self.run(f"DELETE FROM calls WHERE id IN {mine}", owner)
            for table in ("plans", "results", "servers"):
                self.run(f"DELETE FROM {table} WHERE project = ? AND environment = ?", owner)
        self.purge()

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
