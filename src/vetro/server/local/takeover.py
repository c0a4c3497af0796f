"""Environments of earlier versions, which kept each as a folder, become environments of the service at the first start.

Each is taken over in one transaction, with its states, tasks, journals and packages; then its folder is moved to
``taken-over/``, where nothing reads it any more. A command that is killed in between leaves the environment in one of
the two places, or in both, and the next one goes on. What cannot be read stays where it is, and is said.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vetro.clouds.kinds import RECORD
from vetro.server.errors import ServiceError
from vetro.server.local.old_folders import OldEnvironment, OldJournal, OldTask

if TYPE_CHECKING:
    from vetro.server.environments.models import Environment
    from vetro.server.local.workspace import Workspace
    from vetro.server.tasks.models import Task

#: Where the folders are in a workspace, and where they are moved.
FOLDER, DONE = "environments", "taken-over"
_KINDS = frozenset({"deploy", "action"})


def take_over(workspace: Workspace) -> dict[str, str]:
    """Takes over all environments of earlier versions that are in a workspace: what could not be read, by name."""
    data = workspace.config.data
    folder = data / FOLDER
    if not folder.is_dir():
        return {}
    from vetro.server.local.locks import held

    failures = {}
    with held(data / "locks" / "taking-over"):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not (path / "environment.json").exists():
                continue
            try:
                old = OldEnvironment(path)
                with old.locked() as free:
                    if not free:
                        failures[path.name] = f"a command of an earlier version works on environment '{path.name}'"
                        continue
                    _take(workspace, old)
                    _move(path, data / DONE)
            except ServiceError as error:
                failures[path.name] = error.message
        with contextlib.suppress(OSError):  # something is left in it
            folder.rmdir()
    return failures


def _move(path: Path, done: Path) -> None:
    done.mkdir(exist_ok=True, mode=0o700)
    target, count = done / path.name, 1
    while target.exists():
        count += 1
        target = done / f"{path.name}-{count}"
    path.rename(target)


def _take(workspace: Workspace, old: OldEnvironment) -> None:
    from django.db import transaction

    from vetro.server.catalog import blobs
    from vetro.server.environments.models import Environment, EnvironmentPackage

    if Environment.objects.filter(id=old.id).exists():
        return  # a command was killed before it moved the folder
    packages = []
    for entry in old.packages:
        with contextlib.suppress(OSError):  # one whose archive is gone: a deployment says so
            if blobs.put(old.archive(entry["digest"])) == entry["digest"]:
                packages.append({"fqn": entry["name"], "version": entry["version"], "digest": entry["digest"]})
    models, tasks = old.models(), old.tasks()
    with transaction.atomic():
        row = Environment.objects.create(
            id=old.id,
            project_id=workspace.caller.project_id,
            name=old.name,
            region=str(old.settings.get("region") or ""),
            cloud=_cloud(old.settings),
        )
        EnvironmentPackage.objects.bulk_create(EnvironmentPackage(environment=row, **entry) for entry in packages)
        made = [_task(workspace, row, one, packages) for one in tasks]
        _states(row, old, models, {one.number: task for one, task in zip(tasks, made, strict=True)})
        last = made[-1] if made else None
        failed = last is not None and last.state not in ("done", "queued")
        Environment.objects.filter(id=row.id).update(
            version=max(models),
            task_id=last.id if last is not None else "",
            failure="deploy failure" if failed else "",
            created=_at(old.created),
            updated=_at(old.created),
        )


def _cloud(settings: Mapping[str, Any]) -> dict[str, Any]:
    found = {"kind": str(settings.get("driver") or RECORD)}
    return found | ({"script": settings["script"]} if settings.get("script") else {})


def _states(
    row: Environment, old: OldEnvironment, models: Mapping[int, dict[str, Any]], tasks: Mapping[int, Task]
) -> None:
    from vetro.engine.models.environment import Environment as Model
    from vetro.server.environments.models import State

    newest = max(models)
    for number, model in models.items():
        if number == newest and model.get("Objects") is None:  # it was emptied, and can be filled again
            model = {**model, "Objects": Model.new(old.name, old.id).model["Objects"]}
        task = tasks.get(number)
        made = State.objects.create(
            environment=row, number=number, model=model, task_id=task.id if task is not None else ""
        )
        ended = task.finished if task is not None else None
        State.objects.filter(id=made.id).update(created=ended or _at(old.created))


def _task(workspace: Workspace, row: Environment, old: OldTask, packages: Sequence[Mapping[str, str]]) -> Task:
    from vetro.server.tasks.models import Task

    given = old.task or (old.journal.task if old.journal is not None else {})
    outcome = old.outcome or {}
    kind = str(given.get("kind") or outcome.get("kind") or "deploy")
    model = given.get("model") if isinstance(given.get("model"), dict) else {}
    if kind == "deploy" and old.finished and model and model.get("Objects") is None:
        kind = "destroy"
    method = given.get("method") if kind == "action" else "deploy"
    state, error = _ended(old, outcome)
    used = {Path(str(path)).name.removesuffix(".zip") for path in given.get("packages") or ()}
    task = Task(
        project_id=row.project_id,
        user_id=workspace.caller.user_id,
        environment_id=row.id,
        kind=kind,
        state=state,
        spec={**given, "packages": [p for p in packages if p["digest"] in used or not used], "cloud": row.cloud},
        action={"object_id": given.get("object_id") or row.id, "method": method, "args": given.get("args") or {}},
        result=outcome.get("result"),
        error=error,
        engine=str(given.get("engine") or (old.journal.engine if old.journal is not None else "")),
        started=_time(outcome.get("started")),
        finished=_time(outcome.get("ended")) if old.finished else None,
    )
    task.save(force_insert=True)
    begun = _time(outcome.get("started")) or (_at(old.journal.begun) if old.journal is not None else None)
    if begun is not None:
        Task.objects.filter(id=task.id).update(created=begun, started=begun)
    if old.journal is not None:
        _journal(task, old.journal)
    _reports(task, old.reports)
    return task


def _ended(old: OldTask, outcome: Mapping[str, Any]) -> tuple[str, Any]:
    """State and error of the task's row."""
    from vetro.server.tasks.models import Task

    if not old.finished:
        return Task.QUEUED, None
    state = str(outcome.get("state") or "")
    if state in Task.FINAL:
        return state, outcome.get("error")
    if state == "abandoned":
        return "cancelled", outcome.get("error")
    return "failed", {"kind": "error", "message": "nobody knows how the task ended: its file was damaged", "names": []}


