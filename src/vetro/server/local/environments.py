"""Environments of a workspace as its commands see them: their state in one word, their packages, giving a task up.

What runs and ends tasks is imported inside functions: with it a list takes twice the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q

from vetro.engine.outcome import Outcome
from vetro.model.copies import undeployed
from vetro.model.environment import applications_of, deployed_objects
from vetro.muranopl.declarations.versions import parse_version
from vetro.packages.lock import LockedPackage
from vetro.server.environments import fixed_properties, packages, queries
from vetro.server.environments.models import Environment, EnvironmentPackage, State
from vetro.server.local.workspace import Workspace
from vetro.server.tasks.claim import take
from vetro.server.tasks.completion import LASTING, finish
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import Task

#: Seconds of a lease that is ended at once.
_SHORT = 60.0


def described(workspace: Workspace, environment_id: str) -> dict[str, Any]:
    """{status, applications, driver}. ``status``: new, deploying, interrupted, ready, destroyed, or how the last task
    ended: failed, cancelled…"""
    found = queries.get(workspace.caller, environment_id, model=True)
    applications = applications_of((found.model or {}).get("Objects") or {})
    own = Environment.objects.values_list("cloud", flat=True).get(id=environment_id)
    return {
        "status": _status(workspace, environment_id, found.model or {}),
        "applications": len(applications),
        "driver": own.get("kind") or "",
    }


def open_task(environment_id: str) -> Task | None:
    """The task of an environment that was begun and has not ended."""
    rows = Task.objects.filter(environment_id=environment_id).exclude(state__in=Task.FINAL)
    return rows.order_by("created", "id").first()


def _status(workspace: Workspace, environment_id: str, model: Mapping[str, Any]) -> str:
    if open_task(environment_id) is not None or queries.get(workspace.caller, environment_id).procedure_id:
        return "deploying" if workspace.lock(environment_id).holder() is not None else "interrupted"
    tasks = Task.objects.filter(environment_id=environment_id, kind__in=LASTING).order_by("-created", "-id")
    tasks = tasks.exclude(~Q(state="done"), kind="action")  # one that failed leaves what was before
    last = tasks.values_list("state", flat=True).first()
    states = State.objects.filter(environment_id=environment_id).order_by("-number")
    made_by = states.values_list("task_id", flat=True).first()
    if last is None:  # a new one, or one that came in an archive, and counts as deployed as that says
        return "ready" if applications_of(deployed_objects(model)) else "new"
    if not made_by:  # its cloud was cleaned
        return "new"
    failed = Environment.objects.filter(id=environment_id).values_list("failure", flat=True).first()
    undone = states.values_list("undone_of", flat=True).first() is not None
    if undone and not failed:  # what the last task did was taken back
        last = "done"
    if last != "done":
        return last
    return "ready" if applications_of(model.get("Objects")) else "destroyed"


def stored(packages: Iterable[Any]) -> list[LockedPackage]:
    """Keeps the archives of these loaded packages: an upgrade may use them, whatever the catalog has."""
    return [LockedPackage(p.name, str(p.version), _put(p), "environment") for p in packages]


def _put(package: Any) -> str:
    """Keeps the archive of a loaded package; its digest."""
    from vetro.server.catalog import blobs

    return blobs.put(package.blob)


@transaction.atomic
def pin(environment_id: str, packages: Iterable[Any]) -> list[str]:
    """Has the next task of an environment use these packages, whatever the catalog has; others of the same name and
    major version are replaced. What changed, as text. ``packages`` are loaded ones (`vetro.packages`)."""
    rows = EnvironmentPackage.objects.filter(environment_id=environment_id)
    there = list(rows.values_list("id", "fqn", "version", "digest"))
    changed = []
    for package in packages:
        version, digest = str(package.version), _put(package)
        # What a header asks for that is gone becomes another version of the same major, so those make room.
        major = package.version.major
        before = [row for row in there if row[1] == package.name and parse_version(row[2]).major == major]
        if [row[2:] for row in before] == [(version, digest)]:
            continue
        known = any(row[2] == version for row in before)
        changed.append(f"{'changed' if known else 'added'} {package.name} {version}")
        rows.filter(id__in=[row[0] for row in before]).delete()
        EnvironmentPackage.objects.create(
            environment_id=environment_id, fqn=package.name, version=version, digest=digest
        )
    return changed


@transaction.atomic
def forget_resources(workspace: Workspace, environment_id: str) -> bool:
    """Takes out of the newest state that anything of it is deployed, for a cloud that was cleaned; whether there was
    something. The history stays; nothing is done while a task is open, which goes on from what it knows."""
    from vetro.server.environments.archive import has_resources

    found = queries.get(workspace.caller, environment_id, model=True)
    model = found.model or {}
    if open_task(environment_id) is not None or not has_resources(model):
        return False
    classes = fixed_properties.classes_of([package.digest for package in packages.pinned(environment_id)])
    row = Environment.objects.get(id=environment_id)
    row.version += 1
    row.save(update_fields=["version"])
    before = State.objects.filter(environment=row).order_by("-number")[0]
    objects = {"Objects": undeployed(model["Objects"], classes)}
    State.objects.create(environment=row, number=row.version, model=objects, lock=before.lock)
    return True


def give_up(task: Task) -> bool:
    """Ends an interrupted task without running it; whether its last checkpoint, if it has one, became the newest state.

    Nothing is done outside: what the task had made stays as it is. Hold the lock of the environment.
    """
    error: Mapping[str, Any] = {"kind": "cancelled", "message": "the task was given up", "names": []}
    model = DbJournal(task.id).model()
    lease = take(task.id, "abandoned", _SHORT)
    if lease is None:  # it waited for a person
        Task.objects.filter(id=task.id, state=Task.NEEDS_PERSON).update(state=Task.QUEUED)
        lease = take(task.id, "abandoned", _SHORT)
    if lease is not None:
        finish(lease.held, Outcome("cancelled", model=model, error=error))
    return model is not None
