"""`vetro env`: look at environments, make, change and destroy them, on a server or in a workspace of this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.connect import is_local
from vetro.cli.client.follow import command, conclude, follow
from vetro.cli.client.requests import Client, ClientError, Refused
from vetro.cli.differences import UNCHANGED, print_plan
from vetro.cli.environments import guard
from vetro.cli.environments.models import names_in, newest, own_draft, present, state
from vetro.cli.rows import print_one, print_rows, when
from vetro.cli.summary import outputs, rows
from vetro.cli.task_run import chosen_cloud
from vetro.clouds import kinds
from vetro.clouds.images.recipe import DEFAULT
from vetro.clouds.kind_protocols import Place
from vetro.clouds.stacks.kind import BUILD_IMAGE
from vetro.model.environment import Environment
from vetro.server.config import cloud_settings
from vetro.yaql.errors import VetroError

if TYPE_CHECKING:
    from vetro.cli.client.local import LocalClient

#: The status of an environment of this machine from which everything was destroyed.
EMPTIED = "destroyed"
#: What is said of `power` when it is done, and while it is under way.
POWER = {"start": ("started", "starting"), "stop": ("stopped", "stopping"), "restart": ("restarted", "restarting")}
#: How an environment is, and each component of it, whose cloud executes nothing.
SIMULATED = "simulated"


class NotThere(ClientError):
    """An environment of a server is in no state for what was asked."""

    kind = "bad-argument"
    code = "CLI138"


def list_all(client: Client, output: str) -> None:
    """`vetro env list`."""
    rows = list(client.items("/environments", limit=1000))
    if output == "table":
        rows = [
            {**row, "health": (row["health"] or {}).get("state") or _word(row), "newer": _newer(row["upgrades"])}
            for row in rows
        ]
    if is_local(client):
        for name, why in client.workspace.damaged.items():
            out.note(out.shown(why))
            rows.append({"name": name, "status": "damaged", "error": why})
    columns = ("applications", "driver", "changed") if client.local else ("version", "changed")
    print_rows(
        rows,
        ("name", "status", "health", *columns, *(("newer",) if any(row.get("newer") for row in rows) else ())),
        output,
        empty="no environments yet; 'vetro deploy PATH' makes one",
        head={"driver": "servers by"},
        wide=("description", "id"),
    )


def _newer(upgrades: Sequence[Mapping[str, Any]]) -> str:
    """What an environment could have: ``com.example.Web 2.0.0 (breaking)``."""
    if not upgrades:
        return ""
    first = upgrades[0]
    more = f" +{len(upgrades) - 1}" if len(upgrades) > 1 else ""
    return f"{first['package']} {first['to']} ({first['bump']}){more}"


def _word(row: Mapping[str, Any]) -> str | None:
    return SIMULATED if row.get("simulated") else None


def create(client: Client, name: str, description: str, region: str | None, driver: str, output: str) -> None:
    """`vetro env create`."""
    wanted: dict[str, Any] = {"name": name, "description": description} | ({} if region is None else {"region": region})
    if client.local:
        wanted["cloud"] = chosen_cloud(client, driver, None)
    else:
        say_cloud(client)
    print_one(client.post("/environments", wanted), output, ("id", "name"))


def say_cloud(client: Client, environment: Mapping[str, Any] | None = None) -> None:
    """Tells which cloud makes the servers of an environment that is there, or of any that is made on a server, and why:
    before anything is done."""
    if is_local(client):
        with suppress(VetroError):  # what is wrong with a cloud is told by who uses it
            if environment is not None:
                out.note(cloud_settings.selection(client.workspace.config, {"kind": environment["driver"]}).text)
        return
    try:
        main = client.get("/clouds")["clouds"][0]
    except Refused as error:
        if error.status not in (403, 404):
            raise
        return
    if main.get("text"):  # servers of earlier versions do not say
        out.note(main["text"])


def show(client: Client, name: str, number: int | None, output: str) -> None:
    """`vetro env show`."""
    environment = find.environment(client, name)
    try:
        old = number is not None and not (client.local and number < 0)
        model = state(client, environment, number) if old and number is not None else present(client, environment)
    except Refused as error:
        if number is None or error.status != 404:
            raise
        raise NotThere(f"environment '{environment['name']}' has no model {number}", error.hint) from None
    if number is not None:
        out.print_data(model.model, "yaml" if output == "table" else output)
        return
    history = list(client.items("/tasks", most=None if client.local else 10, environment=environment["id"], limit=10))
    packages = client.get(f"/environments/{environment['id']}/packages") if client.local else []
    simulated = bool(environment.get("simulated"))
    deviations = [] if simulated else _deviations(client, environment)
    unwell = [] if simulated else _unwell(client, environment)
    update = guard.active(client, environment)
    waits = {task["id"]: [] if task["final"] else _waits(client, task["id"]) for task in history}
    if output != "table":
        keys = ("component", "class", "server", "addresses")
        data = {
            **environment,
            "components": [dict(zip(keys, row, strict=True)) for row in rows(model)],
            "addresses": _addresses(client, environment),
            "tasks": [{**task, "waits": waits[task["id"]]} for task in history],
            "drift": deviations,
            "unwell": unwell,
            "update": update,
        }
        if client.local:
            told = ("number", "kind", "method", "state", "waits")
            tasks = [{key: task[key] for key in told} for task in reversed(data["tasks"])]
            data |= {"packages": packages, "tasks": tasks}
        out.print_data(data, output)
        return
    about = f"{environment['name']}: {environment['status']}"
    if client.local:
        out.echo(f"{about}, servers by {environment['driver']}, {client.context.url}")
    else:
        out.echo(f"{about}, version {environment['version']}{', ' + environment['id'] if out.wide() else ''}")
    if environment["description"]:
        out.echo(environment["description"])
    if environment["health"]:
        out.echo(health_line(environment["health"]))
        client.said_simulated = environment["health"]["state"] == SIMULATED
    for part in unwell:
        out.echo(f"  {part['name']}: {health_line(part['health'])}")
    for one in deviations:
        out.echo(out.style(one["text"], fg="yellow"))
    if update is not None:
        out.echo(out.style(guard.standing(client, update, environment), fg="yellow"))
    table = rows(model, simulated)
    if table:
        out.echo("")
        out.print_table(("component", "class", "server", "addresses"), table)
    for component, key, value in outputs(model, _addresses(client, environment), simulated):
        out.echo(f"{component}.{key}: {value}")
    if history:
        out.echo("")
        hidden = 0 if client.local or out.wide() else 1  # ids of tasks are for those who ask
        shown = [
            (task_label(t), t.get("method") or t["kind"], t["state"], when(t["finished"] or t["started"]))[hidden:]
            for t in reversed(history)
        ]
        out.print_table(("task", "what", "state", "ended" if client.local else "when")[hidden:], shown)
        for task in reversed(history):
            for wait in waits[task["id"]]:
                already = f", for {wait['seconds']:.0f} s already" if wait["seconds"] is not None else ""
                out.note(f"task {task_label(task)} waits for {wait['text']}{already}")
    if packages:
        out.echo("")
        out.print_table(("package", "version"), [(p["name"], p["version"]) for p in packages])


def _waits(client: Client, task: str) -> list[dict[str, Any]]:
    """What a task waits for, which servers of earlier versions do not say."""
    return list(client.get(f"/tasks/{task}").get("waits") or ())


def _addresses(client: Client, environment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where what is deployed can be reached."""
    try:
        return list(client.get(f"/environments/{environment['id']}/addresses")["items"])
    except Refused as error:
        if error.status != 404:  # servers of earlier versions do not say
            raise
        return []