def _journal(task: Task, old: OldJournal) -> None:
    from vetro.server.tasks.journal import DbJournal
    from vetro.server.tasks.models import JournalTask

    journal = DbJournal(task.id)
    journal.begin(_as_run(task.spec), old.engine, old.begun)
    for entry in old.entries:
        journal.intent(entry)
    for entry in sorted((e for e in old.entries if e.place is not None), key=lambda e: e.place or 0):
        journal.result(entry.key, entry.answer, entry.error, entry.ended or entry.begun)
    for note in old.notes:
        journal.note(note)
    if old.model is not None:
        journal.checkpoint(old.model, old.model_at or old.begun)
    if old.cancelled is not None:
        journal.cancel(old.cancelled)
    if old.ended is not None:
        journal.end(old.ended)
    journal.commit()
    JournalTask.objects.filter(task_id=task.id).update(attempts=old.attempts, deaths=old.deaths)


def _as_run(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The task as whoever goes on with it compares it with its journal; packages are not compared."""
    from vetro.engine.task.task import Task as EngineTask

    try:
        return EngineTask.from_json({**{k: v for k, v in spec.items() if k != "cloud"}, "packages": []}).as_json()
    except (TypeError, ValueError, AttributeError, KeyError):  # its file was damaged: nobody goes on with it
        return dict(spec)


def _reports(task: Task, lines: Sequence[Mapping[str, Any]]) -> None:
    """Status lines of a task whose journal stayed elsewhere."""
    from vetro.engine.worker.journal import Note
    from vetro.server.tasks import reports

    notes = []
    for number, line in enumerate(lines):
        args = {name: line[name] for name in ("id", "text", "details", "level") if line.get(name) is not None}
        at = line.get("at")
        when = float(at) if isinstance(at, (int, float)) else 0.0
        notes.append(Note(str(line.get("key") or number), "report", args, "", when))
    if notes:
        reports.store(task.id, notes)


def _time(value: Any) -> datetime | None:
    return _at(float(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
