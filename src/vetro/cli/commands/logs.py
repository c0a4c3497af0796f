"""`vetro logs`: consoles and journals of servers."""

from __future__ import annotations

import click

from vetro.cli import output as out
from vetro.cli.client.connect import server as connected
from vetro.cli.client.contexts import context_option
from vetro.cli.environments import server_logs
from vetro.cli.name_completion import environments
from vetro.cli.task_run import workspace_option


@click.command("logs")
@click.argument("name", shell_complete=environments)
@click.argument("server", default="")
@click.option("--console", "source", flag_value="console", help="What is printed on the console. [default]")
@click.option("--journal", "source", flag_value="journal", help="What the services say, while the server runs.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is added, until Ctrl-C.")
@click.option("-n", "--lines", type=click.IntRange(1, 2000), default=200, show_default=True, help="Lines at first.")
@context_option
@workspace_option
@out.output_option("text", "json", "yaml")
def command(
    name: str, server: str, source: str | None, follow: bool, lines: int, workspace: str | None, output: str
) -> None:
    """Print what the servers of an environment say: the end of their consoles, or of their journals.

    SERVER is a server by name or id, or an application that has a single one; without it all are meant, and each line
    begins with the name of its server. What would command your terminal is left out, secrets of the model are masked.

    \b
    Examples:
      vetro logs shop
      vetro logs shop web-1 --journal -n 50
      vetro logs shop web-1 --follow
    """
    if follow and output != "text":
        raise click.UsageError("--follow goes with '-o text' only")
    with out.explained(), connected(workspace) as client:
        server_logs.show(client, name, server, source or "console", lines, follow, output)
