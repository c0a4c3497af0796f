"""`copy_slice`: of the state of a cloud what the plan of one environment has to know.

That is all of the environment, what its project and everybody share, and of others what is taken: addresses, blocks,
names of stacks, amounts that count against quotas. What others consist of stays out: it is most of a cloud.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path

from vetro.clouds.interface import Owner
from vetro.clouds.stacks.state.database import Database

_OWN = "project = :project AND environment = :environment"
_OWN_STACKS = f"stack IN (SELECT id FROM source.stacks WHERE {_OWN})"
_ROUTERS = "SELECT id FROM source.records WHERE kind = 'router' AND project IN ('', :project)"
_NETWORKS = f"SELECT id FROM source.records WHERE kind = 'network' AND {_OWN}"
#: Records of every slice of a project: kinds that others of the project cannot name stay out, but for ports that hold
#: something of it.
_SHARED = (
    "project = '' OR (project = :project AND (environment = '' OR kind NOT IN"
    " ('server', 'port', 'floatingip', 'config', 'deployment', 'wait_handle')"
    f" OR (kind = 'port' AND holder IN ({_ROUTERS}))))"
)
#: Records of the environment besides.
_MORE = f"(({_OWN}) OR (project = :project AND kind = 'port' AND parent IN ({_NETWORKS}))) AND NOT ({_SHARED})"
#: Table -> the rows of it that are copied; `_copy` sees to the records.
_ROWS: Mapping[str, str] = {
    "meta": "1",
    "records": "0",
    "addresses": "subnet IN (SELECT id FROM main.records WHERE kind = 'subnet')",
    "plans": "1",
    "leases": "1",
    "queues": "project = :project AND server IN (SELECT id FROM main.records WHERE kind = 'server')",
    "stacks": "project = :project",
    "parts": _OWN_STACKS,
    "resources": _OWN_STACKS,
    "outputs": _OWN_STACKS,
    "snapshots": "project = :project",
    "snapshot_rows": "project = :project OR part NOT IN ('parts', 'resources', 'outputs')",
    "reserved": "0",
}
#: What the project has reserved: thing by thing for the environment, all others in one sum.
_RESERVED = """
INSERT INTO main.reserved (id, quota, project, stack, amount)
    SELECT r.id, r.quota, r.project, r.stack, r.amount FROM source.reserved r WHERE r.project = :project
        AND (r.stack IN (SELECT id FROM main.stacks WHERE environment = :environment)
            OR r.id IN (SELECT id FROM main.records WHERE environment = :environment));
INSERT INTO main.reserved (id, quota, project, stack, amount)
    SELECT 'others', r.quota, r.project, '', sum(r.amount) FROM source.reserved r WHERE r.project = :project
        AND NOT EXISTS (SELECT 1 FROM main.reserved o WHERE o.id = r.id AND o.quota = r.quota) GROUP BY r.quota
