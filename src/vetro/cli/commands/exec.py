"""`vetro exec` and `vetro ssh`: commands and terminals in servers."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from vetro.cli import output as out
from vetro.cli.client.connect import server as connected
from vetro.cli.client.contexts import context_option
from vetro.cli.environments import server_commands
from vetro.cli.name_completion import environments
from vetro.cli.task_run import workspace_option


class CommandLine(click.Command):
    """What stands behind `--` belongs to the server."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Sets the words of the server's command aside."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["words"] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


@click.command("exec", cls=CommandLine, options_metavar="[OPTIONS]")
@click.argument("name", shell_complete=environments)
@click.argument("server", default="")
@click.option("-i", "--input", "takes_input", is_flag=True, help="Give the command your standard input.")
@click.option("-t", "--terminal", is_flag=True, help="Give it a terminal, which is yours: an interactive program.")
@context_option
@workspace_option
@click.pass_context
def exec_command(
    ctx: click.Context, name: str, server: str, takes_input: bool, terminal: bool, workspace: str | None
) -> None:
    """Run a command in a server, as its root: NAME [SERVER] -- COMMAND [ARGUMENTS].

    SERVER is a server by name or id, or an application that has a single one; without it the only server of the
    environment is meant. What the command writes comes as it writes it, both streams apart, and 'vetro exec' ends with
    its status. No shell reads the words: for one, run it ('sh -c ...'). The command ends with this one. Who, when,
    which server and which program is audited; arguments, input and output are kept nowhere.

    \b
    Examples:
      vetro exec shop -- uptime
      vetro exec shop web-1 -- sh -c 'df -h | head -3'
      vetro exec shop db -i -- psql app < query.sql
      vetro exec shop web-1 -t -- top
    """
    words: Sequence[str] = ctx.meta["words"]
    if not words and not terminal:
        raise click.UsageError("Give the command behind '--', or open a shell with 'vetro ssh'")
    _run(ctx, name, server, words, takes_input, terminal, workspace)


@click.command("ssh", cls=CommandLine)
@click.argument("name", shell_complete=environments)
@click.argument("server", default="")
@context_option
@workspace_option
@click.pass_context
def ssh_command(ctx: click.Context, name: str, server: str, workspace: str | None) -> None:
    """Open a terminal in a server, as its root.

    No ssh daemon, key or address is needed: the service has a way into its servers, and lets those in who may change
    the environment. The shell ends with this command. A command behind '--' runs instead of the shell.

    \b
    Examples:
      vetro ssh shop
      vetro ssh shop web-1
    """
    _run(ctx, name, server, ctx.meta["words"], True, True, workspace)


def _run(
    ctx: click.Context,
    name: str,
    server: str,
    words: Sequence[str],
    takes_input: bool,
    terminal: bool,
    workspace: str | None,
) -> None:
    if terminal and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("A terminal in a server needs one here; 'vetro exec' runs commands without.")
    with out.explained(), connected(workspace) as client:
        status = server_commands.run(client, name, server, words, takes_input=takes_input, terminal=terminal)
    ctx.exit(status)
