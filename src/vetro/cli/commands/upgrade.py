"""`vetro upgrade`: applications that run get newer versions of their packages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.arguments import read_data, secret_option, values_at_paths
from vetro.cli.client.connect import server
from vetro.cli.client.contexts import context_option
from vetro.cli.environments import upgrades
from vetro.cli.guard_options import guard_of, guard_options
from vetro.cli.name_completion import environments
from vetro.cli.task_run import run_options


@click.command("upgrade")
@click.argument("name", metavar="[ENV]", required=False, shell_complete=environments)
@click.option("--list", "listed", is_flag=True, help="List newer versions, of ENV or of all environments, and stop.")
@click.option(
    "--to",
    "wanted",
    multiple=True,
    metavar="PACKAGE=VERSION",
    help="A version to move to, or on this machine the PATH of a package. Repeatable; without: the newest of all.",
)
@click.option(
    "--object", "objects", multiple=True, metavar="OBJECT", help="Only this object, with what it owns. Repeatable."
)
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="OBJECT.NAME=VALUE",
    help="An answer; the value is YAML, or @FILE: its text. Repeatable.",
)
@secret_option
@click.option(
    "--answers",
    "answers_path",
    metavar="FILE",
    type=click.Path(),
    help="Answers by object (JSON or YAML): 'shop: {port: 80}'; '-': standard input.",
)
@click.option("--drop", "drops", multiple=True, metavar="OBJECT.NAME", help="A value that may be lost. Repeatable.")
@click.option(
    "--one-by-one",
    is_flag=True,
    help="Upgrade one application after the other, those that others use first; stop where one does not go well.",
)
@click.option(
    "--all-or-nothing", "together", is_flag=True, help="With --one-by-one: take all back where one does not go well."
)
@click.option("--plan", is_flag=True, help="Show what the upgrade would do, and do nothing.")
@guard_options
@context_option
@run_options
@out.output_option("table", "json", "yaml")
def command(
    name: str | None,
    listed: bool,
    wanted: tuple[str, ...],
    objects: tuple[str, ...],
    pairs: tuple[str, ...],
    secrets: tuple[str, ...],
    answers_path: str | None,
    drops: tuple[str, ...],
    one_by_one: bool,
    together: bool,
    plan: bool,
    workspace: str | None,
    output: str,
    **options: Any,
) -> None:
    """Move what an environment runs to newer versions of its packages, and deploy it.

    Objects keep their values, in the shape that the new version wants. What the new version asks beyond that comes from
    --set and --answers; while something is open the command lists it, as options to be copied, and does nothing. So it
    is with values that the new version has no place for: --drop says that one may go.

    Where servers can be kept as they are, the upgrade has a way back: it is taken back by itself when it fails, or
    leaves an application less well than it was. --hold keeps the way back open: 'vetro env undo' takes it.

    --one-by-one makes an upgrade of its own of each application, each with its way back. Where one is taken back those
    before it stay, and the rest waits for the same command; with --all-or-nothing they go back, too. A server goes on
    with it by itself, whatever becomes of this command.

    \b
    Examples:
      vetro upgrade --list
      vetro upgrade shop --plan
      vetro upgrade shop --to com.example.Web=2.0.0 --set web.port=8080
      vetro upgrade shop --to ./com.example.Web --drop web.motd
      vetro upgrade shop --object blog
      vetro upgrade shop --one-by-one
      vetro upgrade shop --one-by-one --all-or-nothing --hold 24h
      vetro upgrade shop --settle 2m --hold 24h
    """
    said = guard_of(options)
    if one_by_one and (objects or (said.get("hold") and not together)):
        raise click.UsageError("--object and --hold are for one upgrade, without --one-by-one")
    if together and (not one_by_one or said.get("guard") is False):
        raise click.UsageError("--all-or-nothing is for --one-by-one, without --no-guard")
    answers = {} if answers_path is None else read_data(answers_path)
    if not isinstance(answers, Mapping) or not all(isinstance(one, Mapping) for one in answers.values()):
        out.fail(f"{answers_path} holds no answers", "write a mapping of objects: 'shop: {port: 80}'")
    answers = values_at_paths(answers, pairs, secrets)
    if not all(isinstance(one, Mapping) for one in answers.values()):
        raise click.UsageError("an answer names an object and its property: --set shop.port=80")
    versions, paths = _wanted(wanted)
    with out.explained(), server(workspace, scratch=plan) as client:
        if listed or name is None:
            if name is None and not listed:
                raise click.UsageError("which environment? 'vetro upgrade --list' lists what is newer")
            upgrades.list_offers(client, name, output)
            return
        given = {"to": versions, "objects": list(objects), "answers": answers, "drops": list(drops)}
        if one_by_one:
            upgrades.one_by_one(client, name, given, paths, plan, output, said, together, **options)
        else:
            upgrades.upgrade(client, name, given, paths, plan, output, said, **options)


def _wanted(given: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    """Versions by package, and paths of packages."""
    versions: dict[str, str] = {}
    paths = []
    for text in given:
        package, equals, version = text.partition("=")
        if os.path.exists(text):
            paths.append(text)
        elif equals and package and version:
            versions[package] = version
        else:
            raise click.BadParameter(f"'{text}' is no path, and not of the form PACKAGE=VERSION", param_hint="--to")
    return versions, paths
