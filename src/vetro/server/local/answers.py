"""What a workspace answers beside, or other than, /v2: it is one person's, who sees all of it, and tasks are his own.

Models come with their secrets, tasks have numbers, environments a state in one word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from vetro.clouds import kinds
from vetro.clouds.stacks.kind import DriverKind
from vetro.engine.worker.journal import NoSuchTask
from vetro.model.environment import view_of
from vetro.server import sandboxed_workers
from vetro.server.api.answers import environments as service_environments
from vetro.server.api.answers import history as service_history
from vetro.server.api.answers import sessions as service_sessions
from vetro.server.api.answers import tasks as service_tasks
from vetro.server.api.answers import upgrades as service_upgrades
from vetro.server.environments import deploy, drafts, history, lookup, offers, packages, queries, sessions
from vetro.server.environments.errors import ResourcesElsewhere
from vetro.server.environments.models import Environment, Session, State
from vetro.server.errors import Invalid
from vetro.server.local import environments, procedures
from vetro.server.local.workspace import Workspace
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import Task

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def list_environments(workspace: Workspace, **wanted: Any) -> dict[str, Any]:
    """As `/environments`, with how many applications each has, and how its servers are made."""
    while offers.fill():  # what earlier versions deployed: no worker does it
        pass
    page = service_environments.list_environments(workspace.caller, **wanted)
    page["items"] = [{**row, **environments.described(workspace, row["id"])} for row in page["items"]]
    return page


def show_environment(workspace: Workspace, environment_id: str) -> dict[str, Any]:
    """One environment, as it is in the list."""
    row = service_environments.show_environment(workspace.caller, environment_id)
    return {**row, **environments.described(workspace, row["id"])}


def show_health(workspace: Workspace, environment_id: str) -> dict[str, Any]:
    """How an environment and its components are: they are looked at now, nobody else does."""
    row = service_environments.show_environment(workspace.caller, environment_id)
    _looks().look(workspace.config, row["id"], sandboxed_workers.launcher())
    return service_environments.show_health(workspace.caller, row["id"])


def show_drift(workspace: Workspace, environment_id: str) -> dict[str, Any]:
    """What of an environment is not as its last task left it: its cloud is listed now, nobody else does."""
    row = service_environments.show_environment(workspace.caller, environment_id)
    _looks().look_around(workspace.config, row["id"])
    return service_environments.show_drift(workspace.caller, row["id"])


def _looks() -> Any:
    """What looks at clouds: few commands need it, and it takes long to load."""
    from vetro.server.watch import look

    return look


def check_name(name: str) -> None:
    """Raises `Invalid` for what an environment of a workspace cannot be called."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"'{name}' cannot be the name of an environment",
            hint="use up to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit",
        )


