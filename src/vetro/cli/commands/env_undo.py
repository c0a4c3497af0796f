"""`vetro env undo|keep`: updates with a way back, taken or let go."""

from __future__ import annotations

from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client.connect import server
from vetro.cli.client.contexts import context_option
from vetro.cli.environments import guard
from vetro.cli.name_completion import environments
from vetro.cli.task_run import run_options


@click.command("undo")
@click.argument("name", shell_complete=environments)
@click.option("--plan", is_flag=True, help="Show what would be done instead.")
@click.option("--yes", is_flag=True, help="Do it without showing that and asking.")
@context_option
@run_options
def undo_command(name: str, plan: bool, yes: bool, workspace: str | None, **options: Any) -> None:
    """Take the update of an environment back: disks, addresses, stacks, model and packages are as they were before.

    It needs what the update kept (--guard), so it works while that runs and for as long as --hold said. No code of
    packages runs. What was written on the servers since is lost.

    \b
    Examples:
      vetro upgrade shop --hold 24h
      vetro env undo shop --plan
      vetro env undo shop
    """
    with out.explained(), server(workspace) as client:
        guard.undo(client, name, plan, yes, **options)


@click.command("keep")
@click.argument("name", shell_complete=environments)
@context_option
@run_options
def keep_command(name: str, workspace: str | None, **options: Any) -> None:
    """Keep what an update made, and let go of what is held: it cannot be taken back any more."""
    with out.explained(), server(workspace) as client:
        guard.keep(client, name, **options)
