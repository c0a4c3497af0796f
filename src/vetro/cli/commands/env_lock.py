"""`vetro env lock|why|restore`: with which packages an environment was deployed, why these, and going back to them."""

from __future__ import annotations

from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client.connect import server
from vetro.cli.client.contexts import context_option
from vetro.cli.environments import history, locks
from vetro.cli.name_completion import environments
from vetro.cli.task_run import run_options, workspace_option


@click.command("lock")
@click.argument("name", shell_complete=environments)
@click.option("--state", type=click.IntRange(0), metavar="N", help="That of state N.  [default: the newest]")
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
def lock_command(name: str, state: int | None, workspace: str | None, output: str) -> None:
    """Show which archives an environment was deployed with.

    As JSON it has the choices, too: who asked for which package, and in which versions.

    \b
    Examples:
      vetro env lock shop
      vetro env lock shop --state 3 -o json
    """
    with out.explained(), server(workspace) as client:
        locks.show(client, name, state, output)


@click.command("why")
@click.argument("name", shell_complete=environments)
@click.argument("package", metavar="[PACKAGE[/VERSION]]", required=False)
@context_option
@workspace_option
@out.output_option("text", "json", "yaml")
def why_command(name: str, package: str | None, workspace: str | None, output: str) -> None:
    """Tell why an environment has its packages in these versions.

    From objects to their classes, and to what packages require. With a version that the environment does not have it
    says what keeps that out.

    \b
    Examples:
      vetro env why shop
      vetro env why shop com.example.Database
      vetro env why shop com.example.Database/2.0.0
    """
    with out.explained(), server(workspace) as client:
        locks.why(client, name, package, output)


@click.command("restore")
@click.argument("name", shell_complete=environments)
@click.argument("number", type=click.IntRange(0))
@click.option("--plan", is_flag=True, help="Show what would be done instead.")
@click.option("--draft", is_flag=True, help="Only begin a draft that is that state.")
@click.option("--yes", is_flag=True, help="Do it without showing the plan and asking.")
@context_option
@run_options
def restore_command(
    name: str, number: int, plan: bool, draft: bool, yes: bool, workspace: str | None, **options: Any
) -> None:
    """Deploy an earlier state of an environment with the packages that it had then.

    Exactly the archives of its lock are used. What is to be done is shown first. Scripts that ran in servers since are
    not undone, and data in servers stay as they are.

    \b
    Examples:
      vetro env history shop
      vetro env restore shop 3 --plan
      vetro env restore shop 3
    """
    if plan + draft + yes > 1:
        raise click.UsageError("use one of --plan, --draft and --yes")
    with out.explained(), server(workspace) as client:
        if draft:
            history.begin_restoring(client, name, number)
        else:
            history.restore(client, name, number, plan, yes, **options)