def create_environment(
    workspace: Workspace, *, name: str, cloud: Mapping[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """Makes an environment, and with the first one the workspace."""
    check_name(name)
    workspace.keep()
    row = service_environments.create_environment(
        workspace.caller, name=name, cloud=None if cloud is None else dict(cloud), **more
    )
    return {**row, **environments.described(workspace, row["id"])}


def list_packages(workspace: Workspace, environment_id: str) -> list[dict[str, str]]:
    """The packages that an environment uses: {name, version, digest}."""
    pinned = sorted(packages.pinned(environment_id))
    return [{"name": one.name, "version": one.version, "digest": one.digest} for one in pinned]


def read_model(workspace: Workspace, session_id: str) -> dict[str, Any]:
    """The model of a draft, with its secrets."""
    found = queries.get(workspace.caller, lookup.session(workspace.caller, session_id), model=True)
    return view_of(drafts.root_of(sessions.readable(workspace.caller, found, session_id), found))


def show_state(workspace: Workspace, environment_id: str, number: int) -> dict[str, Any]:
    """The model of a state, with its secrets."""
    return {"number": number, "model": history.state(workspace.caller, environment_id, number)}


def list_states(workspace: Workspace, environment_id: str, **wanted: Any) -> dict[str, Any]:
    """The states that tasks left; ``kind`` is the method of an action."""
    page = service_history.list_states(workspace.caller, environment_id, **wanted)
    called = _methods(row["task_id"] for row in page["items"] if row["kind"] == "action")
    page["items"] = [
        {**row, "kind": called.get(row["task_id"]) or row["kind"]} for row in page["items"] if row["task_id"]
    ]
    return page


def compare_states(workspace: Workspace, environment_id: str, *, to: int | None = None, **older: int) -> dict[str, Any]:
    """What changed from state ``from`` to state ``to``, the newest where there is none."""
    return service_history.compare_states(workspace.caller, environment_id, older["from"], to)


def list_tasks(workspace: Workspace, *, environment: str, **wanted: Any) -> dict[str, Any]:
    """The tasks of an environment with their numbers: those of the states that they left."""
    page = service_tasks.list_tasks(workspace.caller, environment=environment, **wanted)
    numbers = _numbers(environment)
    called = _methods(row["id"] for row in page["items"] if row["kind"] == "action")
    page["items"] = [
        {**row, "number": numbers.get(row["id"]), "method": called.get(row["id"])} for row in page["items"]
    ]
    return page


def show_task(workspace: Workspace, task_id: str) -> dict[str, Any]:
    """A task with its number, and the packages that it uses."""
    row = service_tasks.show_task(workspace.caller, task_id)
    spec: Any = Task.objects.values_list("spec", flat=True).get(id=task_id) or {}
    used = [{"name": p["fqn"], "version": p["version"], "digest": p["digest"]} for p in spec.get("packages") or ()]
    return {**row, "number": _numbers(row["environment_id"] or "").get(task_id), "packages": used}


def read_log(workspace: Workspace, task_id: str, **wanted: Any) -> dict[str, Any]:
    """What a task reported and logged."""
    return service_tasks.read_log(workspace.caller, task_id, **wanted, frame=False)


def list_effects(workspace: Workspace, task_id: str) -> list[dict[str, Any]]:
    """What a task did outside, as far as its journal is kept: {key, kind, about, begun, ended, error}."""
    try:
        entries = DbJournal(task_id).entries()
    except NoSuchTask:
        return []
    return [
        {"key": e.key, "kind": e.kind, "about": dict(e.about), "begun": e.begun, "ended": e.ended, "error": e.error}
        for e in entries
    ]


def deploy_session(workspace: Workspace, session_id: str, **said: Any) -> dict[str, Any]:
    """Begins the deployment of a draft: its task, or the first one of an update with a way back. How components are
    before is found out now, nobody else does."""
    before = procedures.health_before(workspace, session_id, said.get("guard"))
    return service_sessions.deploy_session(workspace.caller, session_id, **said, before=before)


def upgrade_one_by_one(workspace: Workspace, environment_id: str, **said: Any) -> dict[str, Any]:
    """Begins to upgrade one application after the other: the procedure. How components are before is found out now."""
    before = procedures.health_of(workspace, environment_id)
    return service_upgrades.upgrade_one_by_one(workspace.caller, environment_id, **said, before=before)


def empty_environment(workspace: Workspace, environment_id: str) -> dict[str, Any]:
    """Destroys everything in an environment, which stays, with its history: the task that does it."""
    return service_tasks.task_json(deploy.empty(workspace.caller, environment_id))


def cancel_task(workspace: Workspace, task_id: str, *, reason: str = "") -> dict[str, Any]:
    """Has an interrupted task end at its next safe point, once somebody goes on with it."""
    Task.objects.filter(id=task_id, cancel="").exclude(state__in=Task.FINAL).update(cancel=reason or "cancelled")
    return show_task(workspace, task_id)


def abandon_task(workspace: Workspace, task_id: str) -> dict[str, Any]:
    """Ends an interrupted task without running it; ``kept``: whether its last checkpoint is the newest state now."""
    return {"kept": environments.give_up(Task.objects.get(id=task_id))}


def import_environment(
    workspace: Workspace,
    data: bytes | memoryview,
    *,
    name: str | None,
    fresh: bool,
    keep_ids: bool = False,
    choose: Callable[[], Mapping[str, Any]],
) -> dict[str, Any]:
    """An environment from what `vetro env export` wrote, with the packages that are in the archive.

    ``choose`` says how its servers are made; those that were recorded stay so.
    """
    from vetro.clouds.overview import overview
    from vetro.server.environments import imports
    from vetro.server.environments.archive import has_resources

    if name is not None:
        check_name(name)
    workspace.keep()
    try:
        with transaction.atomic():
            made = imports.import_environment(
                workspace.caller, data, name=name, fresh=fresh, keep_ids=keep_ids, into_catalog=False
            )
            id = made["environment_id"]
            row = Environment.objects.get(id=id)
            check_name(row.name)
            cloud = {"kind": kinds.RECORD} if made["driver"] == kinds.RECORD else choose()
            Environment.objects.filter(id=id).update(cloud=dict(cloud))
            if fresh:
                _settle(workspace, id, made["session_id"])
            newest = queries.get(workspace.caller, id, model=True).model or {}
            if has_resources(newest) and isinstance(kinds.find(cloud["kind"]), DriverKind):
                stacks = overview(workspace.config.path("cloud.directory")).stacks
                if not any(stack["environment"] == id for stack in stacks):
                    raise ResourcesElsewhere("")
    except ResourcesElsewhere as error:
        there = error.details is not None and Environment.objects.filter(id=error.details.get("id")).exists()
        where = "they are those of the environment that is here already" if there else "they are not in this one"
        raise ResourcesElsewhere(
            f"the environment of the archive has resources in a cloud, and {where}: it would count as deployed, and"
            " have none",
            hint="--fresh imports a copy in which nothing counts as deployed",
        ) from None
    return made


def _settle(workspace: Workspace, environment_id: str, session_id: str) -> None:
    """Makes of a draft the newest state, of which nothing is deployed: what goes into archives again."""
    found = queries.get(workspace.caller, environment_id, model=True)
    root = drafts.root_of(sessions.readable(workspace.caller, found, session_id), found)
    lock = Session.objects.values_list("lock_id", flat=True).get(id=session_id)
    model = {"Objects": root, "ObjectsCopy": None}
    State.objects.create(environment_id=environment_id, number=1, model=model, lock_id=lock)
    Environment.objects.filter(id=environment_id).update(version=1)
    sessions.close(workspace.caller, environment_id, session_id)


def _numbers(environment_id: str) -> dict[str, int]:
    """Task -> the number of the state that it left, or will leave."""
    rows = State.objects.filter(environment_id=environment_id).exclude(task_id="").values_list("task_id", "number")
    found = dict(rows)
    task = environments.open_task(environment_id) if environment_id else None
    if task is not None:
        version = Environment.objects.filter(id=environment_id).values_list("version", flat=True).first() or 0
        found.setdefault(task.id, version + 1)
    return found


def _methods(ids: Any) -> dict[str, str]:
    wanted = list(ids)
    if not wanted:
        return {}
    rows: Any = Task.objects.filter(id__in=wanted).values_list("id", "action")
    return {id: str((action or {}).get("method") or "") for id, action in rows}
