"""`vetro env history|plan|export|import`: what was, what would be, and environments as files."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.connect import is_local, server
from vetro.cli.client.contexts import context_option
from vetro.cli.client.requests import Refused
from vetro.cli.environments import history
from vetro.cli.name_completion import environments
from vetro.cli.task_run import chosen_cloud, workspace_option
from vetro.packages.regular import open_regular
from vetro.server.catalog.inspection.protocol import content_of
from vetro.server.environments import limits

_NUMBERS = re.compile(r"(\d+)(?:\.\.(\d+))?")


@click.command("history")
@click.argument("name", shell_complete=environments)
@click.option("--diff", metavar="N[..M]", help="What changed from state N to state M, the newest without M.")
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
def history_command(name: str, diff: str | None, workspace: str | None, output: str) -> None:
    """List the states of an environment, or show what changed between two of them.

    'vetro env restore' goes back to one.

    \b
    Examples:
      vetro history shop
      vetro history shop --diff 3..5
    """
    numbers = _NUMBERS.fullmatch(diff) if diff is not None else None
    if diff is not None and numbers is None:
        raise click.BadParameter(f"'{diff}' is not of the form N or N..M", param_hint="--diff")
    older = int(numbers[1]) if numbers else 0
    newer = int(numbers[2]) if numbers and numbers[2] else None
    with out.explained(), server(workspace) as client:
        if numbers:
            history.difference(client, name, older, newer, output)
        else:
            history.states(client, name, output)


@click.command("plan")
@click.argument("name", shell_complete=environments)
@click.option(
    "--session",
    metavar="ID",
    help="Plan this draft.  [default: your own, else the environment as it is]",
)
@click.option("-v", "--verbose", is_flag=True, help="Show the log lines of the packages, too.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@context_option
@workspace_option
@out.output_option("table", "json", "yaml")
def plan_command(name: str, session: str | None, workspace: str | None, output: str, **options: Any) -> None:
    """Show what deploying an environment would do; nothing is changed.

    The code of the packages really runs; everything outside is only written down. 'vetro deploy PATH --plan' does it
    for an application that is not there yet.

    \b
    Examples:
      vetro plan shop
      vetro deploy ./my.app --env shop --set port=8080 --plan
    """
    with out.explained(), server(workspace, scratch=True) as client:
        history.plan(client, name, session, output, **options)


@click.command("export")
@click.argument("name", shell_complete=environments)
@click.option("--out", "target", metavar="FILE", type=click.Path(), help="The archive.  [default: NAME.zip]")
@click.option("--force", is_flag=True, help="Replace FILE where it is there already.")
@context_option
@workspace_option
def export_command(name: str, target: str | None, force: bool, workspace: str | None) -> None:
    """Write an environment with its states and packages into an archive.

    Workspaces and servers read each other's. It holds the passwords of the model in clear: it is made for its owner
    only, keep it so.
    """
    with out.explained():
        with server(workspace) as client:
            row = find.environment(client, name)
            data, label = client.content(f"/environments/{row['id']}/export"), str(row["name"])
        _save(data, target or f"{_file_name(label)}.zip", force, "--out")


def _file_name(label: str) -> str:
    return re.sub(r"[^\w.-]+", "-", label).lstrip(".-")


def _save(data: bytes, path: str, force: bool, option: str) -> None:
    """Writes a file for its owner only, and says where."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
    try:
        handle = os.open(path, flags, 0o600)
    except FileExistsError:
        out.fail(f"{path} is there already", f"give another name with {option}, or --force")
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, 0o600)
        file.write(data)
    out.echo(path)


@click.command("report")
@click.argument("name", shell_complete=environments)
@click.option("-o", "--out", "target", metavar="FILE", type=click.Path(), help="[default: NAME-report.zip]")
@click.option("--force", is_flag=True, help="Replace FILE where it is there already.")
@context_option
@workspace_option
def report_command(name: str, target: str | None, force: bool, workspace: str | None) -> None:
    """Write what helps others to find out what is wrong with an environment into an archive.

    Models, tasks with their logs and plans, what they did outside, health, consoles and journals of servers, versions.
    Secrets are masked; look at it before you pass it on.
    """
    with out.explained():
        with server(workspace) as client:
            row = find.environment(client, name)
            data, label = client.content(f"/environments/{row['id']}/report"), str(row["name"])
        _save(data, target or f"{_file_name(label)}-report.zip", force, "--out")


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--name", metavar="NAME", help="Another name than it has.")
@click.option("--fresh", is_flag=True, help="With new ids, as a draft of which nothing is deployed.")
@click.option(
    "--keep-ids",
    is_flag=True,
    help="With --fresh: under its own ids, where nobody had them; on a server administrators.",
)
@context_option
@workspace_option
def import_command(file: str, name: str | None, fresh: bool, keep_ids: bool, workspace: str | None) -> None:
    """Make an environment from what 'vetro env export' wrote.

    It counts as deployed as the archive says: that is right where it comes back as itself, to the same cloud. Use
    --fresh for a copy, and for another machine or cloud. With --keep-ids its plan there is the same to the letter:
    names of resources are made of ids.
    """
    if keep_ids and not fresh:
        raise click.UsageError("--keep-ids goes with --fresh: without it an environment keeps its ids anyway")
    with out.explained():
        if not Path(file).is_file() or Path(file).stat().st_size > limits.LARGEST_ARCHIVE:
            fault = f"{file} is no file, or has more than {limits.LARGEST_ARCHIVE >> 20} MiB"
            out.fail(fault, "give what 'vetro env export' wrote")
        with open_regular(file) as opened:
            data = content_of(opened)
        with server(workspace) as client:
            if is_local(client):
                choose = partial(chosen_cloud, client, "auto", None)
                made = client.import_environment(data, name, fresh, keep_ids, choose)
            else:
                more = {"name": name, "fresh": fresh, **({"keep_ids": True} if keep_ids else {})}
                made = _uploaded(client, Path(file).name, bytes(data), more)
            found = client.get(f"/environments/{made['environment_id']}")
            out.note(f"environment '{found['name']}' is imported")
            for note in made.get("notes") or ():
                if not (client.local and fresh):
                    out.note(out.shown(note))
            if client.local and fresh:
                out.note(f"nothing of it is deployed yet: 'vetro env deploy {found['name']}' does it")
            elif made.get("session_id"):
                out.note(f"its applications are a draft: 'vetro env deploy {found['name']}' deploys it")


def _uploaded(client: Any, file: str, data: bytes, more: dict[str, Any]) -> Any:
    try:
        return client.upload("/environments/import", {file: data}, more)
    except Refused as error:
        if error.answered == "SRV435":
            error.hint = "--fresh imports a copy in which nothing counts as deployed"
        raise
