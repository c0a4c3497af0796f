"""`vetro serve`: the service on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from vetro.cli import output as out

F = TypeVar("F", bound=Callable[..., Any])


def settings_options(function: F) -> F:
    """``--data``, ``--config`` and ``--database``: which installation a command is about."""
    for option in (
        click.option("--database", metavar="URL", help="sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME."),
        click.option("--config", "config", type=click.Path(dir_okay=False), metavar="FILE", help="File of settings."),
        click.option(
            "--data",
            type=click.Path(file_okay=False),
            metavar="DIR",
            help="Data directory [~/.local/share/vetro/server].",
        ),
    ):
        function = option(function)
    return function


@click.command("serve")
@click.option("--host", help="Address to listen on [127.0.0.1].")
@click.option("--port", type=click.IntRange(0, 65535), help="Port [8082]; 0 takes a free one.")
@click.option("--workers", type=click.IntRange(0), help="Workers that run tasks [1]; 0: none here.")
@settings_options
@click.option("--ready-file", type=click.Path(dir_okay=False), metavar="FILE", help="Gets {url, pid} once all answers.")
def command(
    host: str | None,
    port: int | None,
    workers: int | None,
    data: str | None,
    config: str | None,
    database: str | None,
    ready_file: str | None,
) -> None:
    """Start the service: API, pages and workers.

    Makes the data directory, the database and a first administrator where there are none; the link that signs you in
    is printed. SIGTERM and Ctrl-C end everything; tasks that run are continued at the next start.

    \b
    Examples:
      vetro serve
      vetro serve --host 0.0.0.0 --port 80 --database postgresql://vetro:SECRET@db/vetro --workers 2
      vetro config show
    """
    from vetro.server.config.config import Config
    from vetro.server.http.supervisor import serve
    from vetro.server.observe import logs

    with out.explained():
        overrides = {
            "server.host": host,
            "server.port": port,
            "worker.embedded": workers,
            "database.url": database,
        }
        settings = Config.load(data, config, overrides)
        logs.configure(settings)
        status = serve(settings, Path(ready_file) if ready_file else None, out.note)
    raise SystemExit(status)