def _unwell(client: Client, environment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The components that do not run as they should, each with the reason."""
    if not environment["health"] or environment["health"]["state"] == "running":
        return []
    found = client.get(f"/environments/{environment['id']}/health")["components"]
    return [one for one in found if one["health"]["state"] != "running"]


def _deviations(client: Client, environment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What of an environment is not as its last task left it, its servers that ended most of all."""
    try:
        return list(client.get(f"/environments/{environment['id']}/drift")["items"])
    except Refused as error:
        if error.status != 404:  # servers of earlier versions do not say
            raise
        return []


def health_line(told: Mapping[str, Any]) -> str:
    """How something is, in a line: the state, since when, and why."""
    since = f" since {when(told['since'])}" if told["since"] else ""
    return f"{told['state']}{since}{': ' if told['text'] else ''}{told['text']}"


def health(client: Client, name: str, output: str) -> None:
    """`vetro env health`."""
    environment = find.environment(client, name)
    found = client.get(f"/environments/{environment['id']}/health")
    if output != "table":
        out.print_data(found, output)
        return
    out.echo(f"{environment['name']}: {health_line(found['health']) if found['health'] else 'nothing can be watched'}")
    client.said_simulated = found["health"] is not None and found["health"]["state"] == SIMULATED
    table = []
    for one in found["components"]:
        told = one["health"]
        table.append((one["name"], "", told["state"], when(told["since"]), told["text"]))
        table += [("", _check_name(check), check["state"] or "", "", check["text"]) for check in one["checks"]]
    if table:
        out.echo("")
        out.print_table(("component", "check", "health", "since", "why"), table)
    names = {one["id"]: one["name"] for one in found["components"]}
    if found["changes"]:
        out.echo("")
        changes = [
            (
                when(row["at"]),
                names.get(row["component_id"], row["component_id"] or ""),
                row["state"] or "",
                row["text"],
            )
            for row in found["changes"][:20]
        ]
        out.print_table(("when", "component", "health", "why"), changes)


def _check_name(check: Mapping[str, Any]) -> str:
    """What a check is called; one that no author declared says so."""
    return f"{check['name']} (guessed)" if check.get("guessed") else str(check["name"])


def drift(client: Client, name: str, output: str) -> None:
    """`vetro env drift`."""
    environment = find.environment(client, name)
    found = client.get(f"/environments/{environment['id']}/drift")
    if output != "table":
        out.print_data(found, output)
        return
    if found["items"]:
        out.print_table(
            ("what", "repair", "kind"),
            [(one["text"], "yes" if one["repaired"] else "", one["kind"]) for one in found["items"]],
        )
    if found["text"]:
        out.note(f"nothing is known of its cloud: {found['text']}")
    elif not found["items"]:
        out.note(f"environment '{environment['name']}' is as it was left; its cloud was listed {when(found['looked'])}")


def repair(client: Client, name: str, only_plan: bool, sure: bool, **options: Any) -> None:
    """`vetro env repair`: the plan, a question, then the repair."""
    environment = find.environment(client, name)
    path, label = f"/environments/{environment['id']}/repair", environment["name"]
    names = names_in(newest(client, environment))
    if only_plan or not sure:
        ended = follow(client, client.post(path, {"plan": True}), names=names, what="planning the repair", **options)
        conclude(client, ended, label)
        print_plan(ended["result"], "table")
    if only_plan:
        return
    if not out.confirmed(f"repair environment '{label}'?", sure):
        out.note(UNCHANGED)
        return
    finish(client, client.post(path), environment, names=names, **options)


def choose_repair(client: Client, name: str, how: str) -> None:
    """`vetro env repair --when`."""
    environment = find.environment(client, name)
    if client.local:
        raise NotThere("nobody watches environments of this machine: --when is for servers")
    client.patch(f"/environments/{environment['id']}", {"repair": how})
    out.note(f"repairs of environment '{environment['name']}': {how}")


def task_label(task: Mapping[str, Any]) -> str:
    """What people call a task: on this machine its number, on a server its id."""
    return str(task.get("number") or task["id"])


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
        out.print_table(("component", "class", "server", "addresses"), table)
    for component, name, value in outputs(model, _addresses(client, environment), simulated):
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


def deploy_again(client: Client, name: str, said: Mapping[str, Any], **options: Any) -> None:
    """`vetro env deploy`: the environment as it is, or the caller's draft where somebody began one."""
    environment = find.environment(client, name)
    say_cloud(client, environment)
    session = draft_of(client, environment)
    own = session is None
    session = session or client.post(f"/environments/{environment['id']}/sessions")
    model = present(client, environment)
    if own and is_empty(client, environment, model):
        client.delete(f"/sessions/{session['id']}")
        raise NotThere(f"environment '{environment['name']}' is empty", f"vetro deploy PATH --env {name}")
    if said.get("guard"):
        said = guard.tell_way_back(client, session, said)
    task = begin(client, session, own, body=said)
    finish(client, task, environment, names=names_in(model), **options)


def realize(client: Client, name: str, driver: str, **options: Any) -> None:
    """`vetro env realize`: what is simulated is deployed anew where servers run."""
    environment = find.environment(client, name)
    body = {}
    if is_local(client) and environment["simulated"]:
        client.require_free(environment["id"])
        body = {"cloud": _real_cloud(client, driver, quiet=bool(options.get("quiet")))}
    elif not client.local:
        if environment["simulated"]:
            _build_there(client, quiet=bool(options.get("quiet")))
        say_cloud(client)
    model = newest(client, environment)
    task = client.post(f"/environments/{environment['id']}/realize", body or None)
    client.said_simulated = True  # it was, and is no more
    finish(client, task, environment, names=names_in(model), **options)


def _build_there(client: Client, *, quiet: bool) -> None:
    """Has a service build the image that its servers start from, where that is all that is missing, and waits for it.

    Nothing for who may not: what is missing is told when the environment is to be made real. Raises `NotThere`.
    """
    try:
        found = client.get("/images/build")
    except Refused as error:
        if error.status not in (403, 404):  # somebody else's to do; a service of before
            raise
        return
    if not found["wanted"]:
        return
    if found["build"] is None or found["build"]["state"] != "running":
        out.note("servers can run there, once there is an image for them: it is built now")
        found = client.post("/images/build")
    step = ""
    while (build := found["build"])["state"] == "running":
        if build["step"] != step and not quiet:
            step = build["step"]
            out.note(f"{time.time() - build['begun']:6.1f}s  {step}")
        time.sleep(1)
        found = client.get("/images/build")
    if build["state"] == "failed":
        raise NotThere(f"the image could not be built: {build['error']}", build["hint"])


def _real_cloud(client: LocalClient, driver: str, *, quiet: bool) -> dict[str, Any]:
    """A kind that executes something; the image that it starts servers from is built where nothing else is missing."""
    config = client.workspace.config
    place = Place(directory=config.path("cloud.directory"))
    wanted = cloud_settings.named_kind(config)[0] if driver in kinds.AUTOMATIC else driver
    hint: str | None
    try:
        choice = kinds.choose(place, wanted=wanted)
        hint = None if cloud_settings.selection(config, {"kind": choice.name}).executes else choice.hint
    except kinds.KindMissing as error:
        hint = error.hint
        if hint != BUILD_IMAGE:
            raise
    if hint == BUILD_IMAGE:
        from vetro.cli.commands.image_files import built  # what makes images takes long to load

        out.note("servers can run here, once there is an image for them: it is built now")
        built(DEFAULT, quiet=quiet)
        cloud_settings.look_again(config)
    return chosen_cloud(client, driver, None, quiet=quiet)


def is_empty(client: Client, environment: Mapping[str, Any], model: Environment) -> bool:
    """Whether there is nothing to deploy; on this machine an environment without applications can be made as well."""
    return not model.applications and (not client.local or environment["status"] == EMPTIED)


def draft_of(client: Client, environment: Mapping[str, Any]) -> dict[str, Any] | None:
    """The caller's newest session with changes that can be deployed; of a server's it is said that it is used."""
    session = own_draft(client, environment)
    if session is not None and not client.local:
        out.note(f"session {session['id']} has changes that are not deployed: it is used")
    return session


def begin(
    client: Client,
    session: Mapping[str, Any],
    own: bool,
    what: str = "deploy",
    body: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The task that deploys a session (or plans it); one of our ``own`` does not stay behind a refusal. ``body``: what
    is said of its way back (`vetro.cli.guard_options.guard_of`)."""
    try:
        return dict(client.post(f"/sessions/{session['id']}/{what}", dict(body) if body else None))
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


def power(client: Client, name: str, action: str, what: str, force: bool, **options: Any) -> None:
    """`vetro env start|stop|restart`."""
    environment = find.environment(client, name)
    task = client.post(f"/environments/{environment['id']}/{action}", {"what": what, "force": force})
    done, doing = POWER[action]
    names = names_in(newest(client, environment))
    finish(client, task, environment, show=False, names=names, what=doing, **options)
    about = f"'{what}' of environment '{environment['name']}'" if what else f"environment '{environment['name']}'"
    out.note(out.style(f"{about} is {done}", fg="green"))


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


def go_on(client: Client, wanted: str, cancel: bool, abandon: bool, **options: Any) -> None:
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


def interrupted(client: Client, environment: Mapping[str, Any]) -> dict[str, Any] | None:
    """The task of an environment of this machine that has not ended."""
    tasks = client.items("/tasks", most=1, environment=environment["id"], limit=1)
    return next((task for task in tasks if not task["final"]), None)


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
