"""Tasks: what is done, was done, or waits; their log; cancelling, retrying, deciding."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.db.models import Q

from vetro.server.api.paging import aware, page, place
from vetro.server.api.paging import cursor as cursor_of
from vetro.server.caller import Caller
from vetro.server.environments import lookup, redaction, simulation
from vetro.server.environments.limits import known_id
from vetro.server.errors import Invalid
from vetro.server.procedures.models import of_task
from vetro.server.setup import config
from vetro.server.tasks import clock, log, queue
from vetro.server.tasks.models import Task
from vetro.server.tasks.waits import as_json, told, waits_of

_ROW: Final = (
    "id", "kind", "state", "environment_id", "session_id", "user_id", "project_id", "warnings", "errors", "cancel",
    "attempts", "created", "started", "finished",
)  # fmt: skip


def row_json(values: dict[str, Any], simulated: Collection[str]) -> dict[str, Any]:
    """A task in a list, from the columns of it. ``simulated``: the ids of tasks that are."""
    return {
        **values,
        "environment_id": values["environment_id"] or None,
        "session_id": values["session_id"] or None,
        "cancel": values["cancel"] or None,
        "simulated": values["id"] in simulated,
        "final": values["state"] in Task.FINAL,
    }


def task_json(task: Task, decisions: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """A task as clients see it; ``decisions`` are those of `queue.undecided`."""
    row = {name: getattr(task, name) for name in _ROW}
    waits = waits_of(config(), task)
    now = clock.read() if waits else datetime.now(UTC)
    return {
        **row_json(row, simulation.of_tasks([row])),
        "action": _action(task),
        "result": task.result,
        "error": task.error,
        "waiting": told(waits) or None,
        "waits": [as_json(wait, now) for wait in waits],
        "procedure_id": of_task(task.id),
        "decisions": [{**d, "begun": datetime.fromtimestamp(d["begun"], UTC)} for d in decisions],
    }


def _action(task: Task) -> dict[str, Any] | None:
    if task.action is None:
        return None
    found = task.spec or {}
    model = (found.get("model") or {}).get("Objects")
    return redaction.conceal_arguments(task.action, model, [used["digest"] for used in found.get("packages") or ()])


def list_tasks(
    caller: Caller,
    *,
    environment: str | None = None,
    state: Collection[str] | None = None,
    kind: Sequence[str] | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> dict[str, Any]:
    """The tasks of the project, newest first."""
    rows = Task.objects.filter(project_id=caller.project_id)
    if environment is not None:
        # Administrators see tasks of any environment that they name.
        rows = Task.objects.all() if caller.is_admin else rows
        rows = rows.filter(environment_id=environment) if known_id(environment) else rows.none()
    if state:
        rows = rows.filter(state__in=state)
    if kind:
        rows = rows.filter(kind__in=[k[:16] for k in kind[:20]])
    total = rows.count()
    after = place(cursor, str, str)
    if after is not None:
        at = _time(after[0])
        rows = rows.filter(Q(created__lt=at) | Q(created=at, id__lt=after[1]))
    found = list(rows.order_by("-created", "-id").values(*_ROW)[: limit + 1])
    end = cursor_of(found[limit - 1]["created"].isoformat(), found[limit - 1]["id"]) if len(found) > limit else None
    simulated = simulation.of_tasks(found)
    return page([row_json(row, simulated) for row in found[:limit]], total, end)


def _time(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = datetime.min
    if at.tzinfo is None:
        raise Invalid("This is no cursor of this list.")
    return aware(at)


def show_task(caller: Caller, task_id: str) -> dict[str, Any]:
    """A task with what it returned or how it failed."""
    task = queue.get(caller, lookup.task(caller, task_id))
    decisions = queue.undecided(caller, task_id) if task.state == Task.NEEDS_PERSON else ()
    return {**task_json(task, decisions), "result": queue.result_of(caller, task)}


def cancel_task(caller: Caller, task_id: str, *, reason: str = "") -> dict[str, Any]:
    """Ends a task: at once if nobody runs it, else at its next safe point. One that has ended stays as it is."""
    return task_json(queue.cancel(caller, lookup.task(caller, task_id), reason))


def retry_task(caller: Caller, task_id: str) -> dict[str, Any]:
    """A new task that does again what one that failed was to do, from the state that it left."""
    return task_json(queue.retry(caller, lookup.task(caller, task_id)))


def resolve_task(caller: Caller, task_id: str, *, key: str, decision: str, answer: Any = None) -> dict[str, Any]:
    """Says what became of an effect, ``done`` or ``redo``. The task goes on when nothing is left to decide."""
    lookup.task(caller, task_id)
    task = queue.resolve(caller, task_id, key, answer=answer, redo=decision == "redo")
    return task_json(task, queue.undecided(caller, task_id))


def read_log(
    caller: Caller,
    task_id: str,
    *,
    after: int = 0,
    level: Collection[str] | None = None,
    kind: str | None = None,
    object: str | None = None,
    limit: int = 200,
    frame: bool = True,
) -> dict[str, Any]:
    """What a task reported and logged, oldest first; fewer lines than ``limit`` where they are long.

    ``frame``: with what the service says of its beginning and end.
    """
    lookup.task(caller, task_id)
    # Read before the lines: what ended before them can have written no more.
    state = Task.objects.values_list("state", flat=True).get(id=task_id)
    rows = log.lines(task_id).filter(seq__gt=after)
    if not frame:
        rows = rows.exclude(key__in=(f'"{log.BEGIN}', f'"{log.END}'))
    if level:
        rows = rows.filter(level__in=level)
    if kind is not None:
        rows = rows.filter(kind=kind)
    if object is not None:
        rows = rows.filter(entity_id=object)
    found, more = log.within(rows, limit)
    items = [
        {
            "seq": row.seq,
            "kind": row.kind,
            "level": row.level,
            "object_id": row.entity_id or None,
            "text": row.text,
            "details": row.details,
            "cut": row.cut,
            "created": row.created,
        }
        for row in found
    ]
    final = state in Task.FINAL and not more
    return {"items": items, "next": items[-1]["seq"] if more else None, "final": final, "state": state}
