"""Environments as archives: `export_environment`; `imports` takes them back.

::

    environment.json   {format, id, name, created, packages: [{name, version, digest}], driver: of its servers,
                       locks: {number of a state: SHA-256 of its lock}}
    locks/             these locks, named by their digests (`vetro.packages.lock`)
    packages/          the archives of all packages that they name, named by their digests
    model-<n>.json     the kept states of the model
    tasks/<n>/         task.json, outcome.json of the task that left state n, as far as it is known
    reports.jsonl      their status lines

Workspaces of the first versions kept an environment so. Models are in clear: whoever may read the environment may have
its archive, nobody else.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, Final, cast

from vetro.muranopl.runtime.stacks import deep_calls
from vetro.packages.lock import Lock, parse_lock
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.catalog import blobs
from vetro.server.environments import packages, queries
from vetro.server.environments.archive import FORMAT
from vetro.server.environments.models import Environment, State
from vetro.server.tasks import log
from vetro.server.tasks.models import Report, Task

#: Bytes of an archive that are kept in memory.
_IN_MEMORY: Final = 1 << 20


def export_environment(caller: Caller, environment_id: str) -> IO[bytes]:
    """The environment as a ZIP archive, in a file that the caller closes. Raises `NotFound`, `NotYours`."""
    found = queries.get(caller, environment_id)
    with contextlib.ExitStack() as opened:
        target = opened.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))
        _write(target, found)
        record(caller, "environment.export", found.id, found.name)
        opened.pop_all()
    target.seek(0)
    return cast(IO[bytes], target)


def _write(target: Any, found: queries.ListedEnvironment) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        locks = _locks_of(found.id)
        listed = _write_packages(archive, found, locks.values())
        driver = (Environment.objects.values_list("cloud", flat=True).get(id=found.id) or {}).get("kind")
        _write_json(
            archive,
            "environment.json",
            {
                "format": FORMAT,
                "id": found.id,
                "name": found.name,
                "created": found.created.timestamp(),
                "packages": listed,
                "locks": {str(number): lock.digest() for number, lock in locks.items()},
                **({"driver": driver} if driver else {}),
            },
        )
        for digest, text in sorted({lock.digest(): lock.text() for lock in locks.values()}.items()):
            archive.writestr(_entry_at(f"locks/{digest}.json"), text)
        numbers = {}
        states = State.objects.filter(environment_id=found.id)
        # One after the other: each may be large.
        for number in list(states.order_by("number").values_list("number", flat=True)):
            state = states.filter(number=number).first()
            if state is not None:
                _write_json(archive, f"model-{state.number}.json", state.model)
                numbers[state.task_id] = state.number
        for task_id in numbers:
            task = Task.objects.filter(id=task_id, environment_id=found.id).first()
            if task is not None:
                _write_task(archive, numbers[task.id], task)
        reports = _entry_at("reports.jsonl", zipfile.ZIP_DEFLATED)
        with archive.open(reports, "w", force_zip64=True) as lines:
            for line in _report_lines(numbers):
                lines.write(line.encode("utf-8", "surrogatepass"))


def _locks_of(environment_id: str) -> dict[int, Lock]:
    """The locks of the states that are kept, by number."""
    rows = State.objects.filter(environment_id=environment_id).exclude(lock=None).order_by("number")
    return {number: parse_lock(body) for number, body in rows.values_list("number", "lock__body")}


def _write_packages(
    archive: zipfile.ZipFile, found: queries.ListedEnvironment, locks: Iterable[Lock]
) -> list[dict[str, str]]:
    used = sorted(packages.pinned(found.id))
    for package in used:
        archive.writestr(_entry_at(f"packages/{package.digest}.zip"), blobs.get(package.digest))
    older = {package.digest for lock in locks for package in lock.packages} - {package.digest for package in used}
    for digest in sorted(older):
        with contextlib.suppress(blobs.BlobMissing):  # that state cannot be deployed again here, either
            archive.writestr(_entry_at(f"packages/{digest}.zip"), blobs.get(digest))
    return [{"name": one.name, "version": one.version, "digest": one.digest} for one in used]


def _write_task(archive: zipfile.ZipFile, number: int, task: Task) -> None:
    spec = {key: value for key, value in (task.spec or {}).items() if key not in ("identities", "environment")}
    _write_json(archive, f"tasks/{number}/task.json", {**spec, "packages": []})
    begun = task.started or task.created
    outcome = {
        "state": task.state,
        "kind": task.kind,
        "method": spec.get("method"),
        "error": task.error,
        "result": task.result,
        "started": begun.timestamp(),
        "ended": (task.finished or begun).timestamp(),
        "cpu_seconds": 0.0,
    }
    _write_json(archive, f"tasks/{number}/outcome.json", outcome)


def _report_lines(numbers: Mapping[str, int]) -> Iterator[str]:
    for row in Report.objects.filter(task__in=list(numbers), kind="report").order_by("seq").iterator(chunk_size=500):
        entry = {
            "task": numbers[row.task_id],
            "key": row.key,
            "id": row.entity_id or None,
            "text": "".join(log.whole(row)),
            "details": row.details,
            "level": row.level,
            "at": row.created.timestamp(),
        }
        yield f"{json.dumps(entry, ensure_ascii=False)}\n"


def _write_json(archive: zipfile.ZipFile, path: str, value: Any) -> None:
    with deep_calls():
        text = json.dumps(value, ensure_ascii=False, indent=1)
    archive.writestr(_entry_at(path), text.encode("utf-8", "surrogatepass"))


def _entry_at(path: str, compression: int = zipfile.ZIP_STORED) -> zipfile.ZipInfo:
    """An entry with a fixed time: equal content gives an equal archive."""
    entry = zipfile.ZipInfo(path)
    entry.compress_type = compression
    return entry
