"""Rows for people: reports and log lines of tasks, and the events that tell those who watch (API.md 8).

Every row has the key of what caused it and is stored once, whatever is repeated after a death.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from vetro.diagnostics import TEXTS, encode_messages
from vetro.engine.worker.journal import Note
from vetro.server.queries import insert_rows, time_value
from vetro.server.secrets.encryption import dumps
from vetro.server.tasks.long_lines import parts_of, shortened
from vetro.server.tasks.models import Event, Report, ReportPart, Task

#: Kind and data of an event.
NewEvent = tuple[str, Mapping[str, Any]]
#: Kinds of notes that people read.
KINDS = frozenset({"report", "log"})
LEVELS = ("info", "warning", "error")
_OF_LOG = {"warning": "warning", "error": "error", "critical": "error"}


def flags(notes: Iterable[Note]) -> dict[str, bool]:
    """Which columns of the task become true with these reports."""
    levels = {level_of(note) for note in notes if note.kind == "report"}
    found = {}
    if "warning" in levels:
        found["warnings"] = True
    if "error" in levels:
        found["errors"] = True
    return found


def level_of(note: Note) -> str:
    """info, warning or error."""
    level = str(note.args.get("level") or "info").lower()
    if note.kind == "log":
        return _OF_LOG.get(level, "info")
    return level if level in LEVELS else "info"


def owner_of(task_id: str) -> Mapping[str, str]:
    """``project_id`` and ``environment_id`` of a task, which do not change."""
    project, environment = Task.objects.values_list("project_id", "environment_id").get(id=task_id)
    return {"project_id": project, "environment_id": environment}


def store(
    task_id: str,
    notes: Sequence[Note],
    owner: Mapping[str, str] | None = None,
    events: list[NewEvent] | None = None,
) -> None:
    """Stores the reports and log lines among the notes of a task, inside the caller's transaction. ``owner``: its
    ``project_id`` and ``environment_id``, where they are known. ``events``: as for `add`."""
    wholes: dict[str, str] = {}
    rows = [_row(task_id, note, wholes) for note in notes if note.kind in KINDS]
    if not rows:
        return
    _store(rows)
    # One that was stored before has its parts, and another id.
    for id in Report.objects.filter(id__in=list(wholes)).values_list("id", flat=True) if wholes else ():
        _store_parts(id, wholes[id])
    made: list[NewEvent] = [("report", {"id": row.id, "kind": row.kind, "level": row.level}) for row in rows]
    if events is not None:
        events += made
        return
    whose = owner or owner_of(task_id)
    _insert_events(whose["project_id"], whose["environment_id"], task_id, made)


def _store_parts(id: str, whole: str) -> None:
    pieces = (ReportPart(report_id=id, number=number, text=text) for number, text in parts_of(whole))
    while together := list(islice(pieces, 50)):
        ReportPart.objects.bulk_create(together)


def _row(task_id: str, note: Note, wholes: dict[str, str]) -> Report:
    """``wholes`` gets what is to be stored in parts, by the id of the row."""
    args = note.args
    extra: Any = args.get("details") if note.kind == "report" else None
    if note.kind == "log":
        extra = {name: args[name] for name in ("logger", "level", "package", "file", "line") if name in args}
    entity = args.get("id") if note.kind == "report" else None
    text, extra, whole = shortened(str(args.get("text") or ""), extra)
    row = Report(
        task_id=task_id,
        key=json.dumps(note.key)[1:-1],
        kind=note.kind,
        entity_id=json.dumps(entity)[1:-1][:255] if isinstance(entity, str) else "",
        text=text,
        details=extra,
        cut=whole is not None,
        level=level_of(note),
        created=datetime.fromtimestamp(note.at, UTC),
    )
    if whole is not None:
        wholes[row.id] = whole
    return row


def add(
    task: Task,
    key: str,
    text: str,
    *,
    level: str = "info",
    entity_id: str = "",
    details: Any = None,
    kind: str = "report",
    events: list[NewEvent] | None = None,
) -> bool:
    """A line of the service itself under the name ``key``, with its event; whether it is new: else nothing is done.

    ``events`` gets the event instead, for who has more to tell in the same transaction (`tell`).
    """
    text, details, whole = shortened(text, details)
    told: dict[str, Any] = encode_messages({"text": text})
    if TEXTS in told:
        details = {**(details or {}), TEXTS: told[TEXTS]}
    row = Report(
        task_id=task.id,
        key=f'"{key}',  # no key of a task process looks so: quotes in those are escaped
        kind=kind,
        text=text,
        level=level,
        entity_id=entity_id[:255],
        details=details,
        cut=whole is not None,
        created=datetime.now(UTC),
    )
    new = _store([row]) > 0
    if new and whole is not None:
        _store_parts(row.id, whole)
    event = ("report", {"kind": kind, "level": level})
    if new and events is not None:
        events.append(event)
    elif new:
        _tell(task, [event])
    return new


def _store(rows: Sequence[Report]) -> int:
    """Stores those of the lines whose keys are new; how many."""
    columns = ("id", "task_id", "key", "kind", "entity_id", "text", "details", "cut", "level", "created")
    values = [
        (
            *(row.id, row.task_id, row.key, row.kind, row.entity_id, dumps(row.text)),
            *(None if row.details is None else dumps(row.details), row.cut, row.level, time_value(row.created)),
        )
        for row in rows
    ]
    return insert_rows(Report._meta.db_table, columns, values, new=True)


def tell(task: Task, before: Sequence[NewEvent] = (), data: Mapping[str, Any] | None = None) -> None:
    """Adds the events ``before``, and one about the task after them, by one statement. ``data``: what that one says
    instead of the task's state and kind."""
    _tell(task, [*before, ("task", data if data is not None else {"state": task.state, "kind": task.kind})])


def _tell(task: Task, events: Sequence[NewEvent]) -> None:
    _insert_events(task.project_id, task.environment_id, task.id, events)


def _insert_events(project_id: str, environment_id: str, task_id: str, events: Sequence[NewEvent]) -> None:
    columns = ("project_id", "environment_id", "task_id", "kind", "data")
    rows = [(project_id, environment_id, task_id, kind, json.dumps(data)) for kind, data in events]
    insert_rows(Event._meta.db_table, columns, rows, now="at")
