"""Deploying a session, deleting an environment, calling an action: state change and task in one transaction.

Each of them holds the environment from its request to the end of its task (`outcomes.task_ended`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import transaction

from vetro.clouds.interface import Owner
from vetro.diagnostics import Text, encode_messages
from vetro.engine.outcome import Outcome
from vetro.model.environment import deployed_objects
from vetro.model.header import id_of
from vetro.model.tree import objects
from vetro.packages.lock import ChosenVersion, Lock
from vetro.server.accounts.policy import enforce
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings
from vetro.server.environments import (
    drafts,
    fixed_properties,
    hooks,
    limits,
    packages,
    power,
    queries,
    removal,
    sessions,
    simulation,
    substitution,
)
from vetro.server.environments.errors import Busy
from vetro.server.environments.models import Environment, Session, State
from vetro.server.environments.service import announce
from vetro.server.errors import Conflict, Forbidden, Invalid, NotFound
from vetro.server.quotas import enforcement
from vetro.server.setup import config
from vetro.server.tasks.completion import close
from vetro.server.tasks.models import Task
from vetro.server.tasks.queue import cancel, enqueue

#: How often abandoning begins anew because a task was begun meanwhile.
_TRIES = 10
#: Rules by which tasks of these kinds are repeated, besides ``retry_task``.
RULES = {"power": "power_environment", "repair": "update_environment"}


def deploy(caller: Caller, environment_id: str, session_id: str) -> Task:
    """Starts the deployment of a session's draft. Doors for people ask `vetro.server.procedures.service.deploy`.

    Raises what `check` raises, and `UpgradeRefused` for a migration that fails (`substitution`).
    """
    substitution.migrate(caller, environment_id, session_id)
    return begin(caller, environment_id, session_id)


@transaction.atomic
def begin(caller: Caller, environment_id: str, session_id: str, procedure_id: str = "") -> Task:
    """The same for a draft whose objects were migrated. ``procedure_id``: see `sessions.deployable`."""
    session, found, root, model, lock = check(caller, environment_id, session_id, procedure_id)
    draft = {"Objects": root}
    if session.draft != draft:  # what was deployed stays readable after the environment has changed
        session.draft = draft
        session.save(update_fields=["draft"])
    return _start(caller, found, "deploy", session, model, Session.DEPLOYING, lock=lock, method="deploy")


def check(
    caller: Caller, environment_id: str, session_id: str, procedure_id: str = ""
) -> tuple[Session, queries.ListedEnvironment, dict[str, Any] | None, dict[str, Any], Lock | None]:
    """Whether a session's draft could be deployed now: session and environment, both locked, the draft's root, what its
    deployment begins with, and its lock.

    Raises what `sessions.deployable` raises, and `Invalid` for a draft that changes what cannot be changed any more.
    """
    session, found = sessions.deployable(caller, environment_id, session_id, procedure_id)
    root = drafts.root_of(session, found)
    lock = packages.of_session(session)
    upgrade = session.upgrade or {}
    model = start_model(found, root, lock, upgrade)
    fixed_properties.check(caller, found, root, lock, upgrade.get("base"))
    return session, found, root, model, lock


def delete(caller: Caller, environment_id: str, *, abandon: bool = False) -> Task | None:
    """Destroys an environment: at once when nothing was ever deployed, else by a task, which is returned.

    ``abandon``: its rows go at once, in whatever state; what was deployed stays where it is. Raises `Busy`.
    """
    if not abandon:
        return _destroy(caller, environment_id)
    hooks.leaving(queries.get(caller, environment_id).id)
    for _ in range(_TRIES):
        if _abandoned(caller, environment_id):
            return None
    raise Busy(
        Text(
            "one task after the other is begun in environment {environment_id}; abandon it again",
            environment_id=environment_id,
        )
    )


@transaction.atomic
def _abandoned(caller: Caller, environment_id: str) -> bool:
    """Whether it is gone: not when another task was begun meanwhile; then nothing was done.

    The task is locked first, then the environment, as by whoever ends the task: else each could wait for the other.
    """
    task_id = queries.get(caller, environment_id).task_id
    if task_id:
        cancel(caller, task_id, "its environment was abandoned")
    found = sessions.locked(caller, environment_id)
    if found.task_id not in ("", task_id):
        transaction.set_rollback(True)
        return False
    if found.version and not found.busy:  # a task that still runs drops at its end what was written down
        owner = Owner(found.project_id, found.id, caller.user_id)
        cloud = Environment.objects.values_list("cloud", flat=True).get(id=found.id)
        transaction.on_commit(partial(simulation.forget_quietly, owner, cloud), robust=True)
    _remove(caller, found, "environment.abandon")
    return True


@transaction.atomic
def _destroy(caller: Caller, environment_id: str) -> Task | None:
    found = sessions.locked(caller, environment_id, model=True)
    found.require_free(sessions.recorded_refusal(found.id))
    hooks.leaving(found.id)
    if found.version == 0:
        _remove(caller, found, "environment.delete")
        return None
    session = Session(environment_id=found.id, user_id=caller.user_id, version=found.version)
    model = {**(found.model or {}), "Objects": deployed_objects(found.model or {})}
    return _start(caller, found, "destroy", session, model, Session.DELETING)


@transaction.atomic
def empty(caller: Caller, environment_id: str) -> Task:
    """Starts the destruction of everything in an environment, which stays: as a new one, with its history.

    Raises `Busy`.
    """
    found = sessions.locked(caller, environment_id, model=True)
    found.require_free()
    hooks.leaving(found.id)
    session = Session(environment_id=found.id, user_id=caller.user_id, version=found.version)
    model = {**(found.model or {}), "Objects": None, "ObjectsCopy": deployed_objects(found.model or {})}
    return _start(caller, found, "deploy", session, model, Session.DEPLOYING)


@transaction.atomic
def repair(caller: Caller, environment_id: str) -> Task:
    """Starts the deployment of what is deployed, as it is: what is not so any more becomes so again.

    Drafts stay, and can be deployed afterwards. Raises
    `Busy`, and what `deployed_model` raises.
    """
    found = sessions.locked(caller, environment_id, model=True)
    found.require_free()
    session = Session(environment_id=found.id, user_id=caller.user_id, version=found.version)
    return _start(caller, found, "repair", session, deployed_model(found), Session.DEPLOYING)


def deployed_model(found: queries.ListedEnvironment) -> dict[str, Any]:
    """What a repair begins with, and ends with. Raises `Conflict` where nothing is deployed, or not all of it was."""
    if found.version == 0 or found.status in (Session.FAILED, Session.DELETE_FAILED):
        raise Conflict(
            Text("the last task of environment '{name}' did not leave it whole", name=found.name)
            if found.version
            else Text("nothing of environment '{name}' is deployed", name=found.name),
            hint=Text("deploy it"),
        )
    root = deployed_objects(found.model or {})
    return start_model(found, root if isinstance(root, dict) else None)


@transaction.atomic
def call_action(caller: Caller, environment_id: str, action_id: str, args: Any) -> str:
    """Calls an action of a deployed object (``<object id>_<method>``); the id of the task.

    It is a deployment of its own: other open sessions are stale after it. Raises `Forbidden` while another task works
    on the environment, `NotFound` for an action that there is not.
    """
    found = sessions.locked(caller, environment_id, model=True)
    found.require_free("Access was denied to this resource: the environment has deploying or deleting status.")
    root = (found.model or {}).get("Objects")
    object_id, method = _action(root, action_id)
    problem = None
    if args is not None and not isinstance(args, Mapping):
        # Recorded so (API.md 9): it is accepted, then fails.
        problem = Invalid(Text("the arguments of an action must be an object: names and values"))
        limits.check_depth(args, Text("the body"))
    model = start_model(found, root)
    session = Session(environment_id=found.id, user_id=caller.user_id, version=found.version)
    more = {"method": method, "args": {} if args is None else args, "object_id": object_id}
    return _start(caller, found, "action", session, model, Session.DEPLOYING, problem, **more).id


@transaction.atomic
def again(caller: Caller, task: Task) -> Task:
    """Does again what a failed task was to do, from the state that it left. Raises as the first time, and `Conflict`
    when the environment has been worked on since, `Forbidden` where the rule of such a task is against it."""
    found = sessions.locked(caller, task.environment_id, model=True)
    found.require_free()
    newest = Environment.objects.values_list("task_id", flat=True).get(id=found.id)
    # Who has only switched servers since then left no state.
    left = State.objects.filter(environment_id=found.id).order_by("-number").values_list("task_id", flat=True)[0]
    if task.id not in (newest, left):
        raise Conflict(Text("the environment was changed since that task"), hint=Text("open a session and deploy it"))
    if task.kind == "destroy":
        made = delete(caller, found.id)
        assert made is not None, "an environment that a task worked on has a version"
        return made
    if task.kind == "snapshot":
        raise Conflict(Text("snapshots are repeated by the guarded update that they belong to"))
    if task.kind in RULES and not caller.is_admin:
        enforce(caller, RULES[task.kind])
    if task.kind == "repair":
        return repair(caller, found.id)
    if task.kind == "power":
        return power.again(caller, task)
    if task.kind == "action":
        action = task.action or {}
        return Task.objects.get(
            id=call_action(caller, found.id, f"{action['object_id']}_{action['method']}", action.get("args"))
        )
    session, before = sessions.open_session(caller, found.id), Session.objects.filter(id=task.session_id).first()
    if before is not None and before.upgrade is not None and (found.model or {}).get("ObjectsCopy") is not None:
        # It did not get as far as loading: what is deployed still has the versions of before.
        session.lock, session.upgrade = before.lock, before.upgrade
        session.save(update_fields=["lock", "upgrade"])
    return deploy(caller, found.id, session.id)


def _start(
    caller: Caller,
    found: queries.ListedEnvironment,
    kind: str,
    session: Session,
    model: Mapping[str, Any],
    state: str,
    problem: Invalid | None = None,
    lock: Lock | None = None,
    **call: Any,
) -> Task:
    row = Environment.objects.get(id=found.id)
    if kind != "destroy":  # which leaves less than it found
        enforcement.check_space(found.project_id, "states", 1)
    session.state = state
    session.save(update_fields=None if session._state.adding else ["state", "updated"])  # a draft is large
    if not row.cloud and (name := cloud_settings.kept(config())):
        # Tomorrow another kind may work here; what is deployed now stays where it is, and says so.
        row.cloud = {"kind": name}
    object_id = call.get("object_id") or found.id
    action = {"object_id": object_id, "method": call.get("method") or "deploy", "args": call.get("args") or {}}
    rows, resolution = list[Any](), list[ChosenVersion]()
    if problem is None:
        try:
            with transaction.atomic():
                chosen = packages.resolved(caller, found, model, lock=lock)
                rows, resolution = chosen.rows, chosen.resolution
        except Invalid as error:
            problem = error
    else:
        call["args"] = {}
    task = enqueue(
        caller,
        kind,
        environment=row,
        session=session,
        model=model,
        packages=rows,
        resolution=resolution,
        action=action,
        power=power.before_deployment(row, model) if kind in ("deploy", "repair") else (),
        **(call if kind == "action" else {}),
    )
    # Not through save(): `updated` is when a person changed the environment.
    Environment.objects.filter(id=found.id).update(task_id=task.id, cloud=row.cloud)
    record(caller, f"environment.{kind}", found.id, found.name, task=task.id, session=session.id)
    announce(found.project_id, found.id, session.state, task=task.id, session=session.id)
    if problem is not None:
        # It cannot run at all: it ends here, as every failed deployment does, with what is missing in its history.
        task.state = "failed"
        close(task, Outcome("failed", error=_told(problem)))
    return task


def _told(problem: Invalid) -> dict[str, Any]:
    told: dict[str, Any] = encode_messages({"message": problem.message, "hint": problem.hint})
    return {"kind": "not-found", "code": problem.code, **told, "names": []}


def start_model(
    found: queries.ListedEnvironment,
    root: dict[str, Any] | None,
    lock: Lock | None = None,
    upgrade: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What a deployment of ``root`` begins with; ``lock``: the packages that it is to have, ``upgrade``: what
    `Session.upgrade` says. Raises `NotFound`."""
    if root is None:
        raise NotFound(Text("The environment has no model any more."))
    present = found.model or {}
    if lock is not None:
        present = {**present, "SystemData": {**(present.get("SystemData") or {}), "Packages": lock.versions()}}
    if upgrade:
        present = {**present, "Attributes": upgrade["attributes"]}
    return {**present, "Objects": {"applications": [], **root}, "ObjectsCopy": deployed_objects(present)}


def _action(root: Any, action_id: str) -> tuple[str, str]:
    for obj in objects(root):
        actions = obj["?"].get("_actions")
        if isinstance(actions, dict) and isinstance(actions.get(action_id), dict):
            known = actions[action_id]
            if known.get("enabled") is False:
                raise Forbidden(Text("The action '{action_id}' is disabled.", action_id=action_id))
            return str(id_of(obj)), str(known.get("name"))
    raise NotFound(Text("Action is not found"))


def _remove(caller: Caller, found: queries.ListedEnvironment, action: str) -> None:
    removal.remove(found.id)
    record(caller, action, found.id, found.name)
    announce(found.project_id, found.id, "removed")
