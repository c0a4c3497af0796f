"""What the end of a task means for its environment: a new state, a new version, the session's end (API.md 5.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import DEFAULT_DB_ALIAS

from vetro.clouds.interface import Owner
from vetro.engine.outcome import Outcome
from vetro.model.edit import follow
from vetro.model.environment import deployed_objects
from vetro.model.tree import by_id
from vetro.server.audit.record import record
from vetro.server.caller import SYSTEM
from vetro.server.environments import offers, packages, power, removal, simulation, usage
from vetro.server.environments.models import Environment, Lock, Session, State
from vetro.server.environments.service import announce, model_of
from vetro.server.queries import fetch, on_sqlite
from vetro.server.secrets.encryption import loads
from vetro.server.setup import config
from vetro.server.tasks.models import Task

#: States that the end of one task drops.
_DROPPED = 500
#: Drafts that outlive a repair.
_DRAFTS = 50
#: By hand, as all that each task asks: Django takes up to half a millisecond to build one (docs/measurements.md).
#: What else is asked of the environment's rows is of this task alone, so it may be as before the lock.
_COLUMNS = (
    *("id", "project_id", "name", "version", "region", "cloud", "stopped", "offered"),
    *("task_id", "failure"),
)
_ROW = f"""
SELECT {", ".join(f"e.{name}" for name in _COLUMNS)},
  EXISTS (SELECT 1 FROM dispatch_journalnote n WHERE n.task_id = %s AND n.kind = 'track'),
  (SELECT s.answers FROM environments_session s WHERE s.id = %s AND s.environment_id = e.id)
