"""`vetro deploy`: packages in, a running application out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.arguments import read_data, secret_option, values_at_paths
from vetro.cli.client.connect import server
from vetro.cli.client.contexts import context_option
from vetro.cli.guard_options import guard_of, guard_options
from vetro.cli.name_completion import classes, environments, properties, sources
from vetro.cli.task_run import KindName, run_options


@click.command("deploy")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(), shell_complete=sources)
@click.option(
    "--env",
    "env_name",
    metavar="NAME",
    shell_complete=environments,
    help="Environment to deploy into; made when missing.",
)
@click.option(
    "--class",
    "wanted",
    metavar="CLASS",
    shell_complete=classes,
    help="What to deploy when the packages have several applications.",
)
@click.option("--app", "app_name", metavar="NAME", help="Name of the application; a new name adds another one.")
@click.option(
    "--preset",
    metavar="NAME",
    help="Values to begin with, by the name that the form lists; without it a new application begins with the first.",
)
@click.option(
    "--answers",
    "answers_path",
    metavar="FILE",
    type=click.Path(),
    help="Property values (JSON or YAML); '-': standard input.",
)
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=properties,
    help="One property; the value is YAML, or @FILE: its text. a.b reaches inside. Repeatable.",
)
@secret_option
@click.option(
    "--driver",
    type=KindName(),
    default="auto",
    show_default=True,
    help="How servers are made, for a new environment.",
)
@click.option("--script", metavar="FILE", type=click.Path(exists=True), help="Answers of servers with driver 'record'.")
@click.option("--dry-run", is_flag=True, help="Print the model that would be deployed and stop.")
@click.option(
    "--plan", is_flag=True, help="Show what the deployment would do instead (to a server the packages are published)."
)
@click.option("--detach", is_flag=True, help="Begin the deployment, print its task and stop (on a server).")
@guard_options
@context_option
@run_options
def command(
    paths: tuple[str, ...],
    env_name: str | None,
    wanted: str | None,
    app_name: str | None,
    preset: str | None,
    answers_path: str | None,
    pairs: tuple[str, ...],
    secrets: tuple[str, ...],
    driver: str,
    script: str | None,
    dry_run: bool,
    plan: bool,
    detach: bool,
    workspace: str | None,
    **options: Any,
) -> None:
    """Deploy an application: import the packages, make an environment, add the application, run it.

    PATH is a package folder, an archive, or a folder of packages; the application may need several. It may also be the
    name of an application (NAME or NAME/VERSION): on a server one of its catalog, and what the server lacks is
    published first; on this machine one of those that come with Vetro ('vetro catalog list').
    Properties come from --answers and --set; what is left open gets its default or a sensible choice, which is listed.
    Deploying again changes the application that is there: only what differs is done.

    \b
    Examples:
      vetro deploy ./my.app
      vetro deploy Redis
      vetro deploy ./apps --class com.example.Web --set port=8080 --env shop
      vetro deploy ./apps --env shop --set greeting=Hello --set server.flavor=m1.large
      vetro deploy ./apps --env shop --preset large
      vetro deploy ./my.app --answers answers.yaml --driver record
      vetro deploy ./my.app --secret password --set certificate=@site.pem
      vetro deploy com.example.Web/1.2 --context vetro.example.com --plan
      vetro env show shop; vetro env destroy shop
    """
    from vetro.cli.environments import deployment

    given: dict[str, Any] = {"env_name": env_name, "wanted": wanted, "app_name": app_name, "dry_run": dry_run}
    given["preset"] = preset
    answers = _answers(answers_path, pairs, secrets)
    given["said"] = guard_of(options)
    for one, other in (("--detach", "--plan"), ("--dry-run", "--plan"), ("--dry-run", "--detach")):
        chosen = {"--detach": detach, "--plan": plan, "--dry-run": dry_run}
        if chosen[one] and chosen[other]:
            raise click.UsageError(f"use one of {one} and {other}")
    with out.explained(), server(workspace, scratch=plan or dry_run, tasks=True) as client:
        if detach and client.local:
            raise click.UsageError(
                "--detach is for servers: on this machine a task belongs to the command that began it"
            )
        if not client.local and (driver != "auto" or script is not None):
            raise click.UsageError(
                "--driver and --script are for this machine ('vetro context use local'): a server's settings say how"
            )
        given |= {"driver": driver, "script": script}
        deployment.deploy(client, paths, answers=answers, plan=plan, detach=detach, **given, **options)


def _answers(path: str | None, pairs: tuple[str, ...], secrets: tuple[str, ...]) -> dict[str, Any]:
    """Property values by name."""
    data = {} if path is None else read_data(path)
    if not isinstance(data, Mapping):
        out.fail(f"{path} holds no property values", "write a mapping: 'name: value' lines")
    return values_at_paths(data, pairs, secrets)