"""


#: No environment has this id.
_NOBODY = "\0"
#: Bytes 18 and 19 of a database in WAL mode, which none in memory can be in, and of others.
_MODE, _WAL, _PLAIN = slice(18, 20), b"\2\2", b"\1\1"


def copy_slice(source: Path, target: Path, owner: Owner) -> None:
    """Makes the file ``target`` with the slice of an environment; ``source`` is only read, as it is at one moment.

    A file of an earlier version is copied as a whole: `Database` brings it up to date when it is opened.
    """
    target.touch(0o600)
    if not _current(source):
        with closing(_reading(source)) as theirs, closing(sqlite3.connect(target)) as ours:
            theirs.backup(ours)
        return
    Database(target).close()
    with closing(sqlite3.connect(target, uri=True, timeout=30, isolation_level=None)) as ours:
        ours.execute("PRAGMA synchronous = OFF")  # whoever loses it begins the plan anew
        _copy(source, ours, owner)


def slice_of(source: Path, owner: Owner) -> bytes:
    """The same slice for a cloud in memory (`vetro.clouds.kind_protocols.Place.memory`)."""
    with closing(sqlite3.connect(":memory:", uri=True, timeout=30, isolation_level=None)) as ours:
        if _current(source):
            ours.deserialize(_empty())
            _copy(source, ours, owner)
        else:
            with closing(_reading(source)) as theirs:
                theirs.backup(ours)
        return _plain(ours.serialize())


def _plain(made: bytes) -> bytes:
    return made[:18] + _PLAIN + made[20:] if made[_MODE] == _WAL else made


class Slices:
    """Slices of one state for many environments after each other: what all of a project have is copied once, and anew
    when anything was written. May be used from several threads; `close` it."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self._lock = threading.Lock()
        #: It tells whether anything was written since it was asked last.
        self._reader = sqlite3.connect(
            f"{source.as_uri()}?mode=ro", uri=True, timeout=30, isolation_level=None, check_same_thread=False
        )
        self._shared: dict[str, bytes] = {}
        self._version = -1

    def of(self, owner: Owner) -> bytes:
        """See `slice_of`."""
        with self._lock:
            version = self._now()
            if version != self._version:
                self._shared.clear()
                self._version = version
            shared = self._shared.get(owner.project)
            if shared is None and _current(self._source):
                nobody = Owner(owner.project, _NOBODY)
                shared = self._shared[owner.project] = slice_of(self._source, nobody)
            made = None if shared is None else _upon(shared, self._source, owner)
            if made is None or self._now() != version:  # somebody writes: all of it at one moment
                made = slice_of(self._source, owner)
            return made

    def _now(self) -> int:
        version: int = self._reader.execute("PRAGMA data_version").fetchone()[0]
        return version

    def close(self) -> None:
        """Lets the file go."""
        self._reader.close()


def _upon(shared: bytes, source: Path, owner: Owner) -> bytes:
    """The slice of an environment, from that of nobody in its project and what is its own."""
    values = {"project": owner.project, "environment": owner.environment}
    with closing(sqlite3.connect(":memory:", uri=True, timeout=30, isolation_level=None)) as ours:
        ours.deserialize(shared)
        ours.execute("ATTACH ? AS source", (f"{source.as_uri()}?mode=ro",))
        ours.execute("BEGIN")
        ours.execute("DELETE FROM main.reserved")
        _copy_records(ours, _MORE, values)
        for table in ("queues", "parts", "resources", "outputs"):
            ours.execute(f"INSERT INTO main.{table} SELECT * FROM source.{table} WHERE {_ROWS[table]}", values)
        _copy_reserved(ours, values)
        ours.execute("COMMIT")
        ours.execute("DETACH source")
        return _plain(ours.serialize())


@cache
def _empty() -> bytes:
    """A state with nothing but its tables."""
    database = Database(None)
    try:
        return database.snapshot()
    finally:
        database.close()


def _reading(source: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True, timeout=30)


def _current(source: Path) -> bool:
    """Whether a file is of this version."""
    with closing(_reading(source)) as theirs:
        tables = {name for (name,) in theirs.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        version: int = theirs.execute("PRAGMA user_version").fetchone()[0]
    return version == Database.version() and tables == _ROWS.keys()


def _copy(source: Path, ours: sqlite3.Connection, owner: Owner) -> None:
    values = {"project": owner.project, "environment": owner.environment}
    ours.execute("ATTACH ? AS source", (f"{source.as_uri()}?mode=ro",))
    ours.execute("BEGIN")
    # What all slices of a project have comes first, in its order: so that their pages differ in little.
    _copy_records(ours, _SHARED, values)
    _copy_records(ours, _MORE, values)
    for table, rows in _ROWS.items():
        ours.execute(f"INSERT INTO main.{table} SELECT * FROM source.{table} WHERE {rows}", values)
    _copy_reserved(ours, values)
    ours.execute("COMMIT")
    ours.execute("DETACH source")


def _copy_records(ours: sqlite3.Connection, rows: str, values: Mapping[str, str]) -> None:
    """In the places that they have: lists are in the order of these."""
    columns = ", ".join(row[1] for row in ours.execute("PRAGMA main.table_info(records)"))
    copied = f"SELECT rowid, {columns} FROM source.records WHERE {rows} ORDER BY rowid"
    ours.execute(f"INSERT INTO main.records (rowid, {columns}) {copied}", values)


def _copy_reserved(ours: sqlite3.Connection, values: Mapping[str, str]) -> None:
    for statement in _RESERVED.split(";"):
        ours.execute(statement, values)
