"""`vetro config`: settings and rules of a service."""

from __future__ import annotations

import click

from vetro.cli.groups import Commands, Table

TABLE: Table = {
    "show": ("config_show:show", "Show each setting with its value, where the value comes from, and what it means."),
    "policy": (
        "config_show:policy",
        "Show the rules in force: name, expression, where it comes from, what it is about.",
    ),
}


@click.group("config", cls=Commands, table=TABLE)
def command() -> None:
    """Show the settings of a service, and the rules that say who may do what.

    \b
    Examples:
      vetro config show
      vetro config show server.port -o json
      vetro config policy
    """
