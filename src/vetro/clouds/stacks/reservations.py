"""What projects have in a cloud, against their quotas: reserved before anything is made.

Each thing that counts has its rows in the table ``reserved``, under its id: they are written before the thing, in the
transaction that finds room for it, and go with its record. What was reserved for things that were never made is given
back at the end of the push, or by the next one of its stack, or with the stack: a process that is killed in between
leaves what a record would leave. All regions and environments of a project count together.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from vetro.clouds.quotas import QuotaExceeded, exceeds, refusal
from vetro.clouds.stacks.state.file import StateFile

#: Amounts by name of the quota.
Needs = Mapping[str, int]

_SCHEMA = (
    "CREATE TABLE reserved (id TEXT NOT NULL, quota TEXT NOT NULL, project TEXT NOT NULL, stack TEXT NOT NULL,"
    " amount INTEGER NOT NULL, PRIMARY KEY (id, quota)) WITHOUT ROWID",
    "CREATE INDEX reserved_by_project ON reserved (project, quota, amount)",
    "CREATE INDEX reserved_by_stack ON reserved (stack)",
)
_THERE = "SELECT 1 FROM sqlite_master WHERE name = 'reserved'"
_USED = "SELECT quota, sum(amount) FROM reserved WHERE project = ? GROUP BY quota"
#: Servers, volumes and addresses that are only a snapshot's; what else there was is made anew when it is restored.
_NOT_KEPT = (
    "NOT (quota != 'networks' AND EXISTS (SELECT 1 FROM snapshot_rows WHERE snapshot_rows.id = reserved.id"
    " AND part = 'records'))"
)
#: Seconds that a reader waits for whoever writes.
_PATIENCE = 2.0
#: Quota -> kind of the record, and how much one is.
_OF_RECORDS = {
    "servers": ("server", "1"),
    "processors": ("server", "json_extract(body, '$.flavor_record.vcpus')"),
    "memory": ("server", "json_extract(body, '$.flavor_record.ram')"),
    "disk": ("server", "json_extract(body, '$.flavor_record.disk')"),
    "addresses": ("floatingip", "1"),
    "networks": ("network", "1"),
    "volumes": ("volume", "1"),
    "volume_space": ("volume", "json_extract(body, '$.size')"),
}


def prepare(database: StateFile) -> None:
    """Makes the table where it is missing; in a cloud of before it holds what there is."""
    if database.row(_THERE) is not None:
        return
    with database.transaction():
        if database.row(_THERE) is not None:  # another process was quicker
            return
        for statement in _SCHEMA:
            database.run(statement)
        for quota, (kind, amount) in _OF_RECORDS.items():
            database.run(
                "INSERT OR IGNORE INTO reserved (id, quota, project, stack, amount)"
                f" SELECT id, ?, project, '', coalesce({amount}, 0) FROM records WHERE kind = ? AND project != ''"
                # The network that each project has from the start counts for none.
                " AND (kind != 'network' OR environment != '')",
                (quota, kind),
            )


def used(database: StateFile, project: str) -> dict[str, int]:
    """What a project has, by quota; what it has nothing of is missing."""
    return {str(quota): int(amount) for quota, amount in database.rows(_USED, (project,))}


def used_in(directory: Path, project: str) -> dict[str, int] | None:
    """What a project has in the cloud in ``directory``, which is only read; nothing where there is no cloud yet.

    None where it cannot be told: the cloud is being made, or no process of this version has opened it yet.
    """
    file = directory / "cloud.db"
    if not file.exists():
        return {}
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)) as cloud:
            return dict(cloud.execute(_USED, (project,)).fetchall())
    except sqlite3.Error:
        return None


def reserve(
    database: StateFile, limits: Mapping[str, int], project: str, stack: str, needs: Mapping[str, Needs]
) -> None:
    """Reserves what things (by id) need, all or nothing. Raises `QuotaExceeded`. Call it in a transaction.

    What a thing has reserved already counts; less than that changes nothing.
    """
    rows: list[tuple[Any, ...]] = []
    asked: dict[str, int] = {}
    for id, amounts in needs.items():
        there = dict(database.rows("SELECT quota, amount FROM reserved WHERE id = ?", (id,)))
        for name, amount in amounts.items():
            if name not in there or amount > there[name]:
                rows.append((id, name, project, stack, amount))
                asked[name] = asked.get(name, 0) + amount - there.get(name, 0)
    if not rows:
        return
    if not limits.keys().isdisjoint(asked):
        has = used(database, project)
        for name, amount in asked.items():
            if name in limits and exceeds(limits[name], has.get(name, 0), amount):
                raise QuotaExceeded(refusal(project, name, has.get(name, 0), amount, limits[name]))
    database.run_many(
        "INSERT INTO reserved (id, quota, project, stack, amount) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (id, quota) DO UPDATE SET amount = excluded.amount",
        rows,
    )


def lower(database: StateFile, id: str, needs: Needs) -> None:
    """A thing was changed and needs no more than this now."""
    for name, amount in needs.items():
        database.run(
            "UPDATE reserved SET amount = ? WHERE id = ? AND quota = ? AND amount > ?", (amount, id, name, amount)
        )


def give_back(database: StateFile, id: str) -> None:
    """A thing is not there any more. What a snapshot keeps of it goes on counting."""
    database.run(f"DELETE FROM reserved WHERE id = ? AND {_NOT_KEPT}", (id,))


def give_back_unmade(database: StateFile, ids: Iterable[str]) -> None:
    """Those of these things that have no record were not made after all."""
    for id in ids:
        if database.row("SELECT 1 FROM records WHERE id = ?", (id,)) is None:
            give_back(database, id)


def forget(database: StateFile, stack: str) -> None:
    """All that a stack reserved for things that there are not; what its deletion keeps goes on counting."""
    database.run(
        "DELETE FROM reserved WHERE stack = ? AND NOT EXISTS (SELECT 1 FROM records WHERE records.id = reserved.id)"
        f" AND {_NOT_KEPT}",
        (stack,),
    )
