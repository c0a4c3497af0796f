"""`vetro category`: the categories of a server's catalog."""

from __future__ import annotations

import click

from vetro.cli import output as out
from vetro.cli.client.connect import need_server
from vetro.cli.client.contexts import context_option
from vetro.cli.client.find import by_name
from vetro.cli.groups import Commands
from vetro.cli.rows import print_one, print_rows

_WHAT = "categories are those of a server's catalog"


@click.group("category", cls=Commands)
def command() -> None:
    """Look at the categories of a server's catalog, and change them.

    \b
    Examples:
      vetro category list
      vetro category create Databases
    """


@command.command("list")
@context_option
@out.output_option("table", "json", "yaml")
def list_command(output: str) -> None:
    """List the categories with the number of their packages."""
    with out.explained(), need_server(_WHAT) as client:
        rows = list(client.items("/categories"))
    print_rows(
        rows, ("name", "package_count"), output, empty="no categories", head={"package_count": "packages"}, wide=("id",)
    )


@command.command("create")
@click.argument("name")
@context_option
@out.output_option("table", "json", "yaml")
def create_command(name: str, output: str) -> None:
    """Make the category NAME."""
    with out.explained(), need_server(_WHAT) as client:
        made = client.post("/categories", {"name": name})
    print_one(made, output, ("id", "name"))


@command.command("rename")
@click.argument("name")
@click.argument("new")
@context_option
def rename_command(name: str, new: str) -> None:
    """Give the category NAME another name; its packages stay in it."""
    with out.explained(), need_server(_WHAT) as client:
        row = by_name(list(client.items("/categories")), name, "category")
        client.patch(f"/categories/{row['id']}", {"name": new})
    out.note(f"category '{row['name']}' is called '{new}' now")


@command.command("delete")
@click.argument("name")
@context_option
def delete_command(name: str) -> None:
    """Remove the category NAME, which no package may be in."""
    with out.explained(), need_server(_WHAT) as client:
        row = by_name(list(client.items("/categories")), name, "category")
        client.delete(f"/categories/{row['id']}")
    out.note(f"category '{row['name']}' is removed")
