"""Environments of earlier versions, which kept each as a folder, become environments of the service at the first start.

Each is taken over in one transaction, with its states, tasks, journals and packages; then its folder is moved to
``taken-over/``, where nothing reads it any more. A command that is killed in between leaves the environment in one of
the two places, or in both, and the next one goes on. What cannot be read stays where it is, and is said.

Folders are read behind the walls of tasks (`old_folders`); this process looks at names, and
at archives by their digest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction

from vetro.clouds.kinds import RECORD
from vetro.diagnostics import Text, decode_messages
from vetro.engine.task.task import Task as EngineTask
from vetro.engine.worker.journal import Note
from vetro.packages.errors import PackageError
from vetro.packages.regular import read_regular
from vetro.server.caller import Caller
from vetro.server.catalog import blobs
from vetro.server.catalog.inspection.pool import pool, reason_of
from vetro.server.config.config import Config
from vetro.server.environments.models import Environment, State
from vetro.server.environments.packages import adopt, listed
from vetro.server.errors import Invalid, ServiceError
from vetro.server.local import old_folders
from vetro.server.local.locks import held
from vetro.server.local.old_folders import LARGEST, OldJournal, OldTask
from vetro.server.secrets.encryption import CompressedJSON, unpacked_size
from vetro.server.tasks import reports, spec
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import JournalTask, Task

if TYPE_CHECKING:
    from vetro.server.environments.models import Environment
    from vetro.server.tasks.models import Task

#: Where the folders are moved.
DONE = "taken-over"
_OUT: Final = Text("move the folder elsewhere, and it is not looked at again")


def take_over(config: Config, caller: Caller, folder: Path) -> dict[str, str]:
    """Takes over all environments of earlier versions that are in a folder of a workspace, for its only user; what
    could not be read, by name."""
    data = config.data
    failures = {}
    with held(data / "locks" / "taking-over"):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not (path / "environment.json").exists():
                continue
            try:
                _check_own(path)
                with _locked(path) as free:
                    if not free:
                        failures[path.name] = f"a command of an earlier version works on environment '{path.name}'"
                        continue
                    _take(config, caller, path)
                    _move(path, data / DONE)
            except ServiceError as error:
                failures[path.name] = error.message
            except Exception as error:  # whatever is in there hides no other environment
                failures[path.name] = f"{path} is damaged ({type(error).__name__}: {error}): {_OUT}"
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


def _check_own(path: Path) -> None:
    """Raises `Invalid` for what is no folder, or belongs to somebody who could change it meanwhile."""
    found, above = path.lstat(), path.parent.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise Invalid(Text("{path} is a link: {out}", path=path, out=_OUT))
    if found.st_uid not in (os.geteuid(), above.st_uid):
        raise Invalid(
            Text("{path} belongs to another user (number {st_uid}): {out}", path=path, st_uid=found.st_uid, out=_OUT)
        )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Whether no command of the earlier version works on it; none does during the block."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path / "lock", flags, 0o600), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Invalid(Text("{path} is no file: {out}", path=path / "lock", out=_OUT))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _read(caller: Caller, path: Path) -> tuple[dict[str, Any], list[bytes | memoryview]]:
    """What `old_folders.answer` says. Raises `Invalid`."""
    head = {"op": "old environment", "folder": str(path)}
    try:
        told, blobs = pool().ask(caller.project_id, head, (), old_folders.SECONDS, [str(path)])
    except Invalid as error:
        reason = reason_of(error.message)
        raise Invalid(Text("{path} cannot be read: {reason}: {out}", path=path, reason=reason, out=_OUT)) from None
    if "invalid" in told:
        message = decode_messages(told["invalid"])["message"]
        raise Invalid(message if str(path) in message else Text("{path}: {message}", path=path, message=message))
    return told, blobs


def _take(config: Config, caller: Caller, path: Path) -> None:
    old, found = _read(caller, path)
    if Environment.objects.filter(id=old["id"]).exists():
        return  # a command was killed before it moved the folder
    packages = []
    for entry in old["packages"]:
        # One whose archive is gone, or none: a deployment says so.
        with contextlib.suppress(OSError, PackageError):
            if blobs.put(read_regular(path / "packages" / f"{entry['digest']}.zip")) == entry["digest"]:
                packages.append({"fqn": entry["name"], "version": entry["version"], "digest": entry["digest"]})
    count, created = len(old["numbers"]), _at(old["created"])
    models = dict(zip(old["numbers"], found[:count], strict=True))
    for model in models.values():
        unpacked_size(model, LARGEST)
    with transaction.atomic():
        row = Environment.objects.create(
            id=old["id"],
            project_id=caller.project_id,
            name=old["name"],
            region=str(old["settings"].get("region") or ""),
            cloud=_cloud(old["settings"]),
        )
        lock = adopt(row.id, listed(packages))
        last, tasks = None, {}
        for text in found[count:]:
            one = OldTask.loads(bytes(text))
            last = _task(config, caller, row, one, packages)
            tasks[one.number] = (last.id, last.finished)
        for number, model in models.items():
            task_id, ended = tasks.get(number, ("", None))
            made = State.objects.create(environment=row, number=number, model=CompressedJSON(model), task_id=task_id)
            newest = {"lock": lock} if number == max(models) else {}
            State.objects.filter(id=made.id).update(created=ended or created, **newest)
        failed = last is not None and last.state not in ("done", "queued")
        Environment.objects.filter(id=row.id).update(
            version=max(models),
            task_id=last.id if last is not None else "",
            failure="deploy failure" if failed else "",
            created=created,
            updated=created,
        )


def _cloud(settings: Mapping[str, Any]) -> dict[str, Any]:
    found = {"kind": str(settings.get("driver") or RECORD)}
    return found | ({"script": settings["script"]} if settings.get("script") else {})


def _task(
    config: Config, caller: Caller, row: Environment, old: OldTask, packages: Sequence[Mapping[str, str]]
) -> Task:
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
        user_id=caller.user_id,
        environment_id=row.id,
        kind=kind,
        state=state,
        spec={
            **given,
            "packages": [p for p in packages if p["digest"] in used or not used],
            "cloud": row.cloud,
            "budget": dataclasses.asdict(spec.budget(config)),
        },
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
    if not old.finished:
        return Task.QUEUED, None
    state = str(outcome.get("state") or "")
    if state in Task.FINAL:
        return state, outcome.get("error")
    if state == "abandoned":
        return "cancelled", outcome.get("error")
    return "failed", {"kind": "error", "message": "nobody knows how the task ended: its file was damaged", "names": []}


def _journal(task: Task, old: OldJournal) -> None:
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
    try:
        return EngineTask.from_json({**{k: v for k, v in spec.items() if k != "cloud"}, "packages": []}).as_json()
    except (TypeError, ValueError, AttributeError, KeyError):  # its file was damaged: nobody goes on with it
        return dict(spec)


def _reports(task: Task, lines: Sequence[Mapping[str, Any]]) -> None:
    """Status lines of a task whose journal stayed elsewhere."""
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
