"""`vetro serve`: the service on this machine."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from vetro.cli import output as out
from vetro.cli.arguments import settings_options
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.http.supervisor import serve
from vetro.server.observe import logs
from vetro.yaql.errors import VetroError


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
    with out.explained():
        overrides = {
            "server.host": host,
            "server.port": port,
            "worker.embedded": workers,
            "database.url": database,
        }
        settings = Config.load(data, config, overrides)
        logs.configure(settings)
        with suppress(VetroError):  # what is wrong with a cloud is told by the start itself
            out.note(cloud_settings.selection(settings).text)
        status = serve(settings, Path(ready_file) if ready_file else None, out.note)
    raise SystemExit(status)
