"""Many environments at once: one that was deployed, copied row by row under other ids, in the service and its cloud."""

from __future__ import annotations

import re
import sqlite3
import uuid
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from vetro.model.tree import by_id
from vetro.server.environments.models import Environment, EnvironmentPackage, State

_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}")
#: Tables of the state of a cloud, and which rows are an environment's: {e}: its id, {s}: its stacks.
_CLOUD = {
    "records": "environment = '{e}'",
    "queues": "server IN (SELECT id FROM records WHERE environment = '{e}')",
    "stacks": "environment = '{e}'",
    "parts": "stack IN ({s})",
    "resources": "stack IN ({s})",
    "outputs": "stack IN ({s})",
    "addresses": "subnet IN (SELECT id FROM records WHERE environment = '{e}' AND kind = 'subnet')",
    "reserved": "id IN (SELECT id FROM records WHERE environment = '{e}') OR stack IN ({s})",
}
_RECORD = {"servers": "environment = '{e}'", "plans": "environment = '{e}'"}
#: Columns that the database numbers.
_NUMBERED = {"plans": "place"}

Rows = list[tuple[str, list[str], list[tuple[Any, ...]]]]


def copies(cloud: Path, environment_id: str, number: int) -> list[str]:
    """Makes so many copies of an environment; their ids."""
    kept = {name: _read(cloud / name, tables, environment_id) for name, tables in
            (("cloud.db", _CLOUD), ("record.db", _RECORD))}  # fmt: skip
    env = Environment.objects.get(id=environment_id)
    states = list(State.objects.filter(environment=env).order_by("number"))
    own = {environment_id, *(id for state in states for id in by_id(state.model.get("Objects")) if id)}
    for table, columns, rows in kept["cloud.db"]:
        if table in ("records", "stacks", "resources"):
            own |= {row[columns.index("id")] for row in rows}
    plain = {id.replace("-", "") for id in own}
    stacks = [(columns, row) for table, columns, rows in kept["cloud.db"] if table == "stacks" for row in rows]
    names = {row[columns.index("name")].removeprefix("murano-") for columns, row in stacks}  # as objects remember them
    pattern = re.compile("|".join([*map(re.escape, sorted(names)), _ID.pattern]))
    made, inserts = [], dict[str, list[Rows]]()
    for _ in range(number):
        known: dict[str, str] = {}

        def fresh(match: re.Match[str], known: dict[str, str] = known) -> str:
            text = match[0]
            if text in names:
                return known.setdefault(text, f"{text}-{len(made)}")
            bare = text.replace("-", "")
            if bare not in plain:
                return text
            new = known.setdefault(bare, uuid.uuid4().hex)
            return str(uuid.UUID(new)) if "-" in text else new

        id = pattern.sub(fresh, environment_id)
        made.append(id)
        for file, tables in kept.items():
            inserts.setdefault(file, []).append([(table, columns, _renamed(rows, pattern, fresh))
                                                 for table, columns, rows in tables])  # fmt: skip
        _copy_rows(env, states, id, lambda text, fresh=fresh: pattern.sub(fresh, text))
    for file, several in inserts.items():
        _write(cloud / file, several)
    return made


def _renamed(rows: list[tuple[Any, ...]], pattern: re.Pattern[str], fresh: Any) -> list[tuple[Any, ...]]:
    return [tuple(pattern.sub(fresh, value) if isinstance(value, str) else value for value in row) for row in rows]


def _copy_rows(env: Environment, states: Iterable[State], id: str, renamed: Callable[[str], str]) -> None:
    import json

    row = Environment.objects.create(
        id=id, project_id=env.project_id, name=f"{env.name} {id[:12]}", version=env.version, cloud=env.cloud
    )
    for state in states:
        State.objects.create(
            environment=row, number=state.number, model=json.loads(renamed(json.dumps(state.model))), lock=state.lock
        )
    EnvironmentPackage.objects.bulk_create(
        EnvironmentPackage(environment=row, fqn=one.fqn, version=one.version, digest=one.digest)
        for one in EnvironmentPackage.objects.filter(environment=env)
    )


def _read(file: Path, tables: dict[str, str], environment: str) -> Rows:
    stacks = f"SELECT id FROM stacks WHERE environment = '{environment}'"
    found: Rows = []
    with closing(sqlite3.connect(file)) as database:
        for table, where in tables.items():
            cursor = database.execute(f"SELECT * FROM {table} WHERE {where.format(e=environment, s=stacks)}")
            found.append((table, [column[0] for column in cursor.description], cursor.fetchall()))
    return found


def _write(file: Path, several: list[Rows]) -> None:
    with closing(sqlite3.connect(file, timeout=60)) as database, database:
        for tables in several:
            for table, columns, rows in tables:
                numbered = _NUMBERED.get(table)
                for row in rows:
                    values = [None if column == numbered else value for column, value in zip(columns, row, strict=True)]
                    database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
