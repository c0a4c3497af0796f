"""The packages of an environment: those that its next task gets, those that its last one used, and its locks.

A `vetro.packages.lock.Lock` says what a deployment used and why; every state has one. `EnvironmentPackage` lists the
newest one's, in rows because packages are found by it; between deployments the owner of a workspace may put others in
their place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from types import ModuleType
from typing import Any, Final

from vetro.diagnostics import Text
from vetro.engine.version import engine_version
from vetro.packages.lock import Lock, LockedPackage, canonical, parse_lock
from vetro.server.caller import SYSTEM, Caller
from vetro.server.catalog import blobs
from vetro.server.catalog.models import Package
from vetro.server.config.config import Config
from vetro.server.environments.errors import LockIncomplete
from vetro.server.environments.models import Environment, EnvironmentPackage, Session, State
from vetro.server.environments.models import Lock as LockRow
from vetro.server.environments.queries import ListedEnvironment
from vetro.server.queries import fetch, write
from vetro.server.tasks import clock, spec
from vetro.server.tasks.models import Task

#: A lock that no state has any more is dropped so much later: a transaction may be about to use it.
KEPT: Final = timedelta(days=1)
#: How long a row is as if it had just been used: many environments have the same lock, and would wait for each other.
_FRESH: Final = timedelta(hours=1)

#: By hand, as all that each task asks: Django takes up to half a millisecond to build one (docs/measurements.md).
_PINNED: Final = (
    "SELECT fqn, version, digest FROM environments_environmentpackage WHERE environment_id = %s ORDER BY id"
)
#: Not those of other projects: whatever somebody does with equal archives is no concern of theirs.
_DEPLOYED: Final = """
UPDATE catalog_package SET deployed = TRUE WHERE NOT deployed AND (project_id = %s OR is_public)
  AND digest IN (SELECT digest FROM environments_environmentpackage WHERE environment_id = %s)
"""


def pinned(environment_id: str) -> list[LockedPackage]:
    """What the last task used, or was put in its place for the next one."""
    return [LockedPackage(*row) for row in fetch(_PINNED, [environment_id])]


def uses(environment_id: str, package: str) -> bool:
    """Whether a package that the last task used requires this one. Of one that the catalog does not have, as those of
    folders on this machine, that is believed: whoever asks the package itself gets the truth.
    """
    digests = {one.digest for one in pinned(environment_id)}
    known = Package.objects.filter(digest__in=digests).values_list("digest", "required")
    required = dict(known)
    return any(package in (required.get(digest, {package: ""}) or ()) for digest in digests)


def resolved(
    caller: Caller,
    found: ListedEnvironment,
    model: Mapping[str, Any],
    *,
    lock: Lock | None = None,
    lifted: Collection[str] = (),
    wanted: Mapping[str, str] | None = None,
) -> Any:
    """The packages for a task over ``model`` as the environment's project sees them: `Chosen`, rows with reasons.

    ``lock``: exactly what it says, for all that it knows of; what else is deployed now is there besides, so that it can
    be destroyed. ``lifted``: packages that are chosen anew, the newest that fit; ``wanted``: packages in versions that
    are to be used, whatever objects say. Raises `Invalid`: which class has none, what there is; `LockIncomplete`.
    """
    choice, present = _choice(), pinned(found.id)
    if lock is None:
        wishes = choice.Wishes(lifted=lifted, wanted=wanted or {})
        return choice.choose_for_model(found.project_id, model, present, wishes)
    require(lock)
    wishes = choice.Wishes(present, lock.requirements(), lifted, wanted or {})
    return choice.choose_for_model(found.project_id, model, lock.packages, wishes)


def chosen(caller: Caller, found: ListedEnvironment, model: Mapping[str, Any], lock: Lock | None = None) -> list[Any]:
    """Rows of the packages for a task over ``model``: see `resolved`."""
    return list(resolved(caller, found, model, lock=lock).rows)


def of_project(project_id: str, model: Mapping[str, Any]) -> list[Any]:
    """Rows of the packages for a model that is no environment's, as a project sees them. Raises `Invalid`."""
    return list(_choice().packages_for_model(SYSTEM, model, project_id=project_id))


# -- locks -------------------------------------------------------------------------------------------------------------


def lock_of(environment_id: str, number: int | None = None) -> Lock | None:
    """The lock of an environment's newest state, or of a numbered one; None where nothing was deployed for it."""
    states = State.objects.filter(environment_id=environment_id)
    states = states.order_by("-number") if number is None else states.filter(number=number)
    body = states.values_list("lock__body", flat=True).first()
    return None if body is None else parse_lock(body)


def of_session(session: Session | None) -> Lock | None:
    """The lock that a session is to be deployed with."""
    return None if session is None or session.lock is None else parse_lock(session.lock.body)


