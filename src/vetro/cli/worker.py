"""`vetro worker`: one more worker for a service, on this machine or another."""

from __future__ import annotations

import click

from vetro.cli import output as out
from vetro.cli.serve import settings_options


@click.command("worker")
@click.option("--tasks", type=click.IntRange(1), help="Tasks that run at once [4].")
@click.option("--label", "labels", multiple=True, help="A cloud or region that it may serve; several times for more.")
@settings_options
def command(
    tasks: int | None, labels: tuple[str, ...], data: str | None, config: str | None, database: str | None
) -> None:
    """Join the database of a service and run its tasks.

    It needs the service's database, its keys (setting secrets.key_file) and its package archives (storage.blobs).
    SIGTERM ends it when its tasks are at a safe point; another worker continues them.

    \b
    Examples:
      vetro worker --database postgresql://vetro:SECRET@db/vetro
      vetro worker --data /srv/vetro --tasks 8
    """
    import os

    from vetro.server.serving_children import PARENT, die_with_parent

    embedded = PARENT in os.environ
    die_with_parent()
    from vetro.server.config import Config
    from vetro.server.observe import logs, traces
    from vetro.server.setup import setup

    with out.explained():
        overrides = {"worker.tasks": tasks, "worker.labels": list(labels) or None, "database.url": database}
        settings = setup(Config.load(data, config, overrides))
        logs.configure(settings)
        traces.configure(settings, "vetro-worker")
        from vetro.server.config_shown import without_password
        from vetro.server.dbtools.fitting import require_fitting
        from vetro.server.dispatch.worker import main

        def ready() -> None:
            if not embedded:
                where = without_password(settings["database.url"]) or f"SQLite in {settings.data}"
                out.note(f"this worker takes tasks ({where}); Ctrl-C ends it, other workers continue what it runs")

        require_fitting(settings)
        status = main(settings, ready=ready)
    raise SystemExit(status)
