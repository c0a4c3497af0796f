"""Environments of a workspace: what `vetro env` does on this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from vetro.cli import output as out


def list_all(workspace: str | None, output: str) -> None:
    """`vetro env list`."""
    from vetro.cli.task_run import open_workspace

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
                when(e["changed"]) if "changed" in e else "",
            )
            for e in found
        ]
        out.print_table(("name", "status", "applications", "servers by", "changed"), rows)


def create(workspace: str | None, name: str, driver: str, output: str) -> None:
    """`vetro env create`."""
    from vetro.cli.task_run import choose_driver, open_workspace

    place = open_workspace(workspace)
    folder = place.create(name, driver=choose_driver(driver, place))
    if output == "table":
        out.echo(f"{folder.name}: {folder.path}")
    else:
        out.print_data(_overview(folder), output)


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


def when(seconds: float) -> str:
    """A time in the zone of this machine."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def show(workspace: str | None, name: str, number: int | None, output: str) -> None:
    """`vetro env show`."""
    from vetro.cli.summary import outputs, rows
    from vetro.cli.task_run import open_workspace

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
                when(told["ended"]) if told["ended"] else "",
            )
            for told in history
        ]
        out.print_table(("task", "what", "state", "ended"), shown)
    if folder.packages:
        out.echo("")
        out.print_table(("package", "version"), [(p["name"], p["version"]) for p in folder.packages])


def deploy_again(workspace: str | None, name: str, **options: Any) -> None:
    """`vetro env deploy`."""
    from vetro.engine.models import Environment

    def build(folder: Any) -> tuple[str, Mapping[str, Any], dict[str, Any]]:
        model = folder.model()
        if model.root is None:
            out.fail(f"environment '{name}' is empty", "vetro deploy PATH --env " + name)
        return "deploy", Environment(model.model).deployed().model, {}

    _run(name, workspace, build, **options)


def plan(workspace: str | None, name: str, output: str, **options: Any) -> None:
    """`vetro env plan`: what deploying the environment as it is would do."""
    from vetro.cli.task_run import open_workspace, rehearse
    from vetro.engine.workspace.planning import scratch

    place = open_workspace(workspace)
    folder = place.get(name)
    model = folder.model()
    if model.root is None:
        out.fail(f"environment '{name}' is empty", f"vetro deploy PATH --env {name} --plan")
    if folder.open_task() is not None:
        out.note(f"environment '{name}' has an open task: the plan starts from the state before it")
    with scratch(folder, name) as draft:
        rehearse(place, draft, model.deployed().model, output, **options)


def action(
    workspace: str | None,
    name: str,
    method: str,
    app: str | None,
    args: Mapping[str, Any],
    output: str,
    **options: Any,
) -> None:
    """`vetro env action`."""

    def build(folder: Any) -> tuple[str, Mapping[str, Any], dict[str, Any]]:
        model = folder.model()
        target = _target(model, name, app)
        _check_action(folder, target, method)
        wanted = str(target["?"]["id"])
        return "action", model.deployed().model, {"method": method, "args": args, "object_id": wanted}

    outcome = _run(name, workspace, build, summary=False, **options)
    out.print_data(outcome.result, output)


def destroy(workspace: str | None, name: str, keep: bool, abandon: bool, **options: Any) -> None:
    """`vetro env destroy`."""
    from vetro.cli.task_run import open_workspace

    place = open_workspace(workspace)
    folder = place.get(name)
    if abandon:
        place.remove(folder.name)
        out.note(f"environment '{name}' is forgotten; what it deployed is still there")
        return

    def build(folder: Any) -> tuple[str, Mapping[str, Any], dict[str, Any]]:
        return "deploy", folder.model().emptied().model, {}

    if folder.tasks() and folder.status() != "destroyed":
        _run(name, workspace, build, summary=keep, **options)
    if not keep:
        place.remove(folder.name)
        out.note(out.style(f"environment '{name}' is gone", fg="green"))


def resume(workspace: str | None, name: str, cancel: bool, abandon: bool, **options: Any) -> None:
    """`vetro env resume`."""
    from vetro.cli.task_run import conclude, execute, open_workspace, show_summary
    from vetro.engine.worker.sqlite_journal import SqliteJournal

    place = open_workspace(workspace)
    folder = place.get(name)
    with folder.lock():
        begun = folder.open_task()
        if begun is None:
            out.note(f"environment '{name}' has no interrupted task; 'vetro env deploy {name}' deploys it again")
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
        outcome = execute(place, folder, begun, **options)
    conclude(folder, outcome)
    show_summary(folder, time.monotonic() - started)


def resolve(workspace: str | None, name: str, key: str, answer: str) -> None:
    """`vetro env resolve`."""
    from vetro.cli.task_run import open_workspace
    from vetro.engine.worker.decisions import resolve as decide
    from vetro.engine.worker.sqlite_journal import SqliteJournal

    folder = open_workspace(workspace).get(name)
    with folder.lock():
        begun = folder.open_task()
        if begun is None:
            out.fail(f"environment '{name}' has no interrupted task")
        journal = SqliteJournal(folder.journal, begun.task().id)
        try:
            decide(journal, key, redo=answer == "redo")
        finally:
            journal.close()
    out.note(f"decided; 'vetro env resume {name}' goes on")


def log(workspace: str | None, name: str, number: int | None, level: str | None, effects: bool, output: str) -> None:
    """`vetro env log`."""
    from vetro.cli.environment_log import read_log
    from vetro.cli.task_run import open_workspace

    lines = read_log(open_workspace(workspace).get(name), number, level, effects)
    if output != "text":
        out.print_data(lines, output)
        return
    for line in lines:
        stamp = when(line["at"])
        out.echo(f"{stamp} {line['task']:>3} {line['level']:<7} {line['text']}")
    if not lines:
        out.note("nothing was reported yet")


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
    from vetro.cli.package_paths import extended, load_packages
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


def _run(name: str, workspace: str | None, build: Any, *, summary: bool = True, **options: Any) -> Any:
    """Runs a task over the environment's newest model. Ends the command when it does not end well."""
    from vetro.cli.task_run import conclude, execute, open_workspace, show_summary
    from vetro.engine.workspace.running import new_task

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
        outcome = execute(place, folder, begun, **options)
    conclude(folder, outcome)
    if summary:
        show_summary(folder, time.monotonic() - started)
    return outcome
