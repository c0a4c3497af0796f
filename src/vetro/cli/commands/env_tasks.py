"""`vetro env log|watch|cancel|resume|resolve`: tasks of environments."""

from __future__ import annotations

from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client.connect import need_server, server
from vetro.cli.client.contexts import context_option
from vetro.cli.environments import history, tasks
from vetro.cli.name_completion import environments
from vetro.cli.task_run import run_options, workspace_option

_ON_SERVERS = "on this machine a task belongs to the command that began it, so there is nothing to {}"


@click.command("log")
@click.argument("name", shell_complete=environments)
@click.option("--task", metavar="N", help="Only this task: its number, on a server (the beginning of) its id.")
@click.option(
    "--level", type=click.Choice(("debug", "info", "warning", "error")), help="Only lines of at least this level."
)
@click.option("--effects", is_flag=True, help="Show what was done outside, too: the journal (on this machine).")
@click.option("-f", "--follow", is_flag=True, help="Go on with what a running task reports (on a server).")
@context_option
@workspace_option
@out.output_option("text", "json", "yaml")
def log_command(
    name: str, task: str | None, level: str | None, effects: bool, follow: bool, workspace: str | None, output: str
) -> None:
    """Print what the tasks of an environment reported and logged, oldest first.

    \b
    Examples:
      vetro log shop
      vetro log shop --level warning
      vetro log shop --follow
    """
    with out.explained(), server(workspace) as client:
        if client.local and follow:
            raise click.UsageError("--follow is for servers: on this machine the deployment itself shows its lines")
        if client.local and task is not None and not task.isdecimal():
            raise click.BadParameter(f"'{task}' is no number", param_hint="--task")
        if effects and not client.local:
            raise click.UsageError("--effects is for this machine: the journals of a server stay there")
        if follow and output != "text":
            raise click.UsageError("--follow goes with '-o text' only")
        history.log(client, name, task, level, effects, follow, output)


@click.command("watch")
@click.argument("name", metavar="NAME|TASK", shell_complete=environments)
@context_option
@click.option("-v", "--verbose", is_flag=True, help="Show the log lines of the packages, too.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress, only how it ended.")
def watch_command(name: str, **options: Any) -> None:
    """Watch the task of an environment on a server until it ends; the exit status says how."""
    with out.explained(), need_server(_ON_SERVERS.format("watch")) as client:
        tasks.watch(client, name, **options)


@click.command("cancel")
@click.argument("name", metavar="NAME|TASK", shell_complete=environments)
@click.option("--reason", default="", metavar="TEXT", help="Why; it is kept with the task.")
@context_option
def cancel_command(name: str, reason: str) -> None:
    """Cancel the task of an environment on a server: it ends at its next safe point."""
    with out.explained(), need_server(_ON_SERVERS.format("cancel from elsewhere")) as client:
        tasks.cancel(client, name, reason)


@click.command("resume")
@click.argument("name", shell_complete=environments)
@click.option("--cancel", is_flag=True, help="End the interrupted task instead: its Finally blocks run.")
@click.option("--abandon", is_flag=True, help="Give the task up without running it (on this machine).")
@context_option
@run_options
def resume_command(name: str, cancel: bool, abandon: bool, workspace: str | None, **options: Any) -> None:
    """Go on with a task that was interrupted, where it was: nothing that was done is done again.

    With --abandon nothing is done any more: what the task had made stays, and the environment can be deployed or
    destroyed again, from the task's last checkpoint where there is one. A server continues interrupted tasks by itself:
    there a running one is watched, and one that failed is tried again from where it was.
    """
    with out.explained(), server(workspace) as client:
        if client.local:
            tasks.resume_here(client, name, cancel, abandon, **options)
        elif abandon:
            raise click.UsageError("--abandon is for this machine; on a server use 'vetro env cancel'")
        elif cancel:
            tasks.cancel(client, name, "cancelled by vetro env resume --cancel")
        else:
            tasks.resume(client, name, **options)


@click.command("resolve")
@click.argument("name", shell_complete=environments)
@click.argument("key")
@click.option("--done", "answer", flag_value="done", help="It was done: go on with an empty answer.")
@click.option("--redo", "answer", flag_value="redo", help="It was not done: do it (again).")
@context_option
@workspace_option
def resolve_command(name: str, key: str, answer: str | None, workspace: str | None) -> None:
    """Decide about an effect of which nobody knows whether it was done.

    Then 'vetro env resume' goes on; a server goes on by itself, and 'vetro env watch' shows it.
    """
    if answer is None:
        raise click.UsageError("Say --done or --redo.")
    with out.explained(), server(workspace) as client:
        tasks.resolve(client, name, key, answer)
