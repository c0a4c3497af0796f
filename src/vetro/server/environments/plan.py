"""`plan`: what deploying a session would do, as a task whose result says it (`vetro.server.tasks.plan`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from vetro.model.tree import copied
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.environments import deploy, drafts, fixed_properties, packages, power, queries, sessions, substitution
from vetro.server.environments.models import Environment, Session
from vetro.server.tasks.models import Task
from vetro.server.tasks.queue import enqueue_plan


def plan(
    caller: Caller, environment_id: str, session_id: str, edit: Callable[[dict[str, Any]], object] | None = None
) -> Task:
    """Enqueues the plan of a session's draft; without one of the environment as it is. Nothing outside changes.

    ``edit``: of the draft as this leaves a copy of its root object, which nobody keeps.

    It is possible also while a task works on the environment: then it starts from the state before. Raises what
    `sessions.readable` raises, and `Invalid` for classes that no package has and for changes that are not allowed.
    """
    found = queries.get(caller, environment_id, model=True)
    moved = substitution.substituted(
        caller, found, sessions.readable(caller, found, session_id) if session_id else None
    )
    with transaction.atomic():
        found = queries.get(caller, environment_id, model=True)
        session = sessions.readable(caller, found, session_id) if session_id else None
        root = drafts.root_of(session, found) if moved is None else moved.root
        if edit is not None and root is not None:
            root = copied(root)
            edit(root)
        lock = packages.of_session(session)
        upgrade = (session.upgrade if session is not None else None) or {}
        upgrade = upgrade if moved is None else moved.beside
        model = deploy.start_model(found, root, lock, upgrade)
        fixed_properties.check(caller, found, root, lock, upgrade.get("base"))
        chosen = packages.resolved(caller, found, model, lock=lock)
        row = Environment.objects.get(id=found.id)
        task = enqueue_plan(
            caller,
            environment=row,
            model=model,
            packages=chosen.rows,
            resolution=chosen.resolution,
            power=power.before_deployment(row, model),
            # A plan of what is in no draft is none of the session's own.
            session=None
            if session is None or edit is not None
            else Session.objects.defer("draft", "answers", "upgrade").get(id=session.id),
        )
        record(caller, "environment.plan", found.id, found.name, task=task.id, session=session_id)
    return task


def of_new(caller: Caller, root: Mapping[str, Any]) -> Task:
    """Enqueues the plan of an environment that is still to be made. Raises `Invalid` for classes without a package."""
    model: dict[str, Any] = {"Objects": dict(root), "ObjectsCopy": None, "Attributes": []}
    with transaction.atomic():
        rows = packages.of_project(caller.project_id, model)
        task = enqueue_plan(caller, environment=None, model=model, packages=rows)
        record(caller, "environment.plan", "", "", task=task.id, session="")
    return task


def of_repair(caller: Caller, environment_id: str) -> Task:
    """Enqueues the plan of a repair (`deploy.repair`), and raises what that raises of its model."""
    with transaction.atomic():
        found = queries.get(caller, environment_id, model=True)
        model, row = deploy.deployed_model(found), Environment.objects.get(id=found.id)
        chosen = packages.resolved(caller, found, model)
        task = enqueue_plan(
            caller,
            environment=row,
            model=model,
            packages=chosen.rows,
            resolution=chosen.resolution,
            power=power.before_deployment(row, model),
            action={"object_id": found.id, "method": "repair", "args": {}},
        )
        record(caller, "environment.plan", found.id, found.name, task=task.id, session="")
    return task
