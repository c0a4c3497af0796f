"""Starting, stopping and restarting servers of an environment, as a task of kind ``power``; which ones are to run.

What was stopped is noted when the journal says that it was done, or begun (`Environment.stopped`), so whatever kills
whom, what somebody stopped is noted. A deployment starts what does not run before anything else: it works on all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import transaction

from vetro.clouds.interface import PowerAction
from vetro.diagnostics import Text
from vetro.model.environment import deployed_objects
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings
from vetro.server.environments import packages, sessions
from vetro.server.environments.models import Environment, EnvironmentPackage, Session
from vetro.server.environments.power_steps import Machine, Steps, machines, steps
from vetro.server.environments.service import announce
from vetro.server.errors import Conflict, NotFound
from vetro.server.ids import stamp
from vetro.server.setup import config
from vetro.server.tasks import clock
from vetro.server.tasks.models import JournalEntry, Task
from vetro.server.tasks.queue import enqueue


@transaction.atomic
def change(
    caller: Caller,
    environment_id: str,
    action: PowerAction,
    what: str = "",
    *,
    only: Collection[str] | None = None,
    force: bool = False,
) -> Task:
    """Starts, stops or restarts ``what``: a component or a server, by id or name; '': everything that is deployed.

    Methods that authors want called before and after are called (`vetro.engine.task.power_methods`), unless ``force``.
    ``only``: nothing but these servers (ids). Raises `Busy` while a task works on the environment, `NotFound`, and
    `Conflict` where there is nothing that could be switched.
    """
    found = sessions.locked(caller, environment_id, model=True)
    found.require_free()
    row = Environment.objects.get(id=found.id)
    waves = machines(deployed_objects(found.model or {}))
    wanted = {machine.id for machine in _meant(waves, what)}
    wanted = wanted if only is None else wanted.intersection(only)
    if not wanted:
        raise Conflict(Text("environment '{name}' has no servers", name=found.name), hint=Text("deploy it first"))
    if not able(row):
        raise Conflict(Text("servers of this cloud cannot be started and stopped"))
    todo, more = steps(waves, action, wanted), dict[str, Any]()
    if not force and packages.uses(row.id, "io.vetro"):
        todo = [{**step, "of": action} for step in todo]
        kept = {name: value for name, value in (found.model or {}).items() if name != "ObjectsCopy"}
        more["model"] = {**kept, "Objects": deployed_objects(found.model or {})}
        more["packages"] = list(EnvironmentPackage.objects.filter(environment_id=row.id).order_by("id"))
    args = {"force": True} if force else {}
    task = enqueue(
        caller,
        "power",
        environment=row,
        power=todo,
        action={"object_id": what or found.id, "method": action, "args": args},
        **more,
    )
    Environment.objects.filter(id=found.id).update(task_id=task.id)
    record(caller, f"environment.{action}", found.id, found.name, task=task.id, what=what, servers=len(wanted), **args)
    announce(found.project_id, found.id, Session.DEPLOYING, task=task.id)
    return task


def able(row: Environment) -> bool:
    """Whether the cloud of an environment can start and stop servers; one that a function makes may well."""
    found = cloud_settings.capabilities(config(), row.cloud)
    return found is None or found.power


def again(caller: Caller, task: Task) -> Task:
    """Does once more what a task did with servers."""
    action: Mapping[str, Any] = task.action or {}
    what = str(action.get("object_id") or "")
    servers = {str(server["id"]) for step in task.spec.get("power") or () for server in step["servers"]}
    what, force = "" if what == task.environment_id else what, bool((action.get("args") or {}).get("force"))
    return change(caller, task.environment_id, action["method"], what, only=servers, force=force)


def before_deployment(row: Environment, model: Mapping[str, Any]) -> Steps:
    """What a deployment begins with: servers that do not run are started, whoever stopped them, or nobody
    (decision 0036). Which ones these are the cloud says when it is time."""
    waves = machines(deployed_objects(model))
    if not waves or not able(row):
        return ()
    every = {machine.id for wave in waves for machine in wave}
    return [{**step, "off": True} for step in steps(waves, "start", every)]


def settle(row: Environment, task: Task) -> None:
    """Notes which servers a task has stopped and started, inside the transaction that ends it.

    Of a stop that was cut off nobody knows how far it came. It counts: what is noted and runs is told as running, and
    the next deployment starts all of it. What a restart leaves stopped is noted, too, but nobody wanted it so
    (`on_purpose`).
    """
    done = task.spec.get("power") or ()
    if not done:
        return
    begun = JournalEntry.objects.filter(task=task, kind="server.power")
    results = {entry.key: entry.result or {} if entry.ended is not None else None for entry in begun}
    stopped, person = dict(row.stopped), str(task.spec["identities"]["caller"]["user"]["name"])
    restarts = (task.action or {}).get("method") == "restart"
    note = {"by": person, "at": stamp(clock.read()), **({"restart": True} if restarts else {})}
    for number, step in enumerate(done):
        key = f"power{number}"
        if key not in results:
            continue
        result = results[key]
        if result is not None and result.get("error") is not None:
            continue
        failed = ((result or {}).get("answer") or {}).get("failed") or {}
        for server in step["servers"]:
            missed = result is None or server["id"] in failed
            # Of a restart that went wrong nobody knows whether it came to its stop.
            if missed if step["action"] == "restart" else step["action"] == "stop" and server["id"] not in failed:
                stopped.setdefault(server["id"], note)
            elif step["action"] != "stop" and not missed:
                stopped.pop(server["id"], None)
    _keep(row, stopped)


def on_purpose(stopped: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Of these notes (`Environment.stopped`) the servers that are to be stopped: id -> who stopped it. The others were
    to run again, and something came between."""
    return {id: note["by"] for id, note in stopped.items() if not note.get("restart")}


def forget(row: Environment, model: Mapping[str, Any]) -> None:
    """Drops the notes on servers that are not there any more."""
    if row.stopped:
        there = {machine.id for wave in machines(deployed_objects(model)) for machine in wave}
        _keep(row, {id: note for id, note in row.stopped.items() if id in there})


def _keep(row: Environment, stopped: dict[str, Any]) -> None:
    if stopped != row.stopped:
        row.stopped = stopped
        Environment.objects.filter(id=row.id).update(stopped=stopped)


def _meant(waves: Sequence[Sequence[Machine]], what: str) -> list[Machine]:
    """The servers that ``what`` names. Raises `NotFound`, `Conflict` for a name of several things."""
    every = [machine for wave in waves for machine in wave]
    if not what:
        return every
    found = [machine for machine in every if what in (machine.id, machine.component)]
    if found:
        return found
    found = [machine for machine in every if machine.label == what]
    things = {machine.component for machine in found}
    if not found:
        found = [machine for machine in every if machine.name == what]
        things = {machine.id for machine in found}
    if len(things) > 1:
        raise Conflict(Text("several are called '{what}'", what=what[:80]), hint=Text("name it by its id"))
    if found:
        return found
    raise NotFound(
        Text("there is no application with servers of its own, and no server, '{what}'", what=what[:80]),
        hint=Text("it may run on servers of another application"),
    )
