"""Stacks in the database: the wanted state by parts, resources as they are, outputs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from vetro.clouds.interface import Owner
from vetro.clouds.stacks import reservations
from vetro.clouds.stacks.state.database import Database
from vetro.data_classes import dataclass
from vetro.library.stackdata import Part


@dataclass(slots=True)
class StackRow:
    """A stack."""

    id: str
    owner: Owner
    region: str
    name: str
    #: Id of the stack that it is a resource of; '' for none.
    parent: str
    status: str
    reason: str
    digest: str
    created: float
    updated: float
    #: Grows with every change, so that other processes see that what they remember is old.
    generation: int = 0


@dataclass(slots=True)
class State:
    """A resource as it is."""

    id: str
    name: str
    type: str
    status: str = ""
    reason: str = ""
    properties: dict[str, Any] = field(default_factory=dict)
    #: Names of the resources that it was made from: they are removed after it.
    requires: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
    policy: str = "delete"
    #: Replaced or not wanted any more: it will be removed.
    old: bool = False
    place: int = 0
    created: float = 0.0
    updated: float = 0.0


#: Made once: `json.dumps` makes one for each text.
_encode = json.JSONEncoder(separators=(",", ":")).encode
_STACK = "id, project, environment, user, region, name, parent, status, reason, digest, created, updated, generation"
_STATE = "id, name, type, status, reason, properties, requires, data, policy, old, place, created, updated"


def _text(value: Any) -> str:
    if not value:  # most are empty
        return "{}" if value == {} else "[]" if value in ([], ()) else _encode(value)
    return _encode(value)


class Rows:
    """Reads and writes stacks. A caller that changes several things makes one transaction of it."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def find(self, project: str, region: str, name: str) -> StackRow | None:
        """A stack by name."""
        where = "project = ? AND region = ? AND name = ? AND parent = ''"
        row = self.database.row(f"SELECT {_STACK} FROM stacks WHERE {where}", (project, region, name))
        return None if row is None else _stack(row)

    def by_id(self, stack: str) -> StackRow | None:
        """A stack by id."""
        row = self.database.row(f"SELECT {_STACK} FROM stacks WHERE id = ?", (stack,))
        return None if row is None else _stack(row)

    def of_owner(self, owner: Owner) -> list[StackRow]:
        """All stacks of an environment, without those inside of others."""
        where = "project = ? AND environment = ? AND parent = '' ORDER BY region, name"
        rows = self.database.rows(f"SELECT {_STACK} FROM stacks WHERE {where}", (owner.project, owner.environment))
        return [_stack(row) for row in rows]

    def save(self, row: StackRow) -> None:
        """Adds or replaces a stack, with the next generation."""
        row.generation += 1
        self.database.run(
            f"INSERT INTO stacks ({_STACK}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
            " SET status = excluded.status, reason = excluded.reason, digest = excluded.digest,"
            " updated = excluded.updated, generation = excluded.generation, created = excluded.created",
            (
                row.id,
                row.owner.project,
                row.owner.environment,
                row.owner.user,
                row.region,
                row.name,
                row.parent,
                row.status,
                row.reason,
                row.digest,
                row.created,
                row.updated,
                row.generation,
            ),
        )

    def remove(self, stack: str) -> None:
        """Removes a stack with everything of it."""
        with self.database.transaction():
            for table in ("parts", "resources", "outputs"):
                self.database.run(f"DELETE FROM {table} WHERE stack = ?", (stack,))
            self.database.run("DELETE FROM stacks WHERE id = ?", (stack,))
            reservations.forget(self.database, stack)

    def parts(self, stack: str) -> dict[Part, Any]:
        """The wanted state."""
        rows = self.database.rows("SELECT section, key, value FROM parts WHERE stack = ?", (stack,))
        return {(section, key): json.loads(value) for section, key, value in rows}

    def change_parts(self, stack: str, put: Mapping[Part, Any], drop: Iterable[Part]) -> None:
        """Changes the wanted state."""
        self.database.run_many(
            "DELETE FROM parts WHERE stack = ? AND section = ? AND key = ?", [(stack, *part) for part in drop]
        )
        self.database.run_many(
            "INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?)",
            [(stack, *part, _text(value)) for part, value in put.items()],
        )

    def states(self, stack: str) -> list[State]:
        """All resources in the order in which they were made."""
        rows = self.database.rows(f"SELECT {_STATE} FROM resources WHERE stack = ? ORDER BY place", (stack,))
        return [_state(row) for row in rows]

    def save_state(self, stack: str, state: State) -> None:
        """Adds or replaces a resource."""
        self.database.run(
            f"INSERT OR REPLACE INTO resources (stack, {_STATE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                stack,
                state.id,
                state.name,
                state.type,
                state.status,
                state.reason,
                _text(state.properties),
                _text(state.requires),
                _text(state.data),
                state.policy,
                int(state.old),
                state.place,
                state.created,
                state.updated,
            ),
        )

    def drop_state(self, stack: str, state: str) -> None:
        """Removes a resource (by id)."""
        self.database.run("DELETE FROM resources WHERE stack = ? AND id = ?", (stack, state))

    def resources_of(self, owner: Owner) -> int:
        """How many resources an environment has, with those in nested stacks."""
        row = self.database.row(
            "SELECT count(*) FROM resources WHERE stack IN"
            " (SELECT id FROM stacks WHERE project = ? AND environment = ?)",
            (owner.project, owner.environment),
        )
        return int(row[0]) if row else 0

    def outputs(self, stack: str) -> dict[str, Any]:
        """Outputs as they were evaluated last."""
        rows = self.database.rows("SELECT key, value FROM outputs WHERE stack = ?", (stack,))
        return {key: json.loads(value) for key, value in rows}

    def change_outputs(self, stack: str, put: Mapping[str, Any], drop: Iterable[str]) -> None:
        """Changes some outputs."""
        self.database.run_many("DELETE FROM outputs WHERE stack = ? AND key = ?", [(stack, key) for key in drop])
        rows = [(stack, key, _text(value)) for key, value in put.items()]
        self.database.run_many("INSERT OR REPLACE INTO outputs VALUES (?, ?, ?)", rows)


def _stack(row: tuple[Any, ...]) -> StackRow:
    id, project, environment, user, region, name, parent, *rest = row
    return StackRow(id, Owner(project, environment, user), region, name, parent, *rest)


def _state(row: tuple[Any, ...]) -> State:
    id, name, type, status, reason, properties, requires, data, policy, old, *rest = row
    return State(
        id,
        name,
        type,
        status,
        reason,
        json.loads(properties),
        tuple(json.loads(requires)),
        json.loads(data),
        policy,
        bool(old),
        *rest,
    )
