"""`write`: everything that helps to find out what is wrong with an environment, in one archive without secrets.

Whoever gets it may be a stranger. So what could be left out is not in it (settings, variables, keys, packages), all of
it went through one mask, and that knows the secrets of the models, arguments, settings and variables by value.
"""

from __future__ import annotations

import json
import platform
import re
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import IO, Any

from vetro import __version__
from vetro.diagnostics import Diagnostic, Text
from vetro.engine.doctor import examine
from vetro.engine.version import engine_version
from vetro.engine.worker.journal import NoSuchTask
from vetro.model.environment import deployed_objects
from vetro.model.secrets import conceal
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.packages.lock import Lock
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings
from vetro.server.config.display import without_password
from vetro.server.environments import drafts, lookup, packages, power, queries, redaction, secret_texts
from vetro.server.environments.models import Environment, Session
from vetro.server.errors import Unavailable
from vetro.server.servers import logs
from vetro.server.setup import config
from vetro.server.tasks import log
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import Task
from vetro.server.watch import queries as watch
from vetro.yaql.errors import VetroError
from vetro.yaql.redact import Secrets

#: Tasks, lines of the log of one, effects of one, and servers that are told of.
_TASKS, _LINES, _EFFECTS, _SERVERS = 10, 2000, 1000, 20
#: Seconds after which no further server is asked what it said.
_PATIENCE = 30.0

_README = """\
What Vetro knows about the environment '{name}', made {at} for whoever helps.

environment.json  versions, cloud, state
model.json        what is deployed, and drafts
packages.json     what it is made of
health.json       how it is, what changed
tasks/            the last {tasks} tasks and plans: how they ended, what they reported, what their scripts wrote, and
                  what they did outside
servers/          the end of consoles and journals
doctor.json       the machine of the service, in reports of administrators

Secrets are masked: values of properties and arguments that their classes call secret or whose names sound so, passwords
of settings, variables of the service whose names sound so. Nobody can know what a package or a person wrote elsewhere:
look before you pass it on.
"""


def write(caller: Caller, environment_id: str) -> IO[bytes]:
    """The archive (ZIP), at its beginning. Raises `NotFound`, `Unavailable` while nobody knows what is secret."""
    row = Environment.objects.get(id=lookup.environment(caller, environment_id))
    found = queries.get(caller, row.id, model=True)
    sessions = list(Session.objects.filter(environment=row).order_by("-created")[:_TASKS])
    tasks = _tasks(row.id, sessions)
    secrets = secret_texts.of_everything(caller, row.id, tasks)
    file = tempfile.SpooledTemporaryFile(1 << 20)  # noqa: SIM115 - the caller closes it
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            report = _Report(archive, secrets)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            report.text("README.txt", _README.format(name=row.name, at=at, tasks=_TASKS))
            for name, tell in {
                "environment.json": lambda: _environment(row, found),
                "model.json": lambda: _models(caller, found, sessions),
                "packages.json": lambda: [asdict(package) for package in sorted(packages.pinned(row.id))],
                "lock.json": lambda: (packages.lock_of(row.id) or Lock.made([])).as_json(),
                "health.json": lambda: _health(row.id, found),
                "doctor.json": lambda: [_finding(one) for one in examine()] if caller.is_admin else None,
            }.items():
                report.data(name, tell)
            for task in tasks:
                _task(report, task)
            _servers(report, caller, row.id)
    except BaseException:
        file.close()
        raise
    record(caller, "environment.report", row.id, row.name)
    file.seek(0)
    return file


class _Report:
    """An archive whose members are masked."""

    def __init__(self, archive: zipfile.ZipFile, secrets: Secrets) -> None:
        self._archive = archive
        self._secrets = secrets
        self._names: set[str] = set()

    def text(self, name: str, text: str) -> None:
        """A member; its name is masked, too, and unlike all others."""
        name = re.sub(r"[^\w./-]+|\.\.", "-", self._secrets.text(name))
        while name in self._names:
            name = f"again-{name}"
        self._names.add(name)
        self._archive.writestr(name, self._secrets.text(text).encode("utf-8", "backslashreplace"))

    def data(self, name: str, tell: Any) -> None:
        """Plain data as JSON; what cannot be told says why instead. Nothing for None."""
        try:
            value = tell()
        except VetroError as error:
            value = {"missing": error.message}
        if value is not None:
            with deep_calls():
                # Masked before it is written: JSON spells texts in its own way.
                told = self._secrets.data(value)
                self.text(name, json.dumps(told, indent=1, ensure_ascii=False, default=str))


