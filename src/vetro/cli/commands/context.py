"""`vetro context`: the servers that commands can talk to."""

from __future__ import annotations

from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client.contexts import LOCAL, VARIABLE, Context, chosen_name, find, names, read_contexts, write_contexts
from vetro.cli.client.requests import Client, ClientError
from vetro.cli.groups import Commands
from vetro.cli.rows import print_one


def _complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


@click.group("context", cls=Commands)
def command() -> None:
    """Choose the server that commands talk to.

    'local' is this machine: a workspace, without any server. 'vetro login URL' adds others.

    \b
    Examples:
      vetro context list
      vetro context use vetro.example.com
      vetro env list --context local
    """


@command.command("list")
@out.output_option("table", "json", "yaml")
def list_command(output: str) -> None:
    """List the contexts; the one in use is marked."""
    with out.explained():
        contexts = read_contexts()
    used, _ = chosen_name(contexts)
    known = [Context(LOCAL, "", ""), *(context for _, context in sorted(contexts.servers.items()))]
    rows = [_row(context, context.name == used) for context in known]
    if output != "table":
        out.print_data(rows, output)
        return
    columns = ("", "name", "url", "user", "project")
    out.print_table(columns, [("*" if row["used"] else "", *(row[key] for key in columns[1:])) for row in rows])


@command.command("show")
@click.argument("name", required=False, shell_complete=_complete)
@out.output_option("table", "json", "yaml")
def show_command(name: str | None, output: str) -> None:
    """Show a context, that in use without NAME, and what made it the one. The token is not shown."""
    with out.explained():
        contexts = read_contexts()
        used, source = chosen_name(contexts)
        wanted = name or used
        context = Context(LOCAL, "", "") if wanted == LOCAL else find(contexts, wanted, "" if name else source)
    row = _row(context, wanted == used)
    if context.name != LOCAL:
        row |= {"token": "set" if context.token else "none", "ca_file": context.ca_file}
    if wanted == used:
        row["because_of"] = source
    print_one(row, output)


def _row(context: Any, used: bool) -> dict[str, Any]:
    kept = {"name": context.name, "url": context.url, "user": context.user, "project": context.project}
    return {**kept, "used": used}


@command.command("use")
@click.argument("name", shell_complete=_complete)
def use_command(name: str) -> None:
    """Use the context NAME from now on."""
    with out.explained():
        contexts = read_contexts()
        if name != LOCAL:
            find(contexts, name)
        contexts.current = name
        write_contexts(contexts)
        used, source = chosen_name(contexts)
    if used != name:
        out.note(out.style("warning: ", fg="yellow") + f"{source} says '{used}', which counts more ({VARIABLE})")
    else:
        out.note(f"context '{name}' is in use")


@command.command("remove")
@click.argument("name", shell_complete=_complete)
@click.option("--keep-token", is_flag=True, help="Do not revoke the token at the server.")
def remove_command(name: str, keep_token: bool) -> None:
    """Forget the context NAME; its token is revoked where the server can be reached."""
    if name == LOCAL:
        out.fail(f"'{LOCAL}' is this machine and always there")
    with out.explained():
        contexts = read_contexts()
        context = find(contexts, name)
        if context.token and not keep_token:
            try:
                with Client(context, again=False) as client:
                    client.post("/auth/logout")
            except ClientError as error:
                out.note(f"the token could not be revoked: {error.message}")
        del contexts.servers[name]
        if contexts.current == name:
            contexts.current = LOCAL
        write_contexts(contexts)
    out.note(f"context '{name}' is forgotten" + (f"; '{LOCAL}' is in use" if contexts.current == LOCAL else ""))
