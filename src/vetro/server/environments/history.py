"""The past of an environment and the changes that wait: states, differences, restoring, discarding, cloning."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from vetro.diagnostics import Text
from vetro.model.copies import Classes, renewed, undeployed
from vetro.model.differences import Difference, diff
from vetro.model.edit import NotRestorable, OwnerMissing, take_back
from vetro.model.environment import applications_of, deployed_objects, view_of
from vetro.model.secrets import Secret
from vetro.model.tree import by_id
from vetro.packages.lock import parse_lock
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.environments import drafts, fixed_properties, limits, packages, queries, service, sessions
from vetro.server.environments.models import Session, State
from vetro.server.errors import Conflict, Invalid, NotFound
from vetro.server.ids import new_id, stamp
from vetro.server.quotas import enforcement
from vetro.server.secrets.encryption import dumps
from vetro.server.tasks.models import Task

#: States listed at once, at most.
MOST = 1000


def states(caller: Caller, environment_id: str, *, before: int | None = None, limit: int = 50) -> list[dict[str, Any]]:
    """The states of an environment, newest first: {number, created, task_id, kind, state, errors, user_id,
    finished, undone_of}.

    A state that took others back is of kind ``undo``; ``undone_of`` is the first of those.

    ``before``: only older ones than this number. The fields of the task are None for the first state and where the
    task is not known any more.
    """
    found = queries.get(caller, environment_id)
    rows = State.objects.filter(environment_id=found.id).order_by("-number")
    if before is not None:
        rows = rows.filter(number__lt=before)
    listed = list(rows.values("number", "created", "task_id", "undone_of")[: max(1, min(limit, MOST))])
    tasks: dict[str, Any] = {
        task["id"]: task
        for task in Task.objects.filter(id__in=[row["task_id"] for row in listed]).values(
            "id", "kind", "state", "errors", "user_id", "finished"
        )
    }
    return [
        {
            "number": row["number"],
            "created": stamp(row["created"]),
            "task_id": row["task_id"] or None,
            "kind": "undo" if row["undone_of"] is not None else tasks.get(row["task_id"], {}).get("kind"),
            "state": tasks.get(row["task_id"], {}).get("state"),
            "errors": bool(tasks.get(row["task_id"], {}).get("errors")),
            "user_id": tasks.get(row["task_id"], {}).get("user_id"),
            "finished": stamp(tasks.get(row["task_id"], {}).get("finished")),
            "undone_of": row["undone_of"],
        }
        for row in listed
    ]


def state(caller: Caller, environment_id: str, number: int) -> dict[str, Any]:
    """The object model of a state as clients see models. Raises `NotFound`."""
    return view_of(_state(queries.get(caller, environment_id), number).model.get("Objects"))


def compare(
    caller: Caller, environment_id: str, older: int, newer: int, secret: Secret | None = None
) -> list[Difference]:
    """What changed from one state to another. Raises `NotFound`."""
    found = queries.get(caller, environment_id)
    one, other = _state(found, older), _state(found, newer)
    limits.check_comparable(one.model.get("Objects"), other.model.get("Objects"))
    return diff(one.model.get("Objects"), other.model.get("Objects"), secret)


def pending(caller: Caller, environment_id: str, session_id: str, secret: Secret | None = None) -> list[Difference]:
    """What deploying a session would change, compared with what is deployed now."""
    found = queries.get(caller, environment_id, model=True)
    session = sessions.readable(caller, found, session_id)
    present, draft = deployed_objects(found.model or {}), drafts.root_of(session, found)
    limits.check_comparable(present, draft)
    return diff(present, draft, secret)


def restore(caller: Caller, environment_id: str, number: int) -> Session:
    """A new session whose draft is an earlier state. Deploying it makes that state again, with its packages.

    What deployments wrote (``Out``) is as it is now for objects that exist, and left out for those that come back.
    Raises `LockIncomplete` where archives that it was deployed with are gone.
    """
    found = queries.get(caller, environment_id, model=True)
    earlier = _state(found, number)
    root = earlier.model.get("Objects")
    if root is None:
        raise NotFound(Text("State {number} has no objects.", number=number))
    present = deployed_objects(found.model or {})
    lock = None if earlier.lock is None else parse_lock(earlier.lock.body)
    if lock is not None:
        packages.require(lock)
    classes = fixed_properties.classes_for(caller, found, {"Objects": root, "ObjectsCopy": present}, lock)
    draft = undeployed(root, classes, by_id(present))
    size, stored = limits.check_model(draft), dumps({"Objects": draft})
    with transaction.atomic():
        session = sessions.open_session(caller, environment_id)
        if session.version != found.version:
            raise Conflict(Text("The environment was deployed meanwhile."), hint=Text("restore the state again"))
        enforcement.check_model(found.project_id, draft, size)
        session.draft = stored
        session.answers = earlier.answers
        session.lock = None if lock is None else packages.store(lock)
        session.revision = 1
        session.save()
        record(caller, "session.restore", session.id, found.name, environment=found.id, number=number)
        service.announce(found.project_id, found.id, "restored", kind="session", session=session.id)
    return session


def discard(caller: Caller, environment_id: str, session_id: str, object_id: str | None = None) -> None:
    """Takes back what a draft changes about one object and what it owns; without id: everything.

    A new object is removed, a removed one comes back, a changed one gets its old values. Raises `NotFound`, `Invalid`.
    """
    if object_id is None:
        with transaction.atomic():
            session, found = sessions.writable(caller, environment_id, session_id)
            session.draft, session.answers, session.lock, session.upgrade = None, None, None, None
            session.revision += 1
            session.save()
            record(caller, "session.discard", session.id, found.name, environment=found.id)
            service.announce(found.project_id, found.id, "discarded", kind="session", session=session.id)
        return
    before = queries.get(caller, environment_id, model=True)
    present = (before.model or {}).get("Objects")
    drafts.change(caller, environment_id, session_id, lambda root: _discard(root, present, object_id), what="discarded")


def clone(caller: Caller, environment_id: str, name: str, session_id: str = "") -> dict[str, str]:
    """A new environment in the caller's project with the same applications as a draft: {environment_id, session_id}.

    All ids are new; nothing is taken over that a deployment wrote.
    """
    wanted = limits.name_of(name, Text("Please, specify a name of the environment to create"), Text("Environment"))
    source = queries.get(caller, environment_id, model=True)
    root = drafts.root_for(caller, source, session_id)
    if root is None:
        raise NotFound(Text("The environment has no model any more."))
    classes = fixed_properties.classes_for(caller, source, {"Objects": root})
    return begin(caller, wanted, root, classes, source=source.id)


def begin(
    caller: Caller, name: str, root: dict[str, Any], classes: Classes, *, id: str | None = None, **told: Any
) -> dict[str, str]:
    """An environment called ``name`` with the applications of ``root`` as a draft.

    ``id``: the one that it is to have, and its objects keep theirs; None: all are new.
    """
    fresh = undeployed(root, classes)
    if id is None:
        id, fresh = new_id(), renewed(fresh, classes, new_id)
    given = {key: fresh[key] for key in ("region", "defaultNetworks") if fresh.get(key) is not None}
    made = service.model_of(id, name, {**given, "name": name})
    draft = {**made, "applications": applications_of(fresh)}
    size, stored = limits.check_model(draft), dumps({"Objects": draft})
    with transaction.atomic():
        row = service.insert(caller, id, name, given, {"Objects": made, "ObjectsCopy": None})
        enforcement.check_model(caller.project_id, draft, size)
        session = Session.objects.create(environment=row, user_id=caller.user_id, version=0, draft=stored, revision=1)
        record(caller, "environment.create", id, name, **told)
    return {"environment_id": id, "session_id": session.id}


def _state(found: queries.ListedEnvironment, number: int) -> State:
    row = State.objects.filter(environment_id=found.id, number=number).first() if 0 <= number < 1 << 63 else None
    if row is None:
        raise NotFound(
            Text("The environment has no state {number}.", number=number),
            hint=Text("older states may have been dropped"),
        )
    return row


def _discard(root: dict[str, Any], present: Any, object_id: str) -> None:
    try:
        found = take_back(root, present, object_id)
    except OwnerMissing:
        raise Invalid(
            Text("what owned the object was removed, too"), hint=Text("discard the removal of its owner")
        ) from None
    except NotRestorable:
        raise Invalid(Text("the object cannot be put back alone"), hint=Text("discard all changes")) from None
    if not found:
        raise NotFound(Text("There is no object '{object_id}'.", object_id=object_id))
