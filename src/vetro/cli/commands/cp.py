"""`vetro cp`: files and folders from servers and to them."""

from __future__ import annotations

from pathlib import Path

import click

from vetro.cli import output as out
from vetro.cli.client.connect import server as connected
from vetro.cli.client.contexts import context_option
from vetro.cli.environments import server_files
from vetro.cli.task_run import workspace_option


@click.command("cp")
@click.argument("source")
@click.argument("target")
@click.option(
    "--most", type=click.IntRange(1), default=1024, show_default=True, metavar="MIB", help="Copy no more than this."
)
@context_option
@workspace_option
def command(source: str, target: str, most: int, workspace: str | None) -> None:
    """Copy a file or a folder from a server, or to it: one side is NAME:SERVER:/PATH.

    NAME:/PATH means the only server of an environment. As with 'cp', a folder as target takes the source under its own
    name. Copying needs 'tar' in the server, and is a command in it ('vetro exec'): the same people may, the same is
    audited. From a server only ordinary files and folders come, without owners; links are left out and counted.

    \b
    Examples:
      vetro cp shop:web-1:/var/log/app.log .
      vetro cp shop:/etc/nginx nginx-of-shop
      vetro cp site shop:web-1:/var/www
    """
    there, here = server_files.place_of(source), server_files.place_of(target)
    if (there is None) == (here is None):
        raise click.UsageError("One side is a path in a server (NAME:SERVER:/PATH), the other one here.")
    with out.explained(), connected(workspace) as client:
        if there is not None:
            server_files.fetch(client, there, Path(target), most << 20)
        elif here is not None:
            server_files.put(client, Path(source), here, most << 20)
