"""`vetro port-forward`: ports of servers on this machine."""

from __future__ import annotations

import click

from vetro.cli import output as out
from vetro.cli.client.connect import server as connected
from vetro.cli.client.contexts import context_option
from vetro.cli.environments.port_forwarding import Forward, forward
from vetro.cli.name_completion import environments
from vetro.cli.task_run import workspace_option


@click.command("port-forward")
@click.argument("name", shell_complete=environments)
@click.argument("words", nargs=-1, required=True, metavar="[SERVER] [LOCAL:]PORT...")
@click.option(
    "--address", default="127.0.0.1", show_default=True, help="Address of this machine that takes connections."
)
@context_option
@workspace_option
def command(name: str, words: tuple[str, ...], address: str, workspace: str | None) -> None:
    """Make ports of a server ports of this machine, until Ctrl-C.

    SERVER is a server by name or id, or an application that has a single one; without it the only server of the
    environment is meant. PORT is the same here, LOCAL:PORT another one, :PORT one that is free. What listens on the
    server's own 'localhost' is reached, too. Each connection is a command in the server ('vetro exec'): the same people
    may, the same is audited, and the server needs python3.

    \b
    Examples:
      vetro port-forward shop 8080
      vetro port-forward shop db 15432:5432
      vetro port-forward shop web-1 :80 :443
    """
    first = Forward.of(words[0])
    server, ports = ("", words) if first is not None else (words[0], words[1:])
    if not ports:
        raise click.UsageError(f"'{words[0]}' is no port: write PORT, LOCAL:PORT or :PORT")
    forwards = []
    for text in ports:
        one = Forward.of(text)
        if one is None:
            raise click.UsageError(f"'{text}' is no port: write PORT, LOCAL:PORT or :PORT, from 1 to 65535")
        forwards.append(one)
    with out.explained(), connected(workspace) as client:
        forward(client, name, server, forwards, address)
