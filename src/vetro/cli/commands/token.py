"""`vetro token`: one's own tokens at a server."""

from __future__ import annotations

import click

from vetro.cli import output as out
from vetro.cli.client.connect import need_server
from vetro.cli.client.contexts import context_option
from vetro.cli.client.find import by_prefix
from vetro.cli.groups import Commands
from vetro.cli.rows import print_one, print_rows

_WHAT = "tokens are for servers"


@click.group("token", cls=Commands)
def command() -> None:
    """Make and revoke your tokens at a server: what programs send instead of a password.

    \b
    Examples:
      vetro token list
      TOKEN=$(vetro token create --name ci --days 90 -o value)
      vetro token revoke 3fd1c0
    """


@command.command("list")
@context_option
@out.output_option("table", "json", "yaml")
def list_command(output: str) -> None:
    """List your tokens that are not revoked."""
    with out.explained(), need_server(_WHAT) as client:
        rows = list(client.items("/tokens"))
    print_rows(rows, ("id", "name", "prefix", "project", "expires", "last_used"), output, empty="no tokens")


@command.command("create")
@click.option("--name", default="", help="What it is for.")
@click.option("--days", type=click.IntRange(0), help="Days until it expires; 0: never.")
@click.option("--project", metavar="NAME", help="The project it is for.  [default: that of the context]")
@context_option
@out.output_option("table", "json", "yaml", "value")
def create_command(name: str, days: int | None, project: str | None, output: str) -> None:
    """Make a token. It is printed now and never again; '-o value' prints nothing else."""
    body = {key: value for key, value in (("name", name), ("days", days), ("project", project)) if value is not None}
    with out.explained(), need_server(_WHAT) as client:
        made = client.post("/tokens", body)
    if output == "value":
        out.echo(str(made["token"]))
    else:
        print_one({**made, "project": made["project"]["name"]}, output)


@command.command("revoke")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@context_option
def revoke_command(ids: tuple[str, ...]) -> None:
    """End tokens by id, or by its first letters; the next request with one is refused."""
    with out.explained(), need_server(_WHAT) as client:
        rows = list(client.items("/tokens"))
        meant = [by_prefix(rows, id, "token") for id in ids]
        for row in meant:
            client.delete(f"/tokens/{row['id']}")
    out.note(f"{out.plural(len(meant), 'token')} revoked")
