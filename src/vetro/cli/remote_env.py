"""`vetro env` on a server: look at environments, make, change and destroy them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.follow import command, conclude, follow
from vetro.cli.client.requests import Client, ClientError, Refused
from vetro.cli.remote_model import names_in, newest, state
from vetro.cli.remote_output import print_rows, when


class NotThere(ClientError):
    """An environment of a server is in no state for what was asked."""

    kind = "bad-argument"
    code = "CLI138"


def list_all(client: Client, output: str) -> None:
    """`vetro env list`."""
    rows = list(client.items("/environments", limit=1000))
    print_rows(
        rows,
        ("name", "status", "version", "changed", "id"),
        output,
        empty="no environments yet; 'vetro deploy PATH' makes one",
    )


def create(client: Client, name: str, description: str, region: str | None, output: str) -> None:
    """`vetro env create`."""
    from vetro.cli.remote_output import print_one

    wanted = {"name": name, "description": description} | ({} if region is None else {"region": region})
    print_one(client.post("/environments", wanted), output, ("id", "name"))


def show(client: Client, name: str, number: int | None, output: str) -> None:
    """`vetro env show`."""
    from vetro.cli.summary import outputs, rows

    environment = find.environment(client, name)
    model = newest(client, environment) if number is None else state(client, environment, number)
    if number is not None:
        out.print_data(model.model, "yaml" if output == "table" else output)
        return
    history = list(client.items("/tasks", most=10, environment=environment["id"], limit=10))
    table = rows(model)
    if output != "table":
        data = {
            **environment,
            "components": [dict(zip(("component", "class", "server", "addresses"), r, strict=True)) for r in table],
            "tasks": history,
        }
        out.print_data(data, output)
        return
    out.echo(f"{environment['name']}: {environment['status']}, version {environment['version']}, {environment['id']}")
    if environment["description"]:
        out.echo(environment["description"])
    if table:
        out.echo("")
        out.print_table(("component", "class", "server", "addresses"), table)
    for component, key, value in outputs(model):
        out.echo(f"{component}.{key}: {value}")
    if history:
        out.echo("")
        shown = [(t["id"], t["kind"], t["state"], when(t["finished"] or t["started"])) for t in reversed(history)]
        out.print_table(("task", "what", "state", "when"), shown)
        for task in reversed(history):
            if not task["final"] and (why := client.get(f"/tasks/{task['id']}").get("waiting")):
                out.note(f"task {task['id']} waits: {why}")


def summary(client: Client, environment: Mapping[str, Any], seconds: float | None = None) -> None:
    """The environment's components with servers and addresses, after a deployment."""
    from vetro.cli.summary import outputs, rows

    found = client.get(f"/environments/{environment['id']}")
    model = newest(client, found)
    took = f" in {seconds:.1f} s" if seconds is not None else ""
    out.note(out.style(f"environment '{found['name']}' is deployed{took}", fg="green"))
    table = rows(model)
    if table:
        out.print_table(("component", "class", "server", "addresses"), table)
    for component, name, value in outputs(model):
        out.echo(f"{component}.{name}: {value}")


def finish(
    client: Client, task: Mapping[str, Any], environment: Mapping[str, Any], *, show: bool = True, **options: Any
) -> dict[str, Any]:
    """Follows a task of an environment to its end and says how it ended."""
    import time

    started = time.monotonic()
    names = options.pop("names", {})
    ended = follow(client, task, names=names, **options)
    conclude(client, ended, environment["name"])
    if show:
        summary(client, environment, time.monotonic() - started)
    return ended


def deploy_again(client: Client, name: str, **options: Any) -> None:
    """`vetro env deploy`: the environment as it is, or the caller's draft where somebody began one."""
    environment = find.environment(client, name)
    session = draft_of(client, environment)
    own = session is None
    session = session or client.post(f"/environments/{environment['id']}/sessions")
    model = newest(client, environment)
    if own and not model.applications:
        client.delete(f"/sessions/{session['id']}")
        raise NotThere(f"environment '{environment['name']}' is empty", f"vetro deploy PATH --env {name}")
    task = begin(client, session, own)
    finish(client, task, environment, names=names_in(model), **options)


def draft_of(client: Client, environment: Mapping[str, Any]) -> dict[str, Any] | None:
    """The caller's newest session with changes that can be deployed, said aloud."""
    for session in client.items(f"/environments/{environment['id']}/sessions"):
        if session["own"] and session["usable"] and session["changed"] and session["state"] == "opened":
            out.note(f"session {session['id']} has changes that are not deployed: it is used")
            return session
    return None


