"""`vetro serve`: the service on this machine."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import click

from vetro.cli import output as out
from vetro.cli.arguments import settings_options
from vetro.clouds.errors import CloudError
from vetro.clouds.images.recipe import DEFAULT
from vetro.clouds.kind_protocols import Place
from vetro.clouds.stacks.kind import BUILD_IMAGE
from vetro.engine.sandbox import packages_unreadable
from vetro.server.config import cloud_settings, image_choice
from vetro.server.config.config import Config
from vetro.server.http.supervisor import serve
from vetro.server.observe import logs
from vetro.yaql.errors import VetroError


@click.command("serve")
@click.option("--host", help="Address to listen on [127.0.0.1].")
@click.option("--port", type=click.IntRange(0, 65535), help="Port [8082]; 0 takes a free one.")
@click.option("--workers", type=click.IntRange(0), help="Workers that run tasks [1]; 0: none here.")
@settings_options
@click.option(
    "--build-image/--no-build-image",
    default=None,
    help="Build the image that servers start from, where that is all that is missing for real ones; without either a"
    " terminal is asked.",
)
@click.option("--ready-file", type=click.Path(dir_okay=False), metavar="FILE", help="Gets {url, pid} once all answers.")
def command(
    host: str | None,
    port: int | None,
    workers: int | None,
    data: str | None,
    config: str | None,
    database: str | None,
    build_image: bool | None,
    ready_file: str | None,
) -> None:
    """Start the service: API, pages and workers.

    Makes the data directory, the database and a first administrator where there are none; the link that signs you in
    is printed. SIGTERM and Ctrl-C end everything; tasks that run are continued at the next start.

    \b
    Examples:
      vetro serve
      vetro serve --build-image
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
        if packages_unreadable():
            out.note(
                "tasks will not be able to read packages: this container forbids root both Landlock and mounts;"
                " run Vetro as another user, or give the container CAP_SYS_ADMIN"
            )
        with suppress(VetroError):  # what is wrong with a cloud is told by the start itself
            out.note(cloud_settings.selection(settings).text)
            _offer_image(settings, build_image)
        status = serve(settings, Path(ready_file) if ready_file else None, out.note)
    raise SystemExit(status)


def _offer_image(settings: Config, wanted: bool | None) -> None:
    """Begins to build the image beside the service where that is wanted. Raises `CloudError`."""
    if wanted is False or (wanted is None and not _at_terminal()):
        return
    kind, lack = image_choice.kind_to_build_for(settings)
    if kind is None or lack is None or lack.hint != BUILD_IMAGE:
        if wanted:
            elsewhere = "servers are made by a cloud that has images of its own"
            why = elsewhere if kind is None else "there is one already" if lack is None else lack.reason
            out.note(f"no image is built: {why}")
        return
    if wanted is None:
        question = f"Build the image {DEFAULT} now, beside the service (half a minute), so that servers are real?"
        if not click.confirm(question, default=True, err=True):
            return
    try:
        kind.builds(Place(directory=settings.path("cloud.directory"))).begin_build(DEFAULT)
    except CloudError as error:  # it serves without one, too
        out.note(f"no image is built: {error.message}")
        return
    out.note(f"the image {DEFAULT} is built beside the service; what is deployed once it is there is real")


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
