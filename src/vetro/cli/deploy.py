"""`vetro deploy`: packages in, a running application out."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.deploying import DRIVERS, run_options


@click.command("deploy")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option("--env", "env_name", metavar="NAME", help="Environment to deploy into; made when missing.")
@click.option("--class", "wanted", metavar="CLASS", help="What to deploy when the packages have several applications.")
@click.option("--app", "app_name", metavar="NAME", help="Name of the application; a new name adds another one.")
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
    help="One property; the value is YAML. a.b reaches inside. Repeatable.",
)
@click.option(
    "--driver",
    type=click.Choice(DRIVERS),
    default="auto",
    show_default=True,
    help="How servers are made, for a new environment.",
)
@click.option("--script", metavar="FILE", type=click.Path(exists=True), help="Answers of servers with driver 'record'.")
@click.option("--dry-run", is_flag=True, help="Print the model that would be deployed and stop.")
@run_options
def command(
    paths: tuple[str, ...],
    env_name: str | None,
    wanted: str | None,
    app_name: str | None,
    answers_path: str | None,
    pairs: tuple[str, ...],
    driver: str,
    script: str | None,
    dry_run: bool,
    workspace: str | None,
    timeout: float | None,
    quiet: bool,
    verbose: bool,
) -> None:
    """Deploy an application: import the packages, make an environment, add the application, run it.

    PATH is a package folder, an archive, or a folder of packages; the application may need several. Properties come
    from --answers and --set; what is left open gets its default or a sensible choice, which is listed. Deploying
    again changes the application that is there: only what differs is done.

    \b
    Examples:
      vetro deploy ./my.app
      vetro deploy ./apps --class com.example.Web --set port=8080 --env shop
      vetro deploy ./apps --env shop --set greeting=Hello --set server.flavor=m1.large
      vetro deploy ./my.app --answers answers.yaml --driver record
      vetro env show shop; vetro env destroy shop
    """
    from vetro.cli.asked import Asked, launcher
    from vetro.cli.deploying import choose_driver, conclude, execute, open_workspace, show_summary
    from vetro.cli.loading import load_packages, source_finder
    from vetro.engine.workspace.files import NoSuchEnvironment
    from vetro.engine.workspace.running import new_task

    answers = _answers(answers_path, pairs)
    with out.explained():
        packages = load_packages(paths)
        place = open_workspace(workspace)
    sources = source_finder(packages)
    with out.explained(sources), launcher(packages) as processes:
        type_ = _main(packages, wanted)
        from vetro.cli.targets import environment_name, needed_packages

        name = env_name or environment_name(type_.name)
        try:
            folder = place.get(name)
        except NoSuchEnvironment:
            folder = None
        with Asked(processes, packages, place) as asked:
            model, chosen = _model(asked, sources, folder, name, type_, answers, app_name)
        if dry_run:
            out.print_data(model.model, "yaml")
            return
        if script is not None:
            from vetro.clouds.local.drivers.record_table import Table

            Table.read(script)  # a slip in it must not cost an environment
        if folder is None:
            chosen_driver = choose_driver(driver, place)
            folder = place.create(name, driver=chosen_driver, script=os.path.abspath(script) if script else None)
            _adopt(model, folder.id)
        with folder.lock():
            _no_open_task(folder)
            for change in folder.add_packages(needed_packages(packages, type_, model)):
                out.note(change)
            for key, value in chosen.items():
                out.note(f"chosen: {key} = {value}")
            started = time.monotonic()
            begun = folder.begin(new_task(folder, "deploy", model.model))
            outcome = execute(place, folder, begun, quiet=quiet, verbose=verbose, timeout=timeout, launcher=processes)
        conclude(folder, outcome)
        show_summary(folder, time.monotonic() - started)


def _answers(path: str | None, pairs: tuple[str, ...]) -> dict[str, Any]:
    """Property values by name; ``a.b=1`` becomes a value inside of ``a``."""
    from vetro.cli.arguments import yaml_value
    from vetro.cli.plaindata import read_data

    answers: dict[str, Any] = {}
    if path is not None:
        data = read_data(path)
        if not isinstance(data, Mapping):
            out.fail(f"{path} holds no property values", "write a mapping: 'name: value' lines")
        answers.update(data)
    for pair in pairs:
        key, equals, value = pair.partition("=")
        parts = key.split(".")
        if not equals or not all(part.isidentifier() for part in parts):
            raise click.BadParameter(f"'{pair}' is not of the form NAME=VALUE", param_hint="--set")
        target = answers
        for part in parts[:-1]:
            inner = target.get(part)
            if not isinstance(inner, dict):
                inner = target[part] = dict(inner) if isinstance(inner, Mapping) else {}
            target = inner
        target[parts[-1]] = yaml_value(value)
    return answers


def _main(packages: list[Any], wanted: str | None) -> Any:
    """The class to deploy. Reads class files; code of them runs in task processes only."""
    from vetro.cli.loading import extended
    from vetro.cli.targets import main_class
    from vetro.muranopl import Engine

    known, extensions = extended(packages)
    return main_class(Engine(known, natives=extensions.natives).session(), packages, wanted)


def _model(
    asked: Any,
    sources: Any,
    folder: Any,
    name: str,
    type_: Any,
    answers: Mapping[str, Any],
    app_name: str | None,
) -> tuple[Any, dict[str, Any]]:
    """The model to deploy, checked against all contracts, and what was chosen."""
    from vetro.engine.models import Environment, put

    fresh = folder is None or folder.model().root is None
    model = Environment.new(name, folder.id if folder is not None else "0" * 32) if fresh else folder.model().deployed()
    applied = asked.application(type_, model.model, answers, app_name)
    put(model, applied)
    asked.check(model.model, sources)
    return model, applied["chosen"]


def _adopt(model: Any, id: str) -> None:
    """Gives the environment object of a new model its id."""
    model.root["?"]["id"] = id
    network = model.root["defaultNetworks"]["environment"]
    network["?"]["id"] = f"{id}-network"


def _no_open_task(folder: Any) -> None:
    if folder.open_task() is not None:
        out.fail(
            f"environment '{folder.name}' has a task that was interrupted",
            f"vetro env resume {folder.name} goes on with it; vetro env resume {folder.name} --cancel ends it",
        )
