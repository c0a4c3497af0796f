"""Some environments of a project out of many: searched, filtered, sorted and counted by the database.

Two statements: which ones, then what there is to say about them. So what takes time is looked up for those that are
shown. Letters are compared without their case as the database knows it; SQLite is taught that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.db import connections

from vetro.server.environments import queries
from vetro.server.environments.limits import known_id
from vetro.server.environments.queries import ListedEnvironment
from vetro.server.queries import fetch, fetch_in_parts, on_sqlite

#: Statuses that there are (`queries`).
STATUSES: Final = (
    queries.READY, queries.PENDING, queries.DEPLOYING, queries.DELETING, "deploy failure", "delete failure",
)  # fmt: skip

_LAST_TASK = " LEFT JOIN dispatch_task l ON l.id = e.task_id"
_LATEST_ON_SQLITE = "MAX(e.updated, COALESCE(l.started, e.updated), COALESCE(l.finished, e.updated))"
_LATEST = "GREATEST(e.updated, l.started, l.finished)"

#: Id, name, project, version, description, when it was created and last changed (``YYYY-MM-DD HH:MM:SS`` and more), and
#: the status as /v1 has it.
Listed = tuple[str, str, str, int, str, str, str, str]
_WHOLE = (
    "SELECT e.id, e.name, e.project_id, e.version, e.description_text, (e.created AT TIME ZONE 'UTC')::text,"
    f" (e.updated AT TIME ZONE 'UTC')::text, {queries.V1_STATUS} FROM environments_environment e"
)
_WHOLE_ON_SQLITE = (
    "SELECT e.id, e.name, e.project_id, e.version, e.description_text, e.created || '', e.updated || '',"
    f" {queries.V1_STATUS_ON_SQLITE} FROM environments_environment e"
)


def part(
    project_id: str | None,
    *,
    search: str = "",
    in_text: bool = False,
    status: str = "",
    sort: str = "name",
    skip: int = 0,
    most: int | None = None,
) -> list[ListedEnvironment]:
    """So many environments of a project (None: of all) after the first ``skip``.

    ``search``: part of the name, with ``in_text`` of the name or the description. ``sort``: ``name``, ``exact name``
    (capitals come first), ``-changed`` or ``-created``. Raises `KeyError` for another ``sort``.
    """
    condition, values = _condition(project_id, search, in_text, status)
    order, joined = _order(sort)
    task = (queries.AT_WORK if status else "") + (_LAST_TASK if joined else "")
    limit = "" if most is None and not skip else " LIMIT %s OFFSET %s"
    statement = f"SELECT e.id FROM environments_environment e{task} WHERE {condition} ORDER BY {order}{limit}"
    if limit:
        values += [2**62 if most is None else most, skip]
    ids = [id for (id,) in _fetch(statement, values)]
    found = {row.id: row for row in queries.of_ids(ids)}
    return [found[id] for id in ids if id in found]  # one may just have been removed


def whole(project_id: str | None) -> Iterator[list[Listed]]:
    """All environments of a project (None: of all), by name, some at a time: they may be many.

    So the database looks at sessions and tasks once for all of them, and times stay the text that it makes of them.
    """
    condition, values = _condition(project_id, "", False, "")
    statement = _WHOLE_ON_SQLITE if on_sqlite() else _WHOLE
    order = "e.name, e.id" if project_id is None else "e.name"  # a name is there once in a project
    yield from fetch_in_parts(f"{statement} WHERE {condition} ORDER BY {order}", values)


def count(project_id: str | None, *, search: str = "", in_text: bool = False, status: str = "") -> int:
    """How many there are of these."""
    condition, values = _condition(project_id, search, in_text, status)
    task = queries.AT_WORK if status else ""
    rows = _fetch(f"SELECT COUNT(*) FROM environments_environment e{task} WHERE {condition}", values)
    return int(rows[0][0])


def _condition(project_id: str | None, search: str, in_text: bool, status: str) -> tuple[str, list[Any]]:
    conditions, values = ["1 = 1"], list[Any]()
    if project_id is not None:
        if not known_id(project_id):
            return "1 = 0", []
        conditions, values = ["e.project_id = %s"], [project_id]
    if status and status not in STATUSES:
        return "1 = 0", []
    if search:
        columns = ("e.name", "e.description_text") if in_text else ("e.name",)
        contains = "instr(vetro_lower({}), vetro_lower(%s)) > 0" if on_sqlite() else "strpos(lower({}), lower(%s)) > 0"
        conditions.append(f"({' OR '.join(contains.format(column) for column in columns)})")
        values += [search.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")] * len(columns)
    if status:
        conditions.append(f"{queries.STATUS} = %s")
        values.append(status)
    return " AND ".join(conditions), values


def _order(sort: str) -> tuple[str, bool]:
    """And whether it needs the task."""
    latest = _LATEST_ON_SQLITE if on_sqlite() else _LATEST
    return {
        "name": ("lower(e.name), e.id", False),
        "exact name": ("e.name, e.id", False),
        "-changed": (f"{latest} DESC, e.id", True),
        "-created": ("e.created DESC, e.id", False),
    }[sort]


def _fetch(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    if on_sqlite():
        _teach_sqlite()
    return fetch(statement, values)


def _teach_sqlite() -> None:
    """Its own `lower` knows the letters of ASCII."""
    database: Any = connections["default"]
    database.ensure_connection()
    if getattr(database, "vetro_taught", None) is not database.connection:
        database.connection.create_function("vetro_lower", 1, str.lower, deterministic=True)
        database.vetro_taught = database.connection
