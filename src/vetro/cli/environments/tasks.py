"""Tasks of environments in commands: watched, ended, gone on with, decided, and what stands there after them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.follow import command, conclude, follow
from vetro.cli.client.requests import Client, ClientError, Refused
from vetro.cli.environments import guard
from vetro.cli.environments.models import names_in, newest
from vetro.cli.summary import outputs, rows


class NotThere(ClientError):
    """An environment of a server is in no state for what was asked."""

    kind = "bad-argument"
    code = "CLI138"


#: The status of an environment of this machine from which everything was destroyed.
EMPTIED = "destroyed"

#: How an environment is, and each component of it, whose cloud executes nothing.
SIMULATED = "simulated"


def task_label(task: Mapping[str, Any]) -> str:
    """What people call a task: on this machine its number, on a server its id."""
    return str(task.get("number") or task["id"])


def task_of(client: Client, wanted: str) -> tuple[dict[str, Any], str]:
    """The task of this id, or that works on the environment of this name or id; and how the environment is called."""
    try:
        task = client.get(f"/tasks/{wanted}") if len(wanted) == 32 else None
    except Refused as error:
        if error.status != 404:
            raise
        task = None
    if task is not None:
        return task, str(task["environment_id"] or wanted)
    environment = find.environment(client, wanted)
    if environment["task_id"]:
        return client.get(f"/tasks/{environment['task_id']}"), environment["name"]
    for task in client.items("/tasks", most=1, environment=environment["id"], limit=1):
        return client.get(f"/tasks/{task['id']}"), environment["name"]
    raise NotThere(f"environment '{environment['name']}' has had no task yet", f"vetro env deploy {wanted}")


def interrupted(client: Client, environment: Mapping[str, Any]) -> dict[str, Any] | None:
    """The task of an environment of this machine that has not ended."""
    tasks = client.items("/tasks", most=1, environment=environment["id"], limit=1)
    return next((task for task in tasks if not task["final"]), None)


def addresses_of(client: Client, environment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where what is deployed can be reached."""
    try:
        return list(client.get(f"/environments/{environment['id']}/addresses")["items"])
    except Refused as error:
        if error.status != 404:  # servers of earlier versions do not say
            raise
        return []


def summary(
    client: Client, environment: Mapping[str, Any], seconds: float | None = None, done: str = "deployed"
) -> None:
    """The environment's components with servers and addresses, after it was deployed or otherwise ``done``."""
    found = client.get(f"/environments/{environment['id']}")
    model = newest(client, found)
    took = f" in {seconds:.1f} s" if seconds is not None else ""
    if found["status"] == EMPTIED:
        out.note(out.style(f"environment '{found['name']}' is empty{took}", fg="green"))
        return
    simulated, client.said_simulated = bool(found.get("simulated")), True
    real = " (simulated: nothing was executed)" if simulated else ""
    text = f"environment '{found['name']}' is {done}{took}{real}"
    out.note(out.style(text, fg="yellow" if simulated else "green"))
    table = rows(model, simulated)
    if table:
        out.print_table(("application", "class", "server", "addresses"), table)
    for component, name, value in outputs(model, addresses_of(client, environment), simulated):
        out.echo(f"{component}.{name}: {value}")


def finish(
    client: Client, task: Mapping[str, Any], environment: Mapping[str, Any], *, show: bool = True, **options: Any
) -> dict[str, Any]:
    """Follows a task of an environment to its end and says how it ended."""
    started = time.monotonic()
    names = options.pop("names", {})
    if task.get("procedure_id"):
        ended = guard.finish(client, task["procedure_id"], environment, names=names, **options)
    else:
        ended = follow(client, task, names=names, environment=environment["name"], **options)
        conclude(client, ended, environment["name"])
    if show:
        done = "repaired" if task["kind"] == "repair" else "deployed"
        summary(client, environment, time.monotonic() - started, done)
    return ended


def watch(client: Client, wanted: str, **options: Any) -> None:
    """`vetro env watch`."""
    task, label = task_of(client, wanted)
    ended = follow(client, task, what=f"{task['kind']}", **options)
    conclude(client, ended, label)
    out.note(out.style(f"{ended['kind']} is {ended['state']}", fg="green"))
    if ended["kind"] == "action":
        out.print_data(ended["result"], "yaml")


def cancel(client: Client, wanted: str, reason: str) -> None:
    """`vetro env cancel`."""
    task, _ = task_of(client, wanted)
    if task["final"]:
        raise NotThere(f"the task has ended already: it is {task['state']}")
    found = client.post(f"/tasks/{task['id']}/cancel", {"reason": reason or "cancelled by vetro env cancel"})
    done = "it is cancelled" if found["final"] else "it ends at its next safe point"
    out.note(f"{done}; {command(client, 'watch', task['id'])} shows how")


def resume(client: Client, wanted: str, **options: Any) -> None:
    """`vetro env resume`: watches a task that runs; one that failed is tried again from where it was."""
    environment = None if len(wanted) == 32 else find.environment(client, wanted)
    if environment is not None and environment.get("procedure_id"):
        guard.finish(client, environment["procedure_id"], environment, **options)
        return
    task, label = task_of(client, wanted)
    if task["final"]:
        if task["state"] == "done":
            out.note(f"environment '{label}' has no interrupted task")
            return
        task = client.post(f"/tasks/{task['id']}/retry")
    ended = follow(client, task, what=task["kind"], **options)
    conclude(client, ended, label)
    out.note(out.style(f"{ended['kind']} is {ended['state']}", fg="green"))


def resume_here(client: Client, wanted: str, cancel: bool, abandon: bool, **options: Any) -> None:
    """`vetro env resume` on this machine: goes on with an interrupted task, ends it, or gives it up."""
    environment = find.environment(client, wanted)
    label = environment["name"]
    if environment["procedure_id"] and not abandon:
        if cancel:
            client.post(f"/environments/{environment['id']}/undo")
        names = names_in(newest(client, environment))
        guard.finish(client, environment["procedure_id"], environment, names=names, **options)
        summary(client, environment)
        return
    task = interrupted(client, environment)
    if task is None:
        out.note(f"environment '{label}' has no interrupted task; 'vetro env deploy {label}' deploys it again")
        return
    if abandon:
        kept = client.post(f"/tasks/{task['id']}/abandon")["kept"]
        from_where = "its last checkpoint" if kept else "the model before it"
        out.note(f"task {task_label(task)} is given up; 'vetro env deploy {label}' starts from {from_where}")
        return
    if cancel:
        client.post(f"/tasks/{task['id']}/cancel", {"reason": "cancelled by vetro env resume --cancel"})
    names = names_in(newest(client, environment))
    gone = task["kind"] == "destroy"
    finish(client, task, environment, show=not gone, names=names, what=task["kind"], **options)
    if gone:
        out.note(out.style(f"environment '{label}' is gone", fg="green"))


def resolve(client: Client, wanted: str, key: str, decision: str) -> None:
    """`vetro env resolve`."""
    if client.local:
        environment = find.environment(client, wanted)
        open_task = interrupted(client, environment)
        if open_task is None:
            raise NotThere(f"environment '{environment['name']}' has no interrupted task")
        client.post(f"/tasks/{open_task['id']}/resolve", {"key": key, "decision": decision})
        out.note(f"decided; 'vetro env resume {environment['name']}' goes on")
        return
    task, _ = task_of(client, wanted)
    found = client.post(f"/tasks/{task['id']}/resolve", {"key": key, "decision": decision})
    left = len(found["decisions"])
    out.note(f"decided; {out.plural(left, 'decision')} left" if left else "decided; the task goes on")
