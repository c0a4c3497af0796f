"""`vetro worker`: one more worker for a service, on this machine or another; and a look at all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.arguments import settings_options
from vetro.cli.groups import Commands
from vetro.server.config.display import without_password
from vetro.server.http.processes import PARENT, die_with_parent

_SECONDS = click.FloatRange(0, 1e9)


@click.group("worker", cls=Commands, invoke_without_command=True)
@click.option("--tasks", type=click.IntRange(1), help="Tasks that run at once [4].")
@click.option("--label", "labels", multiple=True, help="A cloud or region that it may serve; several times for more.")
@settings_options
@click.pass_context
def command(
    context: click.Context,
    tasks: int | None,
    labels: tuple[str, ...],
    data: str | None,
    config: str | None,
    database: str | None,
) -> None:
    """Join the database of a service and run its tasks.

    It needs the service's database, its keys (setting secrets.key_file) and its package archives (storage.blobs).
    SIGTERM and Ctrl-C end it: tasks get a few seconds (worker.drain_seconds), then another worker continues them. A
    second signal ends it at once.

    \b
    Examples:
      vetro worker --database postgresql://vetro:SECRET@db/vetro
      vetro worker --data /srv/vetro --tasks 8 --label eu-1
      vetro worker list
      vetro worker drain --all
    """
    if context.invoked_subcommand is not None:
        context.obj = (data, config, database)
        return
    embedded = PARENT in os.environ
    die_with_parent()
    from vetro.cli.installation import require_there
    from vetro.server.config.config import Config
    from vetro.server.observe import logs, traces
    from vetro.server.setup import setup

    with out.explained():
        overrides = {"worker.tasks": tasks, "worker.labels": list(labels) or None, "database.url": database}
        loaded = Config.load(data, config, overrides)
        require_there(loaded)
        settings = setup(loaded)
        logs.configure(settings)
        traces.configure(settings, "vetro-worker")
        from vetro.server.operations.database.preflight import require_fitting
        from vetro.server.tasks.worker import main

        def ready() -> None:
            if not embedded:
                where = without_password(settings["database.url"]) or f"SQLite in {settings.data}"
                out.note(f"this worker takes tasks ({where}); Ctrl-C ends it, other workers continue what it runs")

        require_fitting(settings)
        status = main(settings, ready=ready)
    raise SystemExit(status)


@command.command("list")
@settings_options
@out.output_option("table", "json", "yaml")
@click.pass_obj
def list_command(
    given: tuple[str | None, ...], data: str | None, config: str | None, database: str | None, output: str
) -> None:
    """List the workers of a service: where they run, what they may serve, what they do.

    \b
    Examples:
      vetro worker list
      vetro worker list -o json --database postgresql://vetro:SECRET@db/vetro
    """
    with _installation(given, data, config, database) as settings:
        from vetro.server.tasks import labels
        from vetro.server.tasks.drain import workers

        found = workers(settings)
        missing = labels.unserved(settings)
    if output != "table":
        out.print_data([worker.as_json() for worker in found], output)
    elif found:
        columns = ("NAME", "VERSION", "LABELS", "TASKS", "STATE", "HEARD OF")
        rows = [
            (w.name, w.version, ", ".join(w.labels) or "all", w.tasks, w.state, f"{w.heard:.0f} s ago") for w in found
        ]
        out.print_table(columns, rows)
    else:
        out.note("no worker has joined")
    if missing:
        out.note(f"tasks wait for workers with these labels: {', '.join(missing)}")


@command.command("drain")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everybody", is_flag=True, help="Every worker.")
@click.option("--within", type=_SECONDS, metavar="SECONDS", help="Then others continue what still runs.")
@click.option("--wait", type=_SECONDS, default=3600.0, metavar="SECONDS", help="How long to wait [3600].")
@settings_options
@click.pass_obj
def drain_command(
    given: tuple[str | None, ...],
    names: tuple[str, ...],
    everybody: bool,
    within: float | None,
    wait: float,
    data: str | None,
    config: str | None,
    database: str | None,
) -> None:
    """Let workers finish what they run, take nothing new, and end; wait until they have.

    NAME is (the beginning of) a name that 'vetro worker list' shows. A worker that 'vetro serve' started is started
    again by it. The exit status is 1 when some are still there after --wait.

    \b
    Examples:
      vetro worker drain web1-4711
      vetro worker drain --all --within 600
    """
    if bool(names) == everybody or not all(names):
        raise click.UsageError("name workers, or --all")
    with _installation(given, data, config, database) as settings:
        from vetro.server.tasks.drain import Seen, drain, wait_until_gone

        asked = drain(names, within=within)

        def say(worker: Seen) -> None:
            doing = f"still runs {out.plural(worker.tasks, 'task')}" if worker.tasks else "ends"
            out.note(f"{worker.name} {doing}")

        left = wait_until_gone(settings, asked, wait, say)
    gone = len(asked) - len(left)
    out.note(f"{out.plural(gone, 'worker')} ended" if asked else "no worker has joined")
    if left:
        out.note(f"still there: {', '.join(worker.name for worker in left)}")
        raise SystemExit(out.FAILED)


@contextmanager
def _installation(
    given: tuple[str | None, ...], data: str | None, config: str | None, database: str | None
) -> Iterator[Any]:
    """The settings, Django set up, errors explained. Options may stand before the sub-command, too."""
    from vetro.cli.installation import installation

    before = given or (None, None, None)
    with installation(data or before[0], config or before[1], {"database.url": database or before[2]}) as settings:
        from vetro.server.operations.database import schema

        schema.require()
        yield settings
