"""`vetro env`: the environments of a workspace."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.deploying import run_options, workspace_option


@click.group("env")
def command() -> None:
    """Look at environments and change them.

    \b
    Examples:
      vetro env list
      vetro env show shop
      vetro env action shop backup --app db
      vetro env log shop
      vetro env destroy shop
    """


@command.command("list")
@workspace_option
@out.output_option("table", "json", "yaml")
def list_command(workspace: str | None, output: str) -> None:
    """List the environments with their state."""
    from vetro.cli.deploying import open_workspace

    with out.explained():
        place = open_workspace(workspace)
        found = [_overview_or_damage(place, name) for name in place.names()]
    if output != "table":
        out.print_data(found, output)
    elif not found:
        out.note("no environments yet; 'vetro deploy PATH' makes one")
    else:
        rows = [
            (
                e["name"],
                e["status"],
                e.get("applications"),
                e.get("driver"),
                _when(e["changed"]) if "changed" in e else "",
            )
            for e in found
        ]
        out.print_table(("name", "status", "applications", "servers by", "changed"), rows)


def _overview_or_damage(place: Any, name: str) -> dict[str, Any]:
    """An overview; of an environment that cannot be read, what is wrong with it: the others are shown all the same."""
    from vetro.engine.workspace.files import WorkspaceError

    try:
        return _overview(place.get(name))
    except WorkspaceError as error:
        out.note(out.shown(error.message))
        return {"name": name, "status": "damaged", "error": error.message}


def _overview(folder: Any) -> dict[str, Any]:
    ended = [told["ended"] for told in (t.summary() for t in folder.tasks()) if told["ended"] is not None]
    return {
        "name": folder.name,
        "id": folder.id,
        "status": folder.status(),
        "applications": len(folder.model().applications),
        "driver": folder.setting("driver"),
        "created": folder.created,
        "changed": ended[-1] if ended else folder.created,
    }


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


@command.command("show")
@click.argument("name")
@click.option("--model", "number", type=int, metavar="N", help="Print model N instead ('-1': the newest).")
@workspace_option
@out.output_option("table", "json", "yaml")
def show_command(name: str, number: int | None, workspace: str | None, output: str) -> None:
    """Show an environment: components, servers, addresses, packages, history."""
    from vetro.cli.deploying import open_workspace
    from vetro.cli.summary import outputs, rows

    with out.explained():
        folder = open_workspace(workspace).get(name)
        environment = folder.model(None if number is None or number < 0 else number)
        if number is not None:
            out.print_data(environment.model, "yaml" if output == "table" else output)
            return
        history = [t.summary() for t in folder.tasks()]
    table = rows(environment)
    if output != "table":
        data = {
            **_overview(folder),
            "packages": folder.packages,
            "components": [dict(zip(("component", "class", "server", "addresses"), r, strict=True)) for r in table],
            "tasks": [{k: told[k] for k in ("number", "kind", "method", "state")} for told in history],
        }
        out.print_data(data, output)
        return
    out.echo(f"{folder.name}: {folder.status()}, servers by {folder.setting('driver')}, {folder.path}")
    if table:
        out.echo("")
        out.print_table(("component", "class", "server", "addresses"), table)
    for component, key, value in outputs(environment):
        out.echo(f"{component}.{key}: {value}")
    if history:
        out.echo("")
        shown = [
            (
                told["number"],
                told["method"] or told["kind"],
                told["state"],
                _when(told["ended"]) if told["ended"] else "",
            )
            for told in history
        ]
        out.print_table(("task", "what", "state", "ended"), shown)
    if folder.packages:
        out.echo("")
        out.print_table(("package", "version"), [(p["name"], p["version"]) for p in folder.packages])


@command.command("deploy")
@click.argument("name")
@run_options
def deploy_command(name: str, workspace: str | None, timeout: float | None, quiet: bool, verbose: bool) -> None:
    """Deploy an environment again as it is: repairs what a failed deployment left undone."""
    from vetro.engine.models import Environment

    def build(folder: Any) -> tuple[str, Mapping[str, Any], dict[str, Any]]:
        model = folder.model()
        if model.root is None:
            out.fail(f"environment '{name}' is empty", "vetro deploy PATH --env " + name)
        return "deploy", Environment(model.model).deployed().model, {}

    _run(name, workspace, timeout, quiet, verbose, build)


@command.command("action")
@click.argument("name")
@click.argument("method")
@click.option("--app", metavar="NAME", help="Application (name or id) when there are several; any object id.")
@click.option("--arg", "pairs", multiple=True, metavar="NAME=VALUE", help="Argument; the value is YAML. Repeatable.")
@out.output_option("yaml", "json")
@run_options
def action_command(
    name: str,
    method: str,
    app: str | None,
    pairs: tuple[str, ...],
    output: str,
    workspace: str | None,
    timeout: float | None,
    quiet: bool,
    verbose: bool,
) -> None:
    """Run a public method of an application; its result goes to standard output."""
    from vetro.cli.arguments import named_values

    args = named_values(pairs, "--arg")

    def build(folder: Any) -> tuple[str, Mapping[str, Any], dict[str, Any]]:
        model = folder.model()
        target = _target(model, name, app)
        _check_action(folder, target, method)
        wanted = str(target["?"]["id"])
        return "action", model.deployed().model, {"method": method, "args": args, "object_id": wanted}

    outcome = _run(name, workspace, timeout, quiet, verbose, build, summary=False)
    out.print_data(outcome.result, output)


def _target(model: Any, name: str, app: str | None) -> dict[str, Any]:
    """The object whose method is meant."""
    from vetro.engine.models.environment import class_of

    applications = model.applications
    if app is not None:
        found = model.application(app) or next((o for o in model.objects() if o["?"].get("id") == app), None)
        if found is None:
            meant = [a for a in applications if app in (_label(a), class_of(a))]
            if meant:
                ids = ", ".join(f"{a['?']['id']} ({class_of(a)})" for a in meant)
                out.fail(f"environment '{name}' has {len(meant)} applications '{app}'", f"give an id: {ids}")
            names = ", ".join(_label(a) for a in applications) or "no applications"
            out.fail(f"environment '{name}' has no application '{app}'", f"there are {names}")
        return dict(found)
    if len(applications) != 1:
        names = ", ".join(f"{_label(a)} ({class_of(a)})" for a in applications)
        out.fail(f"environment '{name}' has {len(applications)} applications", f"say which with --app: {names}")
    return dict(applications[0])


def _check_action(folder: Any, target: dict[str, Any], method: str) -> None:
    """Ends the command when the object's class has no such public method: no task is spent on a slip."""
    from vetro.cli.loading import extended, load_packages
    from vetro.muranopl import Engine
    from vetro.yaql.didyoumean import suggest

    known, extensions = extended(load_packages(folder.package_paths()))
    session = Engine(known, natives=extensions.natives).session()
    written, _, package = str(target["?"]["type"]).partition("@")
    class_name, _, version = written.partition("/")
    kind = session.type_for(class_name, version or None, package or None)
    found = kind.find_method(method) if not method.startswith(".") else None
    if found is not None and found.public:
        return
    public = sorted(n for n, m in kind.methods.items() if m.public)
    close = suggest(method, public)
    listed = f"its actions are {', '.join(public)}" if public else "it has no actions"
    what = "is no action" if found is not None else "does not exist"
    out.fail(f"method '{method}' of class {class_name} {what}", f"did you mean '{close}'?" if close else listed)