FROM environments_environment e WHERE e.id = %s"""
_BEFORE = """
SELECT s.id, s.number, s.answers, s.lock_id, l.body FROM environments_state s
LEFT JOIN environments_lock l ON l.digest = s.lock_id WHERE s.environment_id = %s ORDER BY s.number DESC LIMIT 1
"""


def task_ended(task: Task, outcome: Outcome) -> None:
    """Called inside the transaction that ends a deployment, deletion, action, or a task that switched servers.

    Whatever the outcome, the environment's version rises by one and it is free for the next task; after a deletion
    that succeeded it is gone. Where servers were only switched there is no new state, and drafts stay valid. Nothing
    happens when it was abandoned meanwhile.
    """
    found = fetch(f"{_ROW}{'' if on_sqlite() else ' FOR UPDATE OF e'}", [task.id, task.session_id, task.environment_id])
    if not found:  # what this task wrote down after that is nobody's, too
        simulation.forget_quietly(_owner(task), (task.spec or {}).get("cloud") or {})
        return
    row, tracked, answers = _read(found[0])
    if row.task_id != task.id or task.kind == "snapshot":  # what that means its procedure knows
        return
    done = outcome.state == "done"
    well = done and not task.errors  # whoever reports an error says that it did not go well
    usage.count(row.id, task, tracked)
    power.settle(row, task)
    if task.kind == "power":
        announce(row.project_id, row.id, "power", task=task.id)
        return
    if done and (task.kind == "destroy" or _emptied(task)):
        simulation.forget_quietly(_owner(task), row.cloud)
    if task.kind == "destroy" and done:
        removal.remove(row.id)
        record(SYSTEM, "environment.destroyed", task.environment_id, row.name, task=task.id)
        announce(task.project_id, task.environment_id, "removed", task=task.id)
        return
    before = _before(row)
    unfinished = row.failure not in ("", Environment.ACTION_FAILED)
    # An action that goes well on what a deployment left unfinished does not finish it.
    finished = well and (task.kind in ("deploy", "repair") or not unfinished)
    row.version += 1
    failure = "" if well else Session.DELETE_FAILED if task.kind == "destroy" else Session.FAILED
    if well or task.kind != "action":
        row.failure = failure
    elif not unfinished:
        row.failure = Environment.ACTION_FAILED
    row.offered = True  # `offers.refresh` follows
    row.save(update_fields=["version", "failure", "offered"])
    model = _model(row, task, outcome, before)
    if answers is None and before is not None:
        answers = before.answers
    lock, pinned = (None if before is None else before.lock), None
    if task.kind != "destroy" and outcome.model is not None:
        # After a failure the environment keeps what it used, but an author may mend the package without a new version.
        lock, pinned = packages.keep(row, task, outcome.model, lock, deployed=finished)
    State.objects.create(
        environment=row, number=row.version, model=model, answers=_present(answers, model), lock=lock, task_id=task.id
    )
    offers.refresh(row, model, pinned)
    if task.session_id:
        mine = Session.objects.filter(id=task.session_id, environment=row)
        mine.update(state=failure or Session.DEPLOYED, updated=datetime.now(UTC))
    if task.kind == "repair":
        _rebase(row, before, model)
    power.forget(row, model)
    _forget(row)
    announce(row.project_id, row.id, row.failure or "deployed", task=task.id, version=row.version)


def _read(values: Sequence[Any]) -> tuple[Environment, bool, Any]:
    """The environment, whether the task tracked something, and what its session answers; of `_ROW`."""
    *columns, tracked, answers = values
    row = dict(zip(_COLUMNS, columns, strict=True))
    row |= {"cloud": json.loads(row["cloud"]), "stopped": json.loads(row["stopped"]), "offered": bool(row["offered"])}
    environment = Environment.from_db(DEFAULT_DB_ALIAS, list(row), list(row.values()))
    return environment, bool(tracked), None if answers is None else loads(answers)


def _before(row: Environment) -> State | None:
    """The newest state. Its model is read where it is wanted: it is large, and seldom is."""
    for id, number, answers, digest, body in fetch(_BEFORE, [row.id]):
        lock = None if digest is None else Lock(digest=digest, body=body)
        names = ["id", "environment_id", "number", "answers", "lock_id"]
        state = State.from_db(
            DEFAULT_DB_ALIAS, names, [id, row.id, number, None if answers is None else loads(answers), digest]
        )
        state.lock = lock
        return state
    return None


def _owner(task: Task) -> Owner:
    return Owner(task.project_id, str(task.environment_id), task.user_id or "system")


def _emptied(task: Task) -> bool:
    """Whether it was to destroy everything and leave the environment (`deploy.empty`)."""
    return task.kind == "deploy" and ((task.spec or {}).get("model") or {}).get("Objects") is None


def _rebase(row: Environment, before: State | None, model: Mapping[str, Any]) -> None:
    """A repair takes nobody's draft away: those of the state before are drafts of this one.

    Upgrades are not: they were worked out from what objects remembered before, and would forget what it made.
    """
    drafts = Session.objects.filter(environment=row, state=Session.OPENED, version=row.version - 1, upgrade=None)
    old = deployed_objects(before.model) if before is not None else None
    for session in drafts.order_by("-updated")[:_DRAFTS]:
        if session.draft is not None and follow(session.draft, old, model.get("Objects")):
            session.revision += 1
        session.version = row.version
        session.save(update_fields=["version", "revision", "draft"])


def _model(row: Environment, task: Task, outcome: Outcome, before: State | None) -> dict[str, Any]:
    if task.kind != "destroy" and outcome.model is not None and outcome.model.get("Objects") is not None:
        return {key: value for key, value in outcome.model.items() if key != "ObjectsCopy"}
    present = dict(before.model) if before is not None else {}
    if task.kind == "destroy":
        # Nobody knows what of it is gone: all of it is wanted until it is deleted for good.
        return present
    begun = (task.spec or {}).get("model") or {}
    wanted = begun.get("Objects")
    if wanted is None and outcome.state == "done":  # `deploy.empty`
        return {"Objects": model_of(row.id, row.name, {"region": row.region} if row.region else {})}
    # It did not get as far as loading: what was wanted stays, so that it can be mended, beside what exists.
    remembered = begun.get("Attributes", present.get("Attributes"))  # under the names that an upgrade gave its classes
    return {**present, "Objects": wanted, "ObjectsCopy": deployed_objects(present), "Attributes": remembered}


def _present(answers: Mapping[str, Any] | None, model: Mapping[str, Any]) -> dict[str, Any] | None:
    if not answers:
        return None
    ids = by_id(model.get("Objects"))
    return {key: value for key, value in answers.items() if key in ids} or None


def _forget(row: Environment) -> None:
    """Drops states beyond those that are kept, and drafts of long ago that are of no use to anybody."""
    kept = config()["retention.states"]
    if kept and row.version >= kept:
        # An import, or a setting that was lowered, leaves many: each end of a task drops some of them.
        old = State.objects.filter(environment=row, number__lte=row.version - kept).order_by("number")
        State.objects.filter(id__in=list(old.values_list("id", flat=True)[:_DROPPED])).delete()
        Session.objects.filter(environment=row, version__lt=row.version - kept).delete()