def _environment(row: Environment, found: queries.ListedEnvironment) -> dict[str, Any]:
    own = cloud_settings.selection(config(), row.cloud)
    return {
        "id": row.id,
        "name": row.name,
        "project_id": row.project_id,
        "status": found.status,
        "version": found.version,
        "created": found.created,
        "changed": found.changed,
        "stopped": sorted(power.on_purpose(row.stopped)),
        "cloud": own.text,
        "simulated": not own.executes,
        "vetro": __version__,
        "engine": engine_version(),
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def _models(caller: Caller, found: queries.ListedEnvironment, sessions: list[Session]) -> dict[str, Any]:
    deployed = deployed_objects(found.model or {})
    told = {"deployed": deployed, "newest": (found.model or {}).get("Objects")}
    told |= {f"draft {s.id} ({s.state})": drafts.root_of(s, found) for s in sessions if s.state == Session.OPENED}
    names = redaction.of_roots(caller, found, *told.values())
    return {name: conceal(without_password(root), names) for name, root in told.items()}


def _health(environment_id: str, found: queries.ListedEnvironment) -> dict[str, Any]:
    told = watch.of_environment(environment_id)
    parts = watch.components(environment_id, told, deployed_objects(found.model or {}))
    return {
        "environment": None if told is None else {"state": told.state.value, "text": told.text, "since": told.since},
        "components": [
            {"id": one.id, "state": one.told.state.value, "text": one.told.text, "checks": list(one.checks)}
            for one in parts
        ],
        "changes": watch.changes(environment_id, 100),
    }


def _finding(found: Diagnostic) -> dict[str, Any]:
    about = {"topic": found.code, "name": found.subject or "", "level": found.severity}
    return {**about, "text": found.message, "hint": found.hint or ""}


def _tasks(environment_id: str, sessions: list[Session]) -> list[Task]:
    """The newest tasks, and the newest plans: those belong to drafts."""
    work = Task.objects.filter(environment_id=environment_id).order_by("-created", "-id")[:_TASKS]
    plans = Task.objects.filter(kind="plan", session_id__in=[s.id for s in sessions]).order_by("-created", "-id")
    return list({task.id: task for task in [*work, *plans[:_TASKS]]}.values())


def _task(report: _Report, task: Task) -> None:
    folder = f"tasks/{task.created:%Y%m%d-%H%M%S}-{task.kind}-{task.id[:8]}"
    report.data(
        f"{folder}/task.json",
        lambda: {
            "id": task.id,
            "kind": task.kind,
            "state": task.state,
            "action": without_password(task.action),
            "error": task.error,
            "result": without_password(task.result),
            "cancel": task.cancel,
            "engine": task.engine,
            "attempts": task.attempts,
            "failures": task.failures,
            "created": task.created,
            "started": task.started,
            "finished": task.finished,
        },
    )
    rows, _ = log.within(log.lines(task.id).reverse(), _LINES)
    lines = [f"{line.created.isoformat()} {line.level:7} {_about(line)}{line.text}\n" for line in reversed(rows)]
    report.text(f"{folder}/log.txt", "".join(lines))
    report.data(f"{folder}/journal.json", lambda: list(_effects(task.id))[-_EFFECTS:])


def _about(line: Any) -> str:
    script = line.details.get("script") if line.kind == "output" and isinstance(line.details, Mapping) else ""
    return f"[{line.entity_id}] {script + ': ' if script else ''}"


def _effects(task_id: str) -> Iterator[dict[str, Any]]:
    """What a task did outside, as far as its journal is kept. Answers may be anything, so they are left out."""
    try:
        entries = DbJournal(task_id).entries()
    except NoSuchTask:
        return
    for e in entries:
        times = {"begun": e.begun, "ended": e.ended}
        yield {"key": e.key, "kind": e.kind, "about": without_password(dict(e.about)), **times, "error": e.error}


def _servers(report: _Report, caller: Caller, environment_id: str) -> None:
    try:
        there = logs.servers(caller, environment_id)
        sources = logs.sources(caller, environment_id)
    except VetroError as error:
        why = error.message
        report.data("servers.json", lambda: {"missing": why})
        return
    report.data("servers.json", lambda: [{"id": s.id, "name": s.name, "status": s.status} for s in there])
    until = time.monotonic() + _PATIENCE
    for server in there[:_SERVERS]:
        for source in sources:
            try:
                if time.monotonic() > until:  # each may let us wait, and somebody waits for the report
                    raise Unavailable(Text("the servers asked before took too long to answer"))
                text = "\n".join(logs.read(caller, environment_id, server.id, source, most=logs.MOST).lines)
            except VetroError as error:
                text = f"(it cannot be read: {error.message})"
            report.text(f"servers/{server.name}-{server.id[:8]}-{source}.txt", text)