def _label(application: Mapping[str, Any]) -> str:
    from vetro.cli.summary import name_of

    return name_of(application)


@command.command("destroy")
@click.argument("name")
@click.option("--keep", is_flag=True, help="Keep the empty environment with its history.")
@click.option("--abandon", is_flag=True, help="Only forget it: servers and resources stay where they are.")
@run_options
def destroy_command(
    name: str,
    keep: bool,
    abandon: bool,
    workspace: str | None,
    timeout: float | None,
    quiet: bool,
    verbose: bool,
) -> None:
    """Destroy everything in an environment, then the environment."""
    from vetro.cli.deploying import open_workspace

    with out.explained():
        place = open_workspace(workspace)
        folder = place.get(name)
        if abandon:
            place.remove(folder.name)
            out.note(f"environment '{name}' is forgotten; what it deployed is still there")
            return

    def build(folder: Any) -> tuple[str, Mapping[str, Any], dict[str, Any]]:
        return "deploy", folder.model().emptied().model, {}

    if folder.tasks() and folder.status() != "destroyed":
        _run(name, workspace, timeout, quiet, verbose, build, summary=keep)
    if not keep:
        with out.explained():
            place.remove(folder.name)
        out.note(click.style(f"environment '{name}' is gone", fg="green"))


@command.command("resume")
@click.argument("name")
@click.option("--cancel", is_flag=True, help="End the interrupted task instead: its Finally blocks run.")
@click.option("--abandon", is_flag=True, help="Give the task up without running it, when it cannot be continued.")
@run_options
def resume_command(
    name: str, cancel: bool, abandon: bool, workspace: str | None, timeout: float | None, quiet: bool, verbose: bool
) -> None:
    """Go on with a task that was interrupted, where it was: nothing that was done is done again.

    With --abandon nothing is done any more: what the task had made stays, and the environment can be deployed or
    destroyed again, from the task's last checkpoint where there is one.
    """
    from vetro.cli.deploying import conclude, execute, open_workspace, show_summary
    from vetro.engine.journal_sqlite import SqliteJournal

    with out.explained():
        place = open_workspace(workspace)
        folder = place.get(name)
        with folder.lock():
            begun = folder.open_task()
            if begun is None:
                out.note(f"environment '{name}' has no interrupted task")
                return
            if abandon:
                kept = folder.give_up(begun)
                from_where = "its last checkpoint" if kept else "the model before it"
                out.note(f"task {begun.number} is given up; 'vetro env deploy {name}' starts from {from_where}")
                return
            if cancel:
                journal = SqliteJournal(folder.journal, begun.task().id)
                journal.cancel("cancelled by vetro env resume --cancel")
                journal.commit()
                journal.close()
            started = time.monotonic()
            outcome = execute(place, folder, begun, quiet=quiet, verbose=verbose, timeout=timeout)
        conclude(folder, outcome)
        show_summary(folder, time.monotonic() - started)


