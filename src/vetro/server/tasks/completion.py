"""The end of a task, in one transaction: its row, the last reports, what it means for the environment, the event."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import transaction

import vetro.library
from vetro.diagnostics import Text, decode_messages
from vetro.engine.outcome import Outcome
from vetro.model.header import id_of
from vetro.server.queries import fetch
from vetro.server.secrets.key_file import KeysUnusable
from vetro.server.tasks import clock, hooks, log, notifications, reports
from vetro.server.tasks.dispatch import dispatcher
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import Task
from vetro.server.tasks.wait import tell_waiting

#: Kinds that leave a new state of an environment.
LASTING = frozenset({"deploy", "destroy", "action", "repair"})
#: Kinds that work on an environment: it is theirs alone until they have ended.
WORKING = LASTING | {"power", "snapshot"}
#: Columns that the end of a task changes.
_ENDING = (
    *("state", "result", "error", "warnings", "errors", "log_bytes"),
    *("owner", "lease_until", "waits", "finished", "updated"),
)
#: What waits for a task in its environment.
_NEXT = """
SELECT id FROM dispatch_task WHERE environment_id = %s AND state = 'queued' AND id <> %s ORDER BY created, id LIMIT 1
"""
_STANDARD = os.path.dirname(str(vetro.library.__file__)) + os.sep


@dataclass
class Ending:
    """What the end of a task is written with."""

    #: As it was read when the work began.
    task: Task | None = None
    #: Of it, what is not committed yet is written with the end.
    journal: DbJournal | None = None
    #: Called when the end is stored.
    stored: Callable[[], None] = lambda: None
    #: What `vetro.engine.task.method_spans` found.
    methods: list[Any] = field(default_factory=list)

    def close(self) -> None:
        """What was not written is forgotten."""
        if self.journal is not None:
            self.journal.close()


def finish(
    held: Callable[[], Task], outcome: Outcome, methods: Sequence[Any] = (), journal: DbJournal | None = None
) -> Task:
    """Ends a task. ``held`` gives its row, inside the transaction, and makes sure that nobody else ends it
    (`Lease.held`).

    ``methods``: what `vetro.engine.task.method_spans` found, for those who trace. ``journal``: what it has not
    committed is written, too (`DbJournal.end_with`). Raises what ``held`` raises; then nothing was written.
    """
    with transaction.atomic():
        task, events = held(), list[reports.NewEvent]()
        if journal is not None:
            journal.end_with(task, events)
        close(task, outcome, methods, events)
    return task


def close(
    task: Task, outcome: Outcome, methods: Sequence[Any] = (), events: list[reports.NewEvent] | None = None
) -> None:
    """The same inside the caller's transaction, for a task that nobody runs. ``events``: that come before."""
    events = [] if events is None else events
    task.state = outcome.state
    task.result = outcome.result
    task.error = (
        None if outcome.error is None else with_package_places(outcome.error, (task.spec or {}).get("packages") or ())
    )
    task.owner, task.lease_until, task.waits = "", None, None
    if outcome.state == Task.NEEDS_PERSON:
        reports.add(task, f"person {task.fence}", _undecided(outcome), level="warning", events=events)
        task.warnings = True
    else:
        # As `started`: a worker's own clock may say that it ended before it began.
        task.finished = getattr(task, "moment", None) or clock.read()
        _last_reports(task, events)
    task.save(update_fields=_ENDING)  # what it was to do is large, and stays as it is
    hooks.changed(task)
    if task.kind in WORKING and task.environment_id and task.state != Task.NEEDS_PERSON:
        hooks.ended(task, outcome)
    reports.tell(task, events)
    if task.environment_id and task.state != Task.NEEDS_PERSON:
        _tell_the_next(task)
    transaction.on_commit(partial(tell_waiting, task.id))
    if task.state in Task.FINAL:
        from vetro.server.tasks.telemetry import ended  # with Prometheus, which commands begin without

        transaction.on_commit(partial(ended, task, (task.spec or {}).get("trace"), methods))


def break_off(task_id: str, outcome: Outcome, hold: Callable[..., None]) -> None:
    """Ends a task of which `finish` cannot write the end: its row says so, and its environment stays as it was before,
    free for the next one. What the task is need not be readable. Raises what ``hold`` raises."""
    with transaction.atomic():
        hold()
        task = Task.objects.defer("spec", "action", "result", "error", "waits").get(id=task_id)
        task.state, task.error = "failed", outcome.error
        task.owner, task.lease_until, task.finished, task.waits = "", None, clock.read(), None
        events: list[reports.NewEvent] = []
        _last_reports(task, events)
        task.save()
        hooks.changed(task)
        hooks.broken_off(task)
        reports.tell(task, events)
        if task.environment_id:
            _tell_the_next(task)
        transaction.on_commit(partial(tell_waiting, task.id))


