"""The rows of an environment, kept beside those that change while it has a snapshot.

Who hands out ids, addresses, blocks and names asks here what a snapshot will want back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from vetro.clouds.interface import Conflict, Owner
from vetro.clouds.stacks.state.database import Database
from vetro.clouds.stacks.state.inventory import Kind, Record
from vetro.data_classes import dataclass

#: Of a snapshot. Only in ``open`` can anything be done with the environment's stacks; ``begun``: no row is kept yet.
SnapshotState = Literal["begun", "making", "open", "restoring", "dropping"]

_RECORDS = "SELECT id FROM records WHERE project = :project AND environment = :environment"
_STACKS = "SELECT id FROM stacks WHERE project = :project AND environment = :environment"
_OWN = "project = :project AND environment = :environment"
#: Table -> (what others look its rows up by, which rows are the environment's); those that refer to others first.
_TABLES = {
    "parts": ("stack", f"stack IN ({_STACKS}) ORDER BY rowid"),
    "resources": ("id", f"stack IN ({_STACKS}) ORDER BY rowid"),
    "outputs": ("stack", f"stack IN ({_STACKS})"),
    "addresses": ("subnet", f"holder IN ({_RECORDS})"),
    "queues": ("server", f"server IN ({_RECORDS})"),
    "leases": ("cidr", f"subnet IN ({_RECORDS})"),
    "reserved": ("id", f"id IN ({_RECORDS}) OR stack IN ({_STACKS})"),
    "stacks": ("name", f"{_OWN} ORDER BY rowid"),
    "records": ("id", f"{_OWN} ORDER BY rowid"),
}
#: A stack in memory that is restored must look like no other that any process remembers.
_GENERATIONS = 1 << 20
_DOING = {"open": "", "begun": "made", "making": "made", "restoring": "restored", "dropping": "dropped"}


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record as a snapshot has it."""

    id: str
    region: str
    kind: Kind
    body: Record


def state_of(database: Database, owner: Owner) -> tuple[str, SnapshotState] | None:
    """Name and state of an environment's snapshot."""
    row = database.row(
        "SELECT name, state FROM snapshots WHERE project = ? AND environment = ?", (owner.project, owner.environment)
    )
    return None if row is None else (row[0], row[1])


def refuse_unfinished(database: Database, owner: Owner) -> None:
    """Raises `Conflict` while a snapshot of the environment is made, restored or dropped, or that was broken off."""
    found = state_of(database, owner)
    if found is not None and _DOING[found[1]]:
        raise Conflict(f"the snapshot '{found[0]}' of the environment is being {_DOING[found[1]]}, or that was broken"
                       " off; finish it first")  # fmt: skip


def holds(database: Database, id: str) -> bool:
    """Whether a snapshot keeps the thing that has, or had, this id."""
    return database.row("SELECT 1 FROM snapshot_rows WHERE id = ? AND part = 'records'", (id,)) is not None


def ids_kept(database: Database, owner: Owner) -> frozenset[str]:
    """The ids of all things that an environment's snapshot keeps."""
    where = "project = ? AND environment = ? AND part = 'records'"
    rows = database.rows(f"SELECT id FROM snapshot_rows WHERE {where}", (owner.project, owner.environment))
    return frozenset(id for (id,) in rows)


def named_by_another(database: Database, owner: Owner, region: str, name: str) -> bool:
    """Whether another environment of the project may want a stack of this name back."""
    rows = database.rows(
        "SELECT body FROM snapshot_rows WHERE id = ? AND part = 'stacks' AND project = ? AND environment != ?",
        (name, owner.project, owner.environment),
    )
    found = (json.loads(body) for (body,) in rows)
    return any(one["region"] == region and one["parent"] == "" for one in found)


def add(database: Database, owner: Owner, part: str, rows: Iterable[tuple[str, Any]]) -> None:
    """Notes something of a snapshot: ids with plain data."""
    own = (owner.project, owner.environment, part)
    database.run_many("INSERT INTO snapshot_rows VALUES (?, ?, ?, ?, ?)", [(*own, id, json.dumps(x)) for id, x in rows])


