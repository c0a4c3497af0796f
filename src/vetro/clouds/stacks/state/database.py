"""The state of a cloud. Drivers are never called inside of a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from vetro.clouds.stacks import reservations
from vetro.clouds.stacks.state.file import StateFile

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

_LEASES = """
CREATE TABLE leases (cidr TEXT PRIMARY KEY, project TEXT NOT NULL, subnet TEXT NOT NULL UNIQUE) WITHOUT ROWID;
"""

#: One snapshot at most for an environment; of its rows ``id`` is what others look for: an id, a subnet, a CIDR, a name.
_SNAPSHOTS = """
CREATE TABLE snapshots (
    project TEXT NOT NULL, environment TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, created REAL NOT NULL,
    PRIMARY KEY (project, environment)) WITHOUT ROWID;
CREATE TABLE snapshot_rows (
    project TEXT NOT NULL, environment TEXT NOT NULL, part TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX snapshot_rows_by_environment ON snapshot_rows (project, environment, part);
CREATE INDEX snapshot_rows_by_id ON snapshot_rows (id, part);
"""


class Elsewhere(Protocol):
    """Another cloud, whose records this one has, too: it plays it in a plan. Raises `CloudError`."""

    def fetch(self, database: Database, region: str, kind: str) -> None:
        """Puts in what the other cloud has of a kind in a region; called before each look."""
        ...  # pragma: no cover - protocol

    def stand_in(self, database: Database, region: str, kind: str, ref: str) -> dict[str, Any] | None:
        """What stands for something that has to be there and is not; None: it is missing."""
        ...  # pragma: no cover - protocol

    def close(self) -> None:
        """Lets the other cloud go."""
        ...  # pragma: no cover - protocol


class Database(StateFile):
    """Stacks, what they consist of, and what servers, networks and addresses there are."""

    _purpose = "as the state of a cloud"
    _schema = _SCHEMA + _LEASES + _SNAPSHOTS
    _version = 3
    _upgrades: Mapping[int, str] = {1: _LEASES, 2: _SNAPSHOTS}
    # What a power cut took from here would be on this machine all the same, and belong to nobody.
    _pragmas = ("synchronous = FULL", "cache_size = -16384", "temp_store = MEMORY", "wal_autocheckpoint = 4000")

    def __init__(self, path: Path | None, content: bytes = b"") -> None:
        """See `StateFile`. Raises `StateUnusable`."""
        #: Records that never change while the cloud is open: flavors, zones.
        self.fixed: dict[tuple[str, str, str], dict[str, Any]] = {}
        #: What was found to be there, and is never undone: see `vetro.clouds.stacks.default_networks`.
        self.known: set[str] = set()
        #: Whose records there are besides.
        self.elsewhere: Elsewhere | None = None
        super().__init__(path, content)

    @classmethod
    def version(cls) -> int:
        """That of the tables."""
        return cls._version

    def _prepare(self) -> None:
        super()._prepare()
        reservations.prepare(self)
