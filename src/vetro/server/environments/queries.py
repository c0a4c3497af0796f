"""Environments as they are read most: row, status and model in one statement (API.md 5.1).

The status follows from the environment's last task and from its drafts, by nothing that could be left behind: it is
``deploying`` (``deleting``) exactly while a task that changes it has not ended, or a procedure has it for itself
(`vetro.server.procedures`); else ``deploy failure`` (``delete
failure``) when the last one did not end well, where a failed action leaves what was before; else ``pending`` while
somebody has a session of the present version open; else ``ready``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.server.caller import Caller
from vetro.server.environments.errors import Busy, NotYours, Reserved
from vetro.server.environments.limits import known_id
from vetro.server.environments.models import Environment, Session
from vetro.server.errors import NotFound
from vetro.server.queries import fetch
from vetro.server.secrets.encryption import loads
from vetro.server.tasks.models import Task

READY: Final = "ready"
PENDING: Final = "pending"
DEPLOYING: Final = "deploying"
DELETING: Final = "deleting"

_OPENED = (
    "(SELECT 1 FROM environments_session s WHERE s.environment_id = e.id AND s.version = e.version"
    " AND s.state = 'opened'{})"
)
#: Whether there is such a draft. The second form is looked up for each environment that is given back; the first one
#: may be answered for all together, which reads all sessions. An index of those that are open would be written twice
#: with each deployment, and no update of a session could be HOT.
_ANY, _SOME_OF = f"EXISTS{_OPENED.format('')}", f"{_OPENED.format(' LIMIT 1')} IS NOT NULL"
#: States of a task that has not ended: all but `Task.FINAL`, since an index finds these.
_NOT_ENDED = "state IN ('queued', 'running', 'needs_person')"
#: The task that works on environment ``e``, as ``t``.
AT_WORK: Final = f" LEFT JOIN dispatch_task t ON t.id = e.task_id AND t.{_NOT_ENDED}"
_STATUS = (
    f"CASE WHEN {{destroyed}} THEN '{DELETING}' WHEN {{changed}} OR e.procedure_id <> '' THEN '{DEPLOYING}'"
    f" {{failed}} WHEN {_ANY} THEN '{PENDING}' ELSE '{READY}' END"
)
#: The status of environment ``e`` beside `AT_WORK`, as `_found` has it.
STATUS: Final = _STATUS.format(
    destroyed="t.kind = 'destroy'",
    changed="t.kind IS NOT NULL",
    failed=f"WHEN e.failure NOT IN ('', '{Environment.ACTION_FAILED}') THEN e.failure",
)
_V1_FAILED = (
    f"WHEN e.failure = '{Environment.ACTION_FAILED}' THEN '{Session.FAILED}' WHEN e.failure <> '' THEN e.failure"
)
_TASKS = f"(SELECT id FROM dispatch_task{{by}} WHERE {_NOT_ENDED}{{more}})"


def _v1_status(by: str) -> str:
    tasks, destroying = _TASKS.format(by=by, more=""), _TASKS.format(by=by, more=" AND kind = 'destroy'")
    return _STATUS.format(destroyed=f"e.task_id IN {destroying}", changed=f"e.task_id IN {tasks}", failed=_V1_FAILED)


#: The status of each of many environments ``e`` as /v1 has it, see `ListedEnvironment.v1_status`: the tasks at work are
#: looked up once and not for each. SQLite has to be told by which index, and would read all tasks that there are.
V1_STATUS: Final = _v1_status("")
V1_STATUS_ON_SQLITE: Final = _v1_status(" INDEXED BY dispatch_ta_state_641444_idx")
#: Most values that a statement is given at once.
_TOGETHER = 500
_FIELDS = "e.id, e.project_id, e.name, e.version, e.description_text, e.created, e.updated, e.failure, e.procedure_id"


@dataclass(frozen=True, slots=True)
class ListedEnvironment:
    """An environment with its status."""

    id: str
    project_id: str
    name: str
    version: int
    description_text: str
    created: datetime
    #: When a person last changed it; a deployment does not count (API.md 5.1).
    updated: datetime
    #: When a person or a task last changed it.
    changed: datetime
    status: str
    #: The task that works on it; '' when none does.
    task_id: str
    #: The session that this task deploys; '' when there is none.
    session_id: str
    #: The newest model; None where it was not asked for.
    model: dict[str, Any] | None = None
    #: `Environment.failure`.
    failure: str = ""
    #: `Environment.procedure_id`.
    procedure_id: str = ""

    @property
    def v1_status(self) -> str:
        """The status as /v1 has it: there a failed action is a failed deployment (API.md 9)."""
        acted = self.failure == Environment.ACTION_FAILED and not self.busy
        return Session.FAILED if acted else self.status

    @property
    def busy(self) -> bool:
        """Whether a task works on it, or a procedure has it."""
        return self.status in (DEPLOYING, DELETING)

    def reserved_for(self, procedure_id: str) -> bool:
        """Whether this procedure has it, and no task works on it."""
        return bool(procedure_id) and self.procedure_id == procedure_id and not self.task_id

    def require_free(self, recorded: str = "") -> None:
        """Raises `Busy` while a task works on it, `Reserved` while a procedure has it. ``recorded``: what /v1 says of
        the former instead."""
        if self.procedure_id:
            raise Reserved(
                Text(
                    "environment '{name}' belongs to the guarded update {procedure} until it is kept or taken back",
                    name=self.name,
                    procedure=self.procedure_id,
                ),
                details={"procedure_id": self.procedure_id},
            )
        if self.busy:
            raise Busy(Text("a task works on environment '{name}'", name=self.name), recorded=recorded)


def get(caller: Caller, environment_id: str, *, model: bool = False) -> ListedEnvironment:
    """One environment, with its newest model if wanted. Raises `NotFound`, `NotYours`."""
    rows = _rows("e.id = %s", [environment_id], model=model) if known_id(environment_id) else []
    if not rows:
        raise NotFound(Text("Environment with id {environment_id} not found", environment_id=environment_id))
    if not caller.sees(rows[0].project_id):
        raise NotYours(Text("User is not authorized to access these tenant resources"))
    return rows[0]


def of_project(project_id: str | None) -> list[ListedEnvironment]:
    """The environments of a project, by name; None: of all projects. One query."""
    if project_id is None:
        return _rows("1 = 1", [], order=True)
    return _rows("e.project_id = %s", [project_id], order=True) if known_id(project_id) else []


def of_ids(ids: Sequence[str]) -> list[ListedEnvironment]:
    """Those of these environments that there are, in any order."""
    found: list[ListedEnvironment] = []
    for first in range(0, len(ids), _TOGETHER):
        some = ids[first : first + _TOGETHER]
        found += _rows(f"e.id IN ({', '.join(['%s'] * len(some))})", some, few=True)
    return found


def names_of(project_id: str) -> list[str]:
    """The names of the environments of a project."""
    rows = Environment.objects.filter(project_id=project_id) if known_id(project_id) else Environment.objects.none()
    return list(rows.order_by("name").values_list("name", flat=True))


def part_of(project_id: str | None, after: tuple[str, str] | None, most: int) -> list[ListedEnvironment]:
    """So many environments of a project (None: of all) by name: those that follow on ``after``, a name and an id.

    It costs what is given back, however many there are.
    """
    conditions, values = [], list[Any]()
    if project_id is not None:
        conditions, values = ["e.project_id = %s"], [project_id]
        if not known_id(project_id):
            return []
    if after is not None:
        conditions.append("(e.name, e.id) > (%s, %s)")
        values += after
    return _rows(" AND ".join(conditions) or "1 = 1", [*values, most], order=True, limit=True)


def count(project_id: str | None) -> int:
    """How many environments a project has; None: all projects together."""
    rows = Environment.objects.all() if project_id is None else Environment.objects.filter(project_id=project_id)
    return rows.count() if project_id is None or known_id(project_id) else 0


@cache
def _statement(condition: str, model: bool, order: bool, limit: bool, few: bool) -> str:
    newest = (
        "(SELECT n.model FROM environments_state n WHERE n.environment_id = e.id ORDER BY n.number DESC LIMIT 1)"
        if model
        else "NULL"
    )
    return (
        f"SELECT {_FIELDS}, t.id, t.kind, t.session_id, t.state, t.started, t.finished,"
        f" {_SOME_OF if limit or few else _ANY}, {newest}"
        " FROM environments_environment e LEFT JOIN dispatch_task t ON t.id = e.task_id"
        f" WHERE {condition}" + (" ORDER BY e.name, e.id" if order else "") + (" LIMIT %s" if limit else "")
    )


def _rows(
    condition: str,
    values: Sequence[Any],
    *,
    model: bool = False,
    order: bool = False,
    limit: bool = False,
    few: bool = False,
) -> list[ListedEnvironment]:
    """``few``: the sessions of each are looked up, as with ``limit``."""
    return [_found(row) for row in fetch(_statement(condition, model, order, limit, few), values)]


def _found(row: Sequence[Any]) -> ListedEnvironment:
    id, project, name, version, text, created, updated, failure, procedure = row[:9]
    task, kind, session, state, started, finished, open_drafts, model = row[9:]
    if state in Task.FINAL:
        task = session = None
    if task is not None:
        status = DELETING if kind == "destroy" else DEPLOYING
    elif procedure:
        status = DEPLOYING
    else:
        failed = "" if failure == Environment.ACTION_FAILED else failure
        status = failed or (PENDING if open_drafts else READY)
    updated = changed = _aware(updated)
    for at in (started, finished):
        if at is not None:
            changed = max(changed, _aware(at))
    return ListedEnvironment(
        id,
        project,
        name,
        version,
        text,
        _aware(created),
        updated,
        changed,
        status,
        task or "",
        session or "",
        None if model is None else loads(bytes(model)),
        failure,
        procedure,
    )


def _aware(at: datetime) -> datetime:
    # SQLite gives times without zone; they are UTC.
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