def lock_for(chosen: Any, config: Config | None = None) -> Lock:
    """The lock of packages that were chosen (`resolved`), as if they were deployed here now."""
    packages = [LockedPackage(r.fqn, r.version, r.digest, spec.source_of(r)) for r in chosen.rows]
    configs = spec.class_configs(config) if config is not None else ()
    return _lock(packages, chosen.resolution, engine_version(), configs)


def store(lock: Lock) -> LockRow:
    """The row of a lock, inside of the transaction that uses it."""
    row = LockRow(digest=lock.digest(), body=lock.text())
    since, values = clock.sql(-_FRESH.total_seconds())
    if fetch(f"SELECT 1 FROM environments_lock WHERE digest = %s AND used > {since}", [row.digest, *values]):
        return row
    mine = LockRow.objects.filter(digest=row.digest)
    if not mine.update(used=clock.after()):
        LockRow.objects.bulk_create([row], ignore_conflicts=True)
        mine.update(used=clock.after())
    return row


def drop_unused() -> int:
    """Drops the locks that nothing has any more; how many."""
    old = LockRow.objects.filter(states=None, sessions=None, used__lt=clock.read() - KEPT)
    return old.delete()[0]


def gone(lock: Lock) -> list[LockedPackage]:
    """The packages of a lock whose archives are not stored any more."""
    missing = []
    for package in lock.packages:
        try:
            blobs.local_file(package.digest)
        except blobs.BlobMissing:
            missing.append(package)
    return missing


def require(lock: Lock) -> None:
    """Raises `LockIncomplete` where archives of a lock are gone: which."""
    missing = gone(lock)
    if missing:
        names = ", ".join(f"{package} (SHA-256 {package.digest[:12]}…)" for package in missing[:10])
        raise LockIncomplete(
            Text("archives of the lock are gone: {names}", names=names),
            details={"missing": [{"name": p.name, "version": p.version, "digest": p.digest} for p in missing]},
        )


def keep(
    environment: Environment,
    task: Task,
    model: Mapping[str, Any],
    before: LockRow | None = None,
    *,
    deployed: bool = True,
) -> tuple[LockRow, list[LockedPackage]]:
    """Locks the packages of a task that left ``model``; ``deployed`` marks them: they cannot be changed any more. The
    lock's row, and what is `pinned` now.

    Those that nothing in the model needs are left out, if the model says which it used. ``before``: the lock of the
    state before, if there is one.
    """
    sources = {(str(p), p.digest): p.source for p in parse_lock(before.body).packages} if before is not None else {}
    used = []
    for entry in spec.packages_of(task):
        package = LockedPackage(entry["fqn"], entry["version"], entry["digest"])
        source = sources.get((str(package), package.digest)) or entry.get("source", "")
        used.append(LockedPackage(package.name, package.version, package.digest, source))
    whole = _lock(used, spec.resolution_of(task), task.engine or engine_version(), task.spec.get("configs") or ())
    narrowed = whole.narrowed(model)
    row = adopt(environment.id, narrowed)
    if deployed:
        write(_DEPLOYED, [environment.project_id, environment.id])
    return row, [LockedPackage(*one) for one in _rows_of(narrowed)]


def adopt(environment_id: str, lock: Lock) -> LockRow:
    """Makes a lock that of an environment: its next task goes on with these packages."""
    wanted = _rows_of(lock)
    present = sorted(fetch(_PINNED, [environment_id]))
    if present != wanted:  # most tasks go on with what there is
        if present:
            EnvironmentPackage.objects.filter(environment_id=environment_id).delete()
        EnvironmentPackage.objects.bulk_create(
            EnvironmentPackage(environment_id=environment_id, fqn=fqn, version=version, digest=digest)
            for fqn, version, digest in wanted
        )
    return store(lock)


def _rows_of(lock: Lock) -> list[tuple[str, str, str]]:
    """The packages of a lock, in the order in which they are `pinned`."""
    return sorted((p.name, p.version, p.digest) for p in lock.packages)


def listed(used: Iterable[Mapping[str, str]]) -> Lock:
    """A lock of which nothing is known but its packages: {fqn, version, digest}."""
    return Lock.made(LockedPackage(e["fqn"], e["version"], e["digest"], "environment") for e in used)


def archives() -> set[LockedPackage]:
    """All that some state or session needs, also earlier states: they can be gone back to."""
    rows = EnvironmentPackage.objects.values_list("fqn", "version", "digest").distinct()
    found = {LockedPackage(*row) for row in rows}
    for body in LockRow.objects.values_list("body", flat=True).iterator(chunk_size=500):
        found.update(parse_lock(body).packages)
    return found


def _lock(packages: Iterable[LockedPackage], resolution: Iterable[Any], engine: str, configs: Iterable[Any]) -> Lock:
    content = hashlib.sha256(canonical(list(configs)).encode()).hexdigest()
    return Lock.made(packages, resolution, engine=engine, library=_choice().library(), configs=content)


def _choice() -> ModuleType:
    from vetro.server.catalog import dependencies  # with the languages: lists of environments do not wait for them

    return dependencies
