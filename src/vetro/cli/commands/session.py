"""`vetro session`: drafts of changes."""

from __future__ import annotations

from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.connect import server
from vetro.cli.client.contexts import context_option
from vetro.cli.client.requests import Refused
from vetro.cli.differences import print_changes
from vetro.cli.groups import Commands
from vetro.cli.name_completion import environments
from vetro.cli.rows import print_one, print_rows
from vetro.cli.task_run import workspace_option

_WHICH = "ENVIRONMENT|ID"


@click.group("session", cls=Commands)
def command() -> None:
    """Look at drafts: changes of environments that are not deployed yet.

    A draft is named by its id, or by its environment: then your own newest one is meant.

    \b
    Examples:
      vetro session list shop
      vetro session changes shop
      vetro plan shop; vetro env deploy shop
      vetro session close shop
    """


@command.command("list")
@click.argument("name", metavar="ENVIRONMENT", shell_complete=environments)
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
def list_command(name: str, workspace: str | None, output: str) -> None:
    """List the sessions of an environment, everybody's, the newest first."""
    with out.explained(), server(workspace) as client:
        row = find.environment(client, name)
        rows = list(client.items(f"/environments/{row['id']}/sessions"))
    print_rows(rows, ("id", "state", "changed", "usable", "own", "updated"), output, empty="no sessions")


@command.command("open")
@click.argument("name", metavar="ENVIRONMENT", shell_complete=environments)
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
def open_command(name: str, workspace: str | None, output: str) -> None:
    """Begin a draft of an environment as it is now."""
    with out.explained(), server(workspace) as client:
        row = find.environment(client, name)
        made = client.post(f"/environments/{row['id']}/sessions")
    print_one(made, output, ("id", "environment_id", "version"))


@command.command("show")
@click.argument("wanted", metavar=_WHICH, shell_complete=environments)
@click.option("--model", is_flag=True, help="Print the object model of the draft instead.")
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
def show_command(wanted: str, model: bool, workspace: str | None, output: str) -> None:
    """Show a draft."""
    with out.explained(), server(workspace) as client:
        session = _session(client, wanted)
        if model:
            out.print_data(client.get(f"/sessions/{session['id']}/model"), "yaml" if output == "table" else output)
            return
    print_one(session, output)


@command.command("changes")
@click.argument("wanted", metavar=_WHICH, shell_complete=environments)
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
def changes_command(wanted: str, workspace: str | None, output: str) -> None:
    """Show what deploying a draft would change in the model."""
    with out.explained(), server(workspace) as client:
        found = client.get(f"/sessions/{_session(client, wanted)['id']}/changes")
    print_changes(found["items"], output)


@command.command("undo")
@click.argument("wanted", metavar=_WHICH, shell_complete=environments)
@click.option("--object", "object_id", metavar="ID", help="Only of this object and what it owns.")
@context_option
@workspace_option
def undo_command(wanted: str, object_id: str | None, workspace: str | None) -> None:
    """Take back changes of a draft."""
    with out.explained(), server(workspace) as client:
        session = _session(client, wanted)
        client.post(f"/sessions/{session['id']}/undo", {"object_id": object_id})
    out.note(f"taken back in session {session['id']}")


@command.command("close")
@click.argument("wanted", metavar=_WHICH, shell_complete=environments)
@context_option
@workspace_option
def close_command(wanted: str, workspace: str | None) -> None:
    """Throw a draft away."""
    with out.explained(), server(workspace) as client:
        session = _session(client, wanted)
        client.delete(f"/sessions/{session['id']}")
    out.note(f"session {session['id']} is closed")


def _session(client: Any, wanted: str) -> dict[str, Any]:
    """The session of this id, or the caller's newest usable one of an environment. Raises `NotFound`."""
    if find.is_id(wanted):
        try:
            return dict(client.get(f"/sessions/{wanted}"))
        except Refused as error:
            if error.status != 404:
                raise
    row = find.environment(client, wanted)
    own = [s for s in client.items(f"/environments/{row['id']}/sessions") if s["own"] and s["state"] == "opened"]
    usable = [s for s in own if s["usable"] and s["changed"]] or [s for s in own if s["usable"]]
    if not usable:
        stale = f"; {out.plural(len(own), 'older one')} cannot be deployed any more" if own else ""
        raise find.NotFound(
            f"you have no draft of environment '{row['name']}'{stale}", f"'vetro session list {wanted}' shows all"
        )
    return dict(usable[0])
