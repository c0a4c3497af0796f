"""What a person sees of environments: their list, one with all that is in it, its health and its drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.connect import is_local
from vetro.cli.client.requests import Client, Refused
from vetro.cli.environments import guard
from vetro.cli.environments.models import present, state
from vetro.cli.environments.tasks import SIMULATED, NotThere, addresses_of, task_label
from vetro.cli.rows import print_rows, when
from vetro.cli.summary import outputs, rows


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
            "addresses": addresses_of(client, environment),
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
        out.print_table(("application", "class", "server", "addresses"), table)
    for component, key, value in outputs(model, addresses_of(client, environment), simulated):
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
        out.print_table(("application", "check", "health", "since", "why"), table)
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
        out.print_table(("when", "application", "health", "why"), changes)


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
