"""`vetro impact`: what a new version of a package would change in the environments that use it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

import click

from vetro.cli import output as out
from vetro.cli.client.connect import is_local, server
from vetro.cli.client.contexts import context_option
from vetro.cli.client.requests import Client
from vetro.cli.package_paths import load_packages
from vetro.cli.summary import marked
from vetro.cli.task_run import workspace_option

#: Seconds between two looks at how far a server is.
_PAUSE: Final = 1.0
#: Environments of a group that are named, and reasons that are told.
_SHOWN: Final = 5
_WORDS: Final = {
    "same": ("nothing changes", "green"),
    "changes": ("changed in place", "cyan"),
    "replaces": ("servers are replaced", "yellow"),
    "loses": ("values are lost", "yellow"),
    "asks": ("questions are asked", "yellow"),
    "fails": ("fails", "red"),
    "skipped": ("not planned", None),
}


class _Quiet:
    """Nobody watches the single tasks."""

    def event(self, event: Mapping[str, Any]) -> None:
        """Not told."""


@click.command("impact")
@click.argument("package", metavar="PACKAGE[/VERSION] | PATH")
@click.option("--all-projects", is_flag=True, help="Count environments of all projects (rule impact_all_projects).")
@context_option
@workspace_option
@out.output_option("text", "json", "yaml")
def command(package: str, all_projects: bool, workspace: str | None, output: str) -> None:
    """Say what a new version of a package would change in the environments that use an older one.

    Each environment is upgraded and planned with the real code, twice: with what it has and with the new version.
    What differs is what the package changes. Nothing outside changes, and nothing is published. The exit status is 1
    when the version fails somewhere.

    \b
    Examples:
      vetro impact com.example.Web/3.0.0
      vetro impact ./com.example.Web
      vetro impact com.example.Web --all-projects -o json
    """
    with out.explained(), server(workspace) as client:
        found = _begun(client, package, all_projects)
        shown = None
        while found["state"] == "running":
            if found["done"] != shown and output == "text":
                shown = found["done"]
                out.note(f"{shown} of {out.plural(found['total'], 'environment')} …")
            if is_local(client):
                for task in found["tasks"][:1]:
                    client.run(task, "", _Quiet(), None, "end the command")
            else:
                time.sleep(_PAUSE)
            found = client.get(f"/packages/impact/{found['id']}")
    if output == "text":
        _print(found, package if os.path.exists(package) else f"{found['package']}={found['version']}")
    else:
        out.print_data(found, output)
    if any(group["group"] == "fails" for group in found["groups"]):
        sys.exit(out.FAILED)


def _begun(client: Client, package: str, all_projects: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"all_projects": all_projects}
    if not os.path.exists(package):
        named = {**body, "package": package}
        made: dict[str, Any] = (
            client.post("/packages/impact", named) if is_local(client) else client.upload("/packages/impact", {}, named)
        )
        return made
    loaded = load_packages([package])
    if len(loaded) != 1:
        raise click.UsageError(f"{package} holds {out.plural(len(loaded), 'package')}; name one of them")
    if is_local(client):
        made = client.post("/packages/impact", {**body, "beside": client.stored(loaded)})
    else:
        name = f"{loaded[0].name}.zip"
        made = client.upload("/packages/impact", {name: loaded[0].blob}, body, "archive")
    return made


def _print(found: Mapping[str, Any], target: str) -> None:
    """``target``: what `vetro upgrade --to` takes for it."""
    for group in found["groups"]:
        word, colour = _WORDS[group["group"]]
        others = f", {group['others']} of other projects" if group["others"] else ""
        out.echo(f"{out.style(word, fg=colour, bold=True)}: {out.plural(group['count'], 'environment')}{others}")
        for reason in group["reasons"][:_SHOWN]:
            out.echo(f"    {out.shown(str(reason['text']))} ({reason['count']})")
        for place in group["places"][:_SHOWN]:
            out.echo(f"    {out.shown(place['file'])}:{place['line']} ({place['count']} of other projects)")
        names = [marked(out.shown(one["name"]), one["simulated"]) for one in group["environments"]]
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            out.echo(f"    {', '.join(names[:_SHOWN])}{more}")
    version = f"{found['package']} {found['version']}"
    first = next((one["name"] for group in found["groups"] for one in group["environments"]), None)
    text = f"{version}: {out.plural(found['total'], 'environment')} looked at"
    if first is not None:
        text += f"; vetro upgrade {out.shown(first)} --to {target} --plan shows one of them"
    out.note(text)