def begin(client: Client, session: Mapping[str, Any], own: bool, what: str = "deploy") -> dict[str, Any]:
    """The task that deploys a session (or plans it); one of our ``own`` does not stay behind a refusal."""
    try:
        return dict(client.post(f"/sessions/{session['id']}/{what}"))
    except ClientError:
        if own:
            discard(client, session)
        raise


def discard(client: Client, session: Mapping[str, Any]) -> None:
    """Closes a session; that it is gone already is fine."""
    try:
        client.delete(f"/sessions/{session['id']}")
    except Refused as error:
        if error.status not in (403, 404, 409):
            raise


def action(
    client: Client, name: str, method: str, app: str | None, args: Mapping[str, Any], output: str, **options: Any
) -> None:
    """`vetro env action`."""
    environment = find.environment(client, name)
    known = list(client.items(f"/environments/{environment['id']}/actions"))
    names = {row["object_id"]: row["object_name"] for row in known}
    if not all(names.values()):
        # Those without a name of their own go by what 'vetro env show' calls them.
        names = {**names_in(newest(client, environment)), **{key: name for key, name in names.items() if name}}
    chosen = chosen_action(known, names, method, app, environment["name"])
    task = client.post(f"/environments/{environment['id']}/actions/{chosen['id']}", {"args": dict(args)})
    ended = finish(client, task, environment, show=False, names=names, what=f"running {method}", **options)
    out.print_data(ended["result"], output)


def chosen_action(
    known: list[dict[str, Any]], names: Mapping[str, str], method: str, app: str | None, environment: str
) -> dict[str, Any]:
    """The action ``method`` of ``known`` ones, of application ``app``: an id, a class, or one of ``names`` (by id).

    Raises `NotFound` where there is none, or more than one, or where it cannot be called now.
    """
    from vetro.yaql.didyoumean import suggest

    called = {row["object_id"]: names.get(row["object_id"]) or row["object_id"] for row in known}
    of_app = [row for row in known if app in (None, row["object_id"], called[row["object_id"]], row["class"])]
    if not of_app:
        there = ", ".join(sorted(set(called.values()))) or "no actions at all"
        what = f"application '{app}' with actions" if app else "action"
        raise find.NotFound(f"environment '{environment}' has no {what}", f"there are {there}")
    found = [row for row in of_app if method in (row["name"], row["id"])]
    if not found:
        methods = sorted({row["name"] for row in of_app})
        close = suggest(method, methods)
        raise find.NotFound(
            f"there is no action '{method}'", f"did you mean '{close}'?" if close else f"there are {', '.join(methods)}"
        )
    if len(found) > 1:
        objects = ", ".join(f"{called[row['object_id']]} ({row['object_id']})" for row in found)
        raise find.NotFound(f"{len(found)} objects have an action '{method}'", f"say which with --app: {objects}")
    if not found[0]["enabled"]:
        raise NotThere(f"action '{method}' is switched off")
    return found[0]


def destroy(client: Client, name: str, keep: bool, abandon: bool, **options: Any) -> None:
    """`vetro env destroy`."""
    environment = find.environment(client, name)
    label = environment["name"]
    options["what"] = "destroying"
    if keep:
        session = client.post(f"/environments/{environment['id']}/sessions")
        try:
            model = client.get(f"/sessions/{session['id']}/model")
            client.put(f"/sessions/{session['id']}/model", {**model, "services": []})
        except ClientError:
            discard(client, session)
            raise
        names = names_in(newest(client, environment))
        finish(client, begin(client, session, True), environment, show=False, names=names, **options)
        out.note(out.style(f"environment '{label}' is empty", fg="green"))
        return
    names = {} if abandon else names_in(newest(client, environment))
    task = client.delete(f"/environments/{environment['id']}", abandon=True if abandon else None)
    if abandon:
        out.note(f"environment '{label}' is forgotten; what it deployed is still there")
        return
    if task is not None:
        ended = follow(client, task, names=names, **options)
        conclude(client, ended, label)
    out.note(out.style(f"environment '{label}' is gone", fg="green"))


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
    task, label = task_of(client, wanted)
    if task["final"]:
        if task["state"] == "done":
            out.note(f"environment '{label}' has no interrupted task")
            return
        task = client.post(f"/tasks/{task['id']}/retry")
    ended = follow(client, task, what=task["kind"], **options)
    conclude(client, ended, label)
    out.note(out.style(f"{ended['kind']} is {ended['state']}", fg="green"))


def resolve(client: Client, wanted: str, key: str, decision: str) -> None:
    """`vetro env resolve`."""
    task, _ = task_of(client, wanted)
    found = client.post(f"/tasks/{task['id']}/resolve", {"key": key, "decision": decision})
    left = len(found["decisions"])
    out.note(f"decided; {out.plural(left, 'decision')} left" if left else "decided; the task goes on")