def noted(database: Database, owner: Owner, part: str) -> list[tuple[str, Any]]:
    """What `add` noted, or the rows of a table by the names of their columns."""
    rows = database.rows(
        "SELECT id, body FROM snapshot_rows WHERE project = ? AND environment = ? AND part = ? ORDER BY rowid",
        (owner.project, owner.environment, part),
    )
    return [(id, json.loads(body)) for id, body in rows]


def drop(database: Database, owner: Owner, *parts: str) -> None:
    """Forgets parts of a snapshot; without any, all of it."""
    where = f" AND part IN ({', '.join('?' * len(parts))})" if parts else ""
    database.run(
        f"DELETE FROM snapshot_rows WHERE project = ? AND environment = ?{where}",
        (owner.project, owner.environment, *parts),
    )


def keep(database: Database, owner: Owner) -> None:
    """Keeps all rows of an environment. Call it in a transaction."""
    drop(database, owner)
    for table, (key, where) in _TABLES.items():
        columns = _columns(database, table)
        rows = database.rows(f"SELECT {', '.join(columns)} FROM {table} WHERE {where}", _names(owner))
        made = [dict(zip(columns, row, strict=True)) for row in rows]
        add(database, owner, table, [(row[key], row) for row in made])


def bring_back(database: Database, owner: Owner) -> None:
    """Makes the rows of an environment those that are kept. Call it in a transaction."""
    generations = dict(database.rows(f"SELECT id, generation FROM stacks WHERE {_OWN}", _names(owner)))
    kept = {table: [row for _, row in noted(database, owner, table)] for table in _TABLES}
    for table, (_, where) in _TABLES.items():
        database.run(f"DELETE FROM {table} WHERE {where.removesuffix(' ORDER BY rowid')}", _names(owner))
    for stack in kept["stacks"]:
        stack["generation"] = max(stack["generation"], generations.get(stack["id"], 0)) + _GENERATIONS
    for table, rows in kept.items():
        columns = _columns(database, table)
        # What was reserved for things that are kept is there still; a block that the project has leased anew stays.
        how = {"reserved": "INSERT OR REPLACE", "leases": "INSERT OR IGNORE"}.get(table, "INSERT")
        values = [[row[column] for column in columns] for row in rows]
        database.run_many(f"{how} INTO {table} VALUES ({', '.join('?' * len(columns))})", values)


def kept_records(database: Database, owner: Owner) -> list[KeptRecord]:
    """The records that a snapshot keeps."""
    return [_record(row) for _, row in noted(database, owner, "records")]


def records_now(database: Database, owner: Owner) -> list[KeptRecord]:
    """The records that the environment has now."""
    rows = database.rows(f"SELECT id, region, kind, body FROM records WHERE {_OWN} ORDER BY rowid", _names(owner))
    return [KeptRecord(id, region, kind, json.loads(body)) for id, region, kind, body in rows]


def stacks_of(database: Database, owner: Owner) -> list[tuple[str, str]]:
    """Region and name of the stacks that the environment has now and that its snapshot keeps, in order."""
    rows = database.rows(f"SELECT region, name FROM stacks WHERE {_OWN} AND parent = ''", _names(owner))
    kept = [(row["region"], row["name"]) for _, row in noted(database, owner, "stacks") if row["parent"] == ""]
    return sorted({*kept, *rows})


def addresses_kept(database: Database, subnet: str, but: Owner | None = None) -> set[int]:
    """Places of a subnet that snapshots will want back, those of the environment of ``but`` left out."""
    rows = database.rows(
        "SELECT project, environment, json_extract(body, '$.place') FROM snapshot_rows"
        " WHERE id = ? AND part = 'addresses'",
        (subnet,),
    )
    own = None if but is None else (but.project, but.environment)
    return {place for project, environment, place in rows if (project, environment) != own}


def blocks_kept(database: Database, project: str | None) -> list[str]:
    """Blocks that snapshots of other projects than this one will want back as their leases."""
    return [cidr for cidr, whose in database.rows("SELECT id, project FROM snapshot_rows WHERE part = 'leases'")
            if whose != project]  # fmt: skip


def _record(row: Record) -> KeptRecord:
    return KeptRecord(row["id"], row["region"], row["kind"], json.loads(row["body"]))


def _columns(database: Database, table: str) -> Sequence[str]:
    return [row[1] for row in database.rows(f"PRAGMA table_info({table})")]


def _names(owner: Owner) -> Any:
    return {"project": owner.project, "environment": owner.environment}
