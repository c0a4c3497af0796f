"""`vetro quota`: what projects may have at most, and have: at a server, or in the workspace of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import click

from vetro.cli import output as out
from vetro.cli.client.connect import need_server
from vetro.cli.client.contexts import chosen, context_option
from vetro.cli.groups import Commands
from vetro.clouds.quotas import OF_CLOUD, QUOTAS, UNLIMITED, parsed
from vetro.clouds.stacks.reservations import used_in
from vetro.server.local.workspace import PROJECT, Workspace

_WHAT = "limits of projects are set at a server"
#: Columns of the table.
_COLUMNS = ("name", "used", "limit", "unit", "default", "meaning")


@click.group("quota", cls=Commands)
def command() -> None:
    """Look at the quotas of a project: what it may have at most, and has; administrators set them.

    \b
    Examples:
      vetro quota show
      vetro quota set demo servers=20 addresses=none memory=default
    """


@command.command("show")
@click.argument("project", required=False)
@context_option
@out.output_option("table", "json", "yaml")
def show_command(project: str | None, output: str) -> None:
    """Show the quotas of your project; administrators name any PROJECT.

    Without a server these are the limits of this machine's workspace.
    """
    with out.explained():
        if chosen() is None and project is None:
            print_quotas(_of_workspace(), output)
            return
        with need_server(_WHAT) as client:
            found = client.get(_path(project))
    print_quotas(found["quotas"], output)


@command.command("set")
@click.argument("project")
@click.argument("limits", nargs=-1, required=True, metavar="NAME=LIMIT...")
@context_option
@out.output_option("table", "json", "yaml")
def set_command(project: str, limits: tuple[str, ...], output: str) -> None:
    """Set limits of PROJECT: whole numbers, 'none' for no limit, or 'default' for those of the service's settings."""
    with out.explained():
        wanted = given(limits)
        with need_server(_WHAT) as client:
            found = client.patch(_path(project), {"quotas": wanted})
    print_quotas([row for row in found["quotas"] if row["name"] in wanted], output)


def given(texts: Sequence[str]) -> dict[str, int | None]:
    """Limits as the command line has them. Raises `click.UsageError` and `QuotaInvalid`."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"'{text}' is no limit; write NAME=LIMIT, for example servers=20")
        found[name] = value
    return parsed(found)


def print_quotas(rows: Sequence[Mapping[str, Any]], output: str) -> None:
    """Quotas as data, or a line for each."""
    if output != "table":
        out.print_data([dict(row) for row in rows], output)
        return
    out.print_table(_COLUMNS, [[_cell(name, row[name]) for name in _COLUMNS] for row in rows])


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-" if name == "used" else "none"
    return f"{value:,.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _path(project: str | None) -> str:
    return "/quotas" if project is None else f"/admin/projects/{quote(project, safe='')}/quotas"


def _of_workspace() -> list[dict[str, Any]]:
    """Those of the cloud on this machine; the state of the cloud is read, not opened."""
    config = Workspace().config
    limits = {name: config[f"quotas.{name}"] for name in OF_CLOUD}
    used = used_in(config.path("cloud.directory"), PROJECT)
    return [
        {
            "name": name,
            "meaning": QUOTAS[name].meaning,
            "unit": QUOTAS[name].unit,
            "used": None if used is None else used.get(name, 0),
            "limit": None if limits[name] == UNLIMITED else limits[name],
            "default": QUOTAS[name].default,
        }
        for name in OF_CLOUD
    ]
