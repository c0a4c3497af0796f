"""`vetro catalog list|add`: the applications that come with Vetro."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli import package_transfer
from vetro.cli.client.connect import need_server
from vetro.cli.client.contexts import context_option
from vetro.cli.client.find import NotFound
from vetro.cli.client.requests import Refused
from vetro.cli.groups import Commands
from vetro.cli.package_paths import load_packages
from vetro.cli.rows import print_rows
from vetro.packages.bundle import applications, behind_required, categories
from vetro.yaql.didyoumean import suggest


@click.group("catalog", cls=Commands)
def command() -> None:
    """Look at the applications that come with Vetro, and add them to the catalog of a server.

    \b
    Examples:
      vetro catalog list
      vetro catalog add
      vetro catalog add Redis --public
    """


@command.command("list")
@out.output_option("table", "json", "yaml")
def list_command(output: str) -> None:
    """List the applications; on this machine 'vetro deploy' takes their names."""
    rows = [_row(name, folders) for name, folders in applications().items()]
    columns = ("application", "version", "description", "folder")
    print_rows(rows, columns, output, empty="no applications are part of this installation")


@command.command("add")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--public", is_flag=True, help="Show them to all projects.")
@context_option
@out.output_option("table", "json", "yaml")
def add_command(names: tuple[str, ...], public: bool, output: str) -> None:
    """Add applications to the catalog of a server, in all their versions: all of them, or those that are named.

    One after the other, each with all its versions or not at all: one that the server refuses is named at the end, and
    those behind it come all the same. What the server has already is left alone, so the command can be run again.
    """
    with out.explained():
        known = {name.lower(): folders for name, folders in applications().items()}
        for name in names:
            if name.lower() not in known:
                near = suggest(name, list(applications())) or ", ".join(applications())
                raise NotFound(f"no application '{name}' comes with Vetro", f"there is: {near}")
        chosen = {
            name: load_packages([str(folder) for folder in known[name.lower()]]) for name in names or applications()
        }
        done: dict[str, Any] = {"imported": [], "present": [], "findings": {}, "missing": [], "failed": {}}
        with need_server("catalogs are those of servers; on this machine 'vetro deploy NAME' takes them") as client:
            there = {row["name"] for row in client.items("/categories")}
            for name in behind_required(chosen):
                within = [one for one in categories().get(chosen[name][0].name, ()) if one in there]
                built = package_transfer.built(chosen[name])
                try:
                    part = package_transfer.publish(client, built, public=public, categories=within)
                except (Refused, package_transfer.PublishError) as error:
                    done["failed"][name] = error.message
                    continue
                for key in ("imported", "present", "missing"):
                    done[key] += part[key]
                done["findings"] |= part["findings"]
    if output == "table":
        package_transfer.show_published(done)
    else:
        out.print_data(done, output)
    for name, why in done["failed"].items():
        out.note(out.style(f"{name} is not added: ", fg="red") + why)
    if done["failed"]:
        sys.exit(out.FAILED)


def _row(name: str, folders: tuple[Path, ...]) -> dict[str, Any]:
    (package,) = load_packages([str(folders[-1])])
    text = " ".join((package.description or "").split())
    return {"application": name, "version": str(package.version), "description": text, "folder": str(folders[-1])}