def _tell_the_next(task: Task) -> None:
    """Workers hear of the task that waited for this one in its environment."""
    for (id,) in fetch(_NEXT, (task.environment_id, task.id)):
        first = Task.objects.defer("spec", "action", "result", "error", "waits").get(id=id)
        dispatcher().notify(first)
        notifications.tell(notifications.TASKS, first.id)  # its row does not change: triggers are silent


def first_report(task: Task) -> list[reports.NewEvent]:
    """What the log of a task begins with that leaves a new state of an environment: its event, to be told."""
    text: str | None = None
    events: list[reports.NewEvent] = []
    if task.kind == "destroy":
        text = Text("Deletion of the environment requested")
    elif task.kind == "repair":
        text = Text("Repair requested")
    elif task.kind == "action":
        text = Text("Action {method} requested", method=_method_of(task))
    elif task.kind in LASTING:
        text = Text("Deployment requested")
    if text is not None:
        reports.add(task, log.BEGIN, text, events=events)
    return events


def _last_reports(task: Task, events: list[reports.NewEvent]) -> None:
    if task.error is not None:
        task.errors = True
        error: Mapping[str, Any] = task.error
        details = {name: error[name] for name in ("code", "kind", "hint", "position", "frames") if error.get(name)}
        reports.add(
            task, "error", text_of(error), level="error", entity_id=_root(task), details=details or None, events=events
        )
    if task.kind in LASTING:
        reports.add(task, log.END, _end_of(task), events=events)


def _method_of(task: Task) -> str:
    return str((task.action or {}).get("method") or (task.spec or {}).get("method") or "deploy")


def _end_of(task: Task) -> str:
    """What the log of a task ends with, in the words of what it was."""
    if task.kind == "action":
        return _end_of_action(task)
    if task.kind == "destroy":
        return Text("Deletion finished with errors") if task.errors else Text("The environment is deleted")
    if task.kind == "repair":
        return Text("Repair finished with errors") if task.errors else Text("Repair finished")
    if task.errors:
        return Text("Deployment finished with errors")
    return Text("Deployment finished with warnings") if task.warnings else Text("Deployment finished")


def _end_of_action(task: Task) -> str:
    method = _method_of(task)
    if task.state == "cancelled":
        return Text("Action {method} was cancelled", method=method)
    if task.errors:
        return Text("Action {method} failed", method=method)
    if task.warnings:
        return Text("Action {method} finished with warnings", method=method)
    return Text("Action {method} finished", method=method)


def text_of(error: Mapping[str, Any]) -> str:
    """A failure in one line: the names of what was thrown, as packages know it, and the message."""
    names = [str(name) for name in error.get("names") or ()]
    message = str(decode_messages(error).get("message") or Text("the task failed"))
    return (
        Text("[{name}]: {message}", name=names[0], message=message)
        if names and error.get("kind") == "thrown"
        else message
    )


def _root(task: Task) -> str:
    try:
        root = ((task.spec or {}).get("model") or {}).get("Objects")
    except KeysUnusable:
        return ""
    return id_of(root) or ""


def _undecided(outcome: Outcome) -> str:
    effects = ", ".join(f"{effect.key} ({effect.kind})" for effect in outcome.open)
    return f"Nobody knows whether this was done: {effects}. Somebody has to decide before the task goes on."


def with_package_places(error: Mapping[str, Any], packages: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """An error (`vetro.engine.failure`) with places as people know them: ``package version: file``, never where this
    machine keeps the file. ``packages``: fqn, version, digest."""
    names = {package["digest"]: f"{package['fqn']} {package['version']}" for package in packages}
    found = dict(error)
    if isinstance(found.get("position"), Mapping):
        found["position"] = _placed(found["position"], names)
    if isinstance(found.get("frames"), list):
        found["frames"] = [_placed(f, names) if isinstance(f, Mapping) else f for f in found["frames"]]
    return found


def _placed(place: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {**place, "file": _file_of(str(place.get("file") or ""), names)}


def _file_of(file: str, names: Mapping[str, str]) -> str:
    """One file; ``names``: digest -> package."""
    if file.startswith(_STANDARD):
        package, _, inner = file.removeprefix(_STANDARD).partition(os.sep)
        return f"{package}: {inner}"
    for digest, name in names.items():
        _, found, inner = file.partition(digest)
        if found:
            return f"{name}: {inner.removeprefix('.zip').lstrip('/')}"
    return os.path.basename(file)