@command.command("resolve")
@click.argument("name")
@click.argument("key")
@click.option("--done", "answer", flag_value="done", help="It was done: go on with an empty answer.")
@click.option("--redo", "answer", flag_value="redo", help="It was not done: do it (again).")
@workspace_option
def resolve_command(name: str, key: str, answer: str | None, workspace: str | None) -> None:
    """Decide about an effect of which nobody knows whether it was done; then 'vetro env resume'."""
    from vetro.cli.deploying import open_workspace
    from vetro.engine.journal_decisions import resolve
    from vetro.engine.journal_sqlite import SqliteJournal

    if answer is None:
        raise click.UsageError("Say --done or --redo.")
    with out.explained():
        folder = open_workspace(workspace).get(name)
        with folder.lock():
            begun = folder.open_task()
            if begun is None:
                out.fail(f"environment '{name}' has no interrupted task")
            journal = SqliteJournal(folder.journal, begun.task().id)
            try:
                resolve(journal, key, redo=answer == "redo")
            finally:
                journal.close()
    out.note(f"decided; 'vetro env resume {name}' goes on")


@command.command("log")
@click.argument("name")
@click.option("--task", "number", type=int, metavar="N", help="Only task N.")
@click.option(
    "--level", type=click.Choice(("debug", "info", "warning", "error")), help="Only lines of at least this level."
)
@click.option("--effects", is_flag=True, help="Show what was done outside, too: the journal.")
@workspace_option
@out.output_option("text", "json", "yaml")
def log_command(
    name: str, number: int | None, level: str | None, effects: bool, workspace: str | None, output: str
) -> None:
    """Print what the tasks of an environment reported and logged, oldest first."""
    from vetro.cli.deploying import open_workspace
    from vetro.cli.envlog import read_log

    with out.explained():
        folder = open_workspace(workspace).get(name)
        lines = read_log(folder, number, level, effects)
    if output != "text":
        out.print_data(lines, output)
        return
    for line in lines:
        stamp = _when(line["at"])
        out.echo(f"{stamp} {line['task']:>3} {line['level']:<7} {line['text']}")
    if not lines:
        out.note("nothing was reported yet")


def _run(
    name: str,
    workspace: str | None,
    timeout: float | None,
    quiet: bool,
    verbose: bool,
    build: Any,
    *,
    summary: bool = True,
) -> Any:
    """Runs a task over the environment's newest model. Ends the command when it does not end well."""
    from vetro.cli.deploying import conclude, execute, open_workspace, show_summary
    from vetro.engine.workspace.running import new_task

    with out.explained():
        place = open_workspace(workspace)
        folder = place.get(name)
        with folder.lock():
            if folder.open_task() is not None:
                out.fail(
                    f"environment '{name}' has a task that was interrupted",
                    f"vetro env resume {name} goes on with it; with --cancel it is ended",
                )
            kind, model, more = build(folder)
            started = time.monotonic()
            begun = folder.begin(new_task(folder, kind, model, **more))
            outcome = execute(place, folder, begun, quiet=quiet, verbose=verbose, timeout=timeout)
        conclude(folder, outcome)
        if summary:
            show_summary(folder, time.monotonic() - started)
    return outcome
