"""`vetro cloud`: kinds of clouds; what the cloud of a workspace holds, starting its servers, removing everything."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client.connect import open_local, signed_in
from vetro.cli.client.contexts import chosen, context_option
from vetro.cli.groups import Commands, Table
from vetro.cli.summary import marked
from vetro.cli.task_run import workspace_option
from vetro.clouds import kinds
from vetro.clouds.stacks.kind import DriverKind

_TABLE: Table = {"helper": ("cloud_helper:command", "Make servers for a service that has no rights of root's.")}


@click.group("cloud", cls=Commands, table=_TABLE)
def command() -> None:
    """List kinds of clouds; look at the cloud of a workspace, start its servers again, and clean it up.

    \b
    Examples:
      vetro cloud list       what there is, here or at a server, and what it can do
      vetro cloud status
      vetro cloud start      after a restart of this machine
      vetro cloud clean
    """


@command.command("list")
@workspace_option
@context_option
@out.output_option("table", "json", "yaml")
def list_command(workspace: str | None, output: str) -> None:
    """List the kinds of clouds that are installed, with what they can do, and which one is in use.

    Of a server where the context is one, else of this machine. '-o json' shows all capabilities.
    """
    with out.explained():
        context = chosen()
        with open_local(workspace) if context is None else signed_in(context) as client:
            found = client.get("/clouds")
    if output != "table":
        out.print_data(found, output)
        return
    rows = [
        (kind["name"], "yes" if kind["in_use"] else "", *_able(kind["capabilities"]), kind["title"])
        for kind in found["kinds"]
        if kind["problem"] is None
    ]
    out.print_table(("KIND", "IN USE", "RUNS SERVERS", "AGENTS", "VOLUMES", "NETWORKS", "MEANING"), rows)
    for kind in found["kinds"]:
        if kind["problem"] is not None:
            out.note(f"{kind['name']} cannot be used: {kind['problem']}")


def _able(capabilities: Mapping[str, Any]) -> tuple[str, ...]:
    """Columns of the table of kinds."""
    runs = "yes" if capabilities["executes"] else "no"
    return (runs, capabilities["agents"], capabilities["volumes"], capabilities["networks"])


@command.command("status")
@workspace_option
@out.output_option("text", "json", "yaml")
def status(workspace: str | None, output: str) -> None:
    """Show servers, networks, stacks, images, the driver and the disk space used."""
    from vetro.clouds.overview import overview

    with out.explained():
        found = overview(_folder(workspace))
    if output != "text":
        out.print_data(asdict(found), output)
        return
    out.echo(f"driver:  {found.driver} ({found.reason})")
    out.echo(f"folder:  {found.directory} ({found.bytes >> 20} MiB)")
    names = ", ".join(image["name"] for image in found.images) or "none"
    out.echo(f"images:  {names} ({found.image_bytes >> 20} MiB)")
    for folder in found.orphans:
        out.echo(f"left over: servers of {folder}, which is gone; 'vetro cloud clean' removes them")
    for server in found.quarantined:
        left = max(0, round((server["until"] - time.time()) / 3600))
        out.echo(
            f"quarantine: the server {server['name']} of the environment {server['environment']}, which the cloud does"
            f" not know, is stopped and kept for {left} h in {server['folder']}"
        )
    if found.stacks:
        out.echo("")
        rows = [(s["name"], s["environment"], s["region"], s["status"], s["reason"]) for s in found.stacks]
        out.print_table(("STACK", "ENVIRONMENT", "REGION", "STATUS", "REASON"), rows)
    if found.servers:
        out.echo("")
        keys = ("name", "environment", "driver", "status", "image", "flavor")
        shown = [
            (*(server[key] for key in keys), marked(", ".join(server["addresses"]), server["simulated"]))
            for server in found.servers
        ]
        out.print_table(("SERVER", "ENVIRONMENT", "DRIVER", "STATUS", "IMAGE", "FLAVOR", "ADDRESSES"), shown)
    if found.networks:
        out.echo("")
        nets = [(net["name"], net["driver"], ", ".join(net["subnets"])) for net in found.networks]
        out.print_table(("NETWORK", "DRIVER", "SUBNETS"), nets)
    if not (found.stacks or found.servers):
        out.echo("\nThere is nothing deployed.")


@command.command("start")
@workspace_option
def start(workspace: str | None) -> None:
    """Start servers that ended by themselves or with this machine, with their disks.

    Servers that were stopped on purpose stay so. Deploying an environment again does the same for its servers.
    """
    from vetro.clouds.overview import start as start_all

    count = 0
    with out.explained():
        for name in start_all(_folder(workspace)):
            out.echo(f"server {name} is started")
            count += 1
    out.note("all servers that should run do so" if not count else f"{out.plural(count, 'server')} started")


@command.command("clean")
@workspace_option
@out.yes_option
def clean(workspace: str | None, sure: bool) -> None:
    """Remove all servers, networks and stacks of the cloud of a workspace, and what crashes left behind.

    Environments stay in the workspace, as new ones: 'vetro env deploy' makes everything anew. Images stay, too.
    """
    from vetro.clouds.overview import clean as remove_all

    with out.explained(), open_local(workspace) as client:
        place = client.workspace
        if not out.confirmed(f"Remove everything that is deployed from {place.root}?", sure):
            out.fail("nothing was removed")
        count = 0
        with client.all_held() as rows:
            for line in remove_all(place.config.path("cloud.directory")):
                out.echo(line)
                count += 1
            for row in rows:
                if _is_kept_here(row["driver"]) and client.forget_resources(row["id"]):
                    out.note(f"environment '{row['name']}' is not deployed any more")
    out.note("there was nothing to remove" if not count else f"{out.plural(count, 'thing')} removed")


def _folder(root: str | None) -> Path:
    """Where the cloud of a workspace keeps its state."""
    from vetro.server.local.workspace import Workspace

    return Workspace(root).config.path("cloud.directory")


def _is_kept_here(name: str) -> bool:
    """Whether the state of clouds of this kind is in the workspace."""
    try:
        return isinstance(kinds.find(name or kinds.RECORD), DriverKind)
    except kinds.KindMissing:
        return False
