"""`vetro env list|create|show|deploy|realize|action|destroy`: environments, of a workspace or of a server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click
from click.core import ParameterSource

from vetro.cli import output as out
from vetro.cli.arguments import content_of, named_values, read_data, secret_option
from vetro.cli.client.connect import server
from vetro.cli.client.contexts import context_option
from vetro.cli.environments import actions, lifecycle, overview, removal
from vetro.cli.guard_options import guard_of, guard_options
from vetro.cli.name_completion import environments
from vetro.cli.task_run import KindName, run_options, workspace_option
from vetro.cli.watch import watch_option
from vetro.model.files import file_object


@click.command("list")
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
@watch_option
def list_command(workspace: str | None, output: str) -> None:
    """List the environments with their state.

    \b
    Examples:
      vetro env list -o wide
      vetro env list --watch
      vetro env list -o 'jmespath=[?status==`"deploy failure"`].name'
    """
    with out.explained(), server(workspace) as client:
        overview.list_all(client, output)


@click.command("create")
@click.argument("name")
@click.option("--description", default="", metavar="TEXT", help="What it is for (on a server).")
@click.option("--region", metavar="NAME", help="Region of its cloud, where there are several (on a server).")
@click.option("--driver", type=KindName(), default="auto", help="Kind of cloud where servers are made.")
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
def create_command(
    name: str, description: str, region: str | None, driver: str, workspace: str | None, output: str
) -> None:
    """Make an empty environment. 'vetro deploy' makes the one that it needs."""
    with out.explained(), server(workspace) as client:
        if client.local and (description or region is not None):
            raise click.UsageError(f"--{'description' if description else 'region'} is for servers")
        if driver != "auto" and not client.local:
            raise click.UsageError(
                "--driver is for this machine ('vetro context use local'): a server's settings say how"
            )
        lifecycle.create(client, name, description, region, driver, output)


@click.command("show")
@click.argument("name", shell_complete=environments)
@click.option("--model", "number", type=int, metavar="N", help="Print model N instead ('-1': the newest).")
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
@watch_option
def show_command(name: str, number: int | None, workspace: str | None, output: str) -> None:
    """Show an environment: applications, servers, addresses, packages, history."""
    with out.explained(), server(workspace) as client:
        overview.show(client, name, number, output)


@click.command("deploy")
@click.argument("name", shell_complete=environments)
@guard_options
@context_option
@run_options
def deploy_command(name: str, workspace: str | None, **options: Any) -> None:
    """Deploy an environment again as it is: repairs what a failed deployment left undone.

    On a server your own draft is deployed, where you have begun one.
    """
    said = guard_of(options)
    with out.explained(), server(workspace) as client:
        lifecycle.deploy_again(client, name, said, **options)


@click.command("realize")
@click.argument("name", shell_complete=environments)
@click.option("--driver", type=KindName(), default="auto", help="Kind of cloud where servers are made.")
@context_option
@run_options
def realize_command(name: str, driver: str, workspace: str | None, **options: Any) -> None:
    """Make real what is simulated: deploy an environment anew where servers run.

    What was written down is dropped. An image for servers is built first where only that is missing, which takes some
    minutes, once; on a server administrators have it built so.
    """
    with out.explained(), server(workspace) as client:
        if driver != "auto" and not client.local:
            raise click.UsageError(
                "--driver is for this machine ('vetro context use local'): a server's settings say how"
            )
        lifecycle.realize(client, name, driver, **options)


@click.command("action")
@click.argument("name", shell_complete=environments)
@click.argument("method", required=False)
@click.option("--app", metavar="NAME", help="Application (name or id) when there are several; any object id.")
@click.option(
    "--arg", "pairs", multiple=True, metavar="NAME=VALUE", help="Argument: YAML, or @FILE: its text. Repeatable."
)
@click.option(
    "--file", "files", multiple=True, metavar="NAME=PATH", help="Argument that is a file (io.murano.File). Repeatable."
)
@click.option(
    "--upload",
    "uploads",
    multiple=True,
    metavar="NAME=PATH",
    help="Argument that is a file of any size (io.vetro.std.StoredFile). Repeatable.",
)
@secret_option
@click.option("--answers", metavar="FILE", type=click.Path(), help="Arguments (JSON or YAML); '-': standard input.")
@click.option(
    "--ask/--no-ask",
    default=None,
    help="Ask for the arguments, in the context of a server.  [default: ask on a terminal where none are given]",
)
@click.option(
    "--save",
    metavar="PATH",
    type=click.Path(),
    help="Save the result there: a file as it is, text as text, anything else as JSON.",
)
@context_option
@out.output_option("yaml", "json")
@run_options
def action_command(
    name: str,
    method: str | None,
    app: str | None,
    pairs: tuple[str, ...],
    files: tuple[str, ...],
    uploads: tuple[str, ...],
    secrets: tuple[str, ...],
    answers: str | None,
    ask: bool | None,
    save: str | None,
    output: str,
    workspace: str | None,
    **options: Any,
) -> None:
    """Run a public method of an application; its result goes to standard output. Without METHOD: list what there is.

    What stands on a command line can be read by everybody on the machine: give passwords with --secret, or in a file.

    \b
    Examples:
      vetro action shop
      vetro action shop restart
      vetro action shop backup --app db --arg target=/srv --save backups/
      vetro action shop restore --file dump=backups/shop.sql.gz
      vetro action shop publish --upload archive=site.tar.gz
      vetro action shop setPassword --secret password
      pass shop | vetro action shop setPassword --arg password=@-
    """
    if method is None:
        if click.get_current_context().get_parameter_source("output") is ParameterSource.DEFAULT:
            output = "table"  # what an action returns is no table
        with out.explained(), server(workspace) as client:
            actions.listing(client, name, app, output)
        return
    args = {**named_values(pairs, "--arg", secrets), **_files(files)}
    if answers is not None:
        data = read_data(answers)
        if not isinstance(data, Mapping):
            out.fail(f"{answers} holds no arguments", "write a mapping: 'name: value' lines")
        args = {**data, **args}
    if ask is None:
        ask = sys.stdin.isatty() and not args and not uploads
    given = dict(_pairs(uploads, "--upload"))
    with out.explained(), server(workspace) as client:
        actions.action(client, name, method, app, args, save, output, ask, given, **options)


def _files(pairs: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: file_object("" if path == "-" else os.path.basename(path), content_of(path))
        for name, path in _pairs(pairs, "--file")
    }


def _pairs(pairs: tuple[str, ...], option: str) -> Iterator[tuple[str, str]]:
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not equals or not name.isidentifier() or not path:
            raise click.BadParameter(f"'{pair}' is not of the form NAME=PATH", param_hint=option)
        yield name, path


@click.command("remove")
@click.argument("name", shell_complete=environments)
@click.argument("app")
@click.option("--plan", is_flag=True, help="Show what would be removed instead.")
@out.yes_option
@context_option
@run_options
def remove_command(name: str, app: str, plan: bool, sure: bool, workspace: str | None, **options: Any) -> None:
    """Remove one application of an environment, with all that it owns; the others stay.

    APP is its name or id. One that others use is not removed. What goes is listed before you are asked.

    \b
    Examples:
      vetro env remove shop blog --plan
      vetro env remove shop blog
    """
    with out.explained(), server(workspace, scratch=plan) as client:
        removal.remove(client, name, app, plan, sure, **options)


@click.command("destroy")
@click.argument("name", shell_complete=environments)
@click.option("--keep", is_flag=True, help="Keep the empty environment with its history.")
@click.option("--abandon", is_flag=True, help="Only forget it: servers and resources stay where they are.")
@out.yes_option
@context_option
@run_options
def destroy_command(name: str, keep: bool, abandon: bool, sure: bool, workspace: str | None, **options: Any) -> None:
    """Destroy everything in an environment, then the environment.

    Its applications and servers are listed before you are asked.

    \b
    Examples:
      vetro env destroy shop
      vetro env destroy shop --yes
      vetro env destroy shop --keep
    """
    with out.explained(), server(workspace) as client:
        removal.destroy(client, name, keep, abandon, sure, **options)


@click.command("health")
@click.argument("name", shell_complete=environments)
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
@watch_option
def health_command(name: str, workspace: str | None, output: str) -> None:
    """Show how an environment and its applications are: servers, checks, and what changed.

    A service watches what it has deployed all the time. On this machine nobody does: the command looks itself.
    """
    with out.explained(), server(workspace) as client:
        overview.health(client, name, output)


@click.command("repair")
@click.argument("name", shell_complete=environments)
@click.option("--plan", is_flag=True, help="Show what would be done instead.")
@click.option("--yes", is_flag=True, help="Do it without showing the plan and asking.")
@click.option(
    "--when",
    type=click.Choice(["off", "propose", "auto"]),
    help="Say instead what a server does when it is not as it was left; auto: it starts what does not run.",
)
@context_option
@run_options
def repair_command(name: str, plan: bool, yes: bool, when: str | None, workspace: str | None, **options: Any) -> None:
    """Make an environment again as it was left: deploy what is deployed, and no draft.

    Servers that do not run are started first, those that somebody stopped, too. Drafts stay as they are.

    
    Examples:
      vetro env drift shop
      vetro env repair shop --plan
      vetro env repair shop
    """
    if when is not None and (plan or yes):
        raise click.UsageError("--when goes with no other option")
    with out.explained(), server(workspace) as client:
        if when is not None:
            lifecycle.choose_repair(client, name, when)
        else:
            lifecycle.repair(client, name, plan, yes, **options)


@click.command("drift")
@click.argument("name", shell_complete=environments)
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
def drift_command(name: str, workspace: str | None, output: str) -> None:
    """Show what of an environment is not as its last task left it: servers, stacks, packages, drafts.

    A service lists what its clouds have every ten minutes, and when something goes down. On this machine nobody does:
    the command looks itself.
    """
    with out.explained(), server(workspace) as client:
        overview.drift(client, name, output)
