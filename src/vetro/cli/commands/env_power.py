"""`vetro env start|stop|restart`: servers of an environment, of a workspace or of a server, switched on and off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from vetro.cli import output as out
from vetro.cli.client.connect import server
from vetro.cli.client.contexts import context_option
from vetro.cli.environments import lifecycle
from vetro.cli.name_completion import environments
from vetro.cli.task_run import run_options

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _arguments(command: _Command) -> _Command:
    for decorate in (
        run_options,
        context_option,
        click.option("--force", is_flag=True, help="Call no methods of applications before and after."),
        click.argument("what", metavar="[APPLICATION]", default=""),
        click.argument("name", shell_complete=environments),
    ):
        command = decorate(command)
    return command


@click.command("start")
@_arguments
def start_command(name: str, what: str, force: bool, workspace: str | None, **options: Any) -> None:
    """Start servers that do not run, those first that others need.

    APPLICATION is an application or a server, by name or id; without it all of the environment are meant.

    \b
    Examples:
      vetro start shop
      vetro start shop web-1
    """
    _power(name, "start", what, force, workspace, options)


@click.command("stop")
@_arguments
def stop_command(name: str, what: str, force: bool, workspace: str | None, **options: Any) -> None:
    """Stop servers, those last that others need; they keep their disks.

    APPLICATION is an application or a server, by name or id; without it all of the environment are meant.
    They stay stopped, also when this machine is started again, until 'vetro start' or a deployment starts them.

    \b
    Examples:
      vetro stop shop
      vetro stop shop db
    """
    _power(name, "stop", what, force, workspace, options)


@click.command("restart")
@_arguments
def restart_command(name: str, what: str, force: bool, workspace: str | None, **options: Any) -> None:
    """Restart servers: all are stopped before the first is started.

    APPLICATION is an application or a server, by name or id; without it all of the environment are meant.

    \b
    Examples:
      vetro restart shop
      vetro restart shop web-1
    """
    _power(name, "restart", what, force, workspace, options)


def _power(name: str, action: str, what: str, force: bool, workspace: str | None, options: dict[str, Any]) -> None:
    with out.explained(), server(workspace) as client:
        lifecycle.power(client, name, action, what, force, **options)
