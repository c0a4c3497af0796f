"""`vetro deploy` on this machine: into an environment of a workspace."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from vetro.cli import output as out


def deploy(
    workspace: str | None,
    paths: Sequence[str],
    *,
    env_name: str | None,
    wanted: str | None,
    app_name: str | None,
    answers: Mapping[str, Any],
    driver: str,
    script: str | None,
    dry_run: bool,
    plan: bool,
    timeout: float | None,
    quiet: bool,
    verbose: bool,
) -> None:
    """Does it. Ends the command with status 1 when the task does not end well."""
    from vetro.cli.deploy_target import environment_name, main_type, needed_packages, say_chosen
    from vetro.cli.package_paths import load_packages, source_finder
    from vetro.cli.package_queries import Asked, launcher
    from vetro.cli.task_run import choose_driver, conclude, execute, open_workspace, rehearse, show_summary
    from vetro.engine.workspace.files import NoSuchEnvironment
    from vetro.engine.workspace.planning import scratch
    from vetro.engine.workspace.running import new_task

    options: dict[str, Any] = {"quiet": quiet, "verbose": verbose, "timeout": timeout}
    with out.explained():
        packages = load_packages(paths)
        place = open_workspace(workspace)
    sources = source_finder(packages)
    with out.explained(sources), launcher(packages) as processes:
        type_ = main_type(packages, wanted)
        name = env_name or environment_name(type_.name)
        try:
            folder = place.get(name)
        except NoSuchEnvironment:
            folder = None
        with Asked(processes, packages, place) as asked:
            model, applied = _model(asked, sources, folder, name, type_, answers, app_name)
        if dry_run:
            out.print_data(model.model, "yaml")
            return
        if plan:
            say_chosen(type_, applied)
            with scratch(folder, name, driver=choose_driver(driver, place, quiet=True)) as draft:
                draft.add_packages(needed_packages(packages, type_, model))
                rehearse(place, draft, model.model, "table", launcher=processes, **options)
            return
        if script is not None:
            from vetro.clouds import kinds
            from vetro.clouds.interface import Place

            # A slip in it must not cost an environment.
            kinds.choose(Place(directory=place.cloud), wanted=kinds.RECORD, settings={"script": script})
        if folder is None:
            chosen_driver = choose_driver(driver, place)
            folder = place.create(name, driver=chosen_driver, script=os.path.abspath(script) if script else None)
            _adopt(model, folder.id)
        with folder.lock():
            _no_open_task(folder)
            for change in folder.add_packages(needed_packages(packages, type_, model)):
                out.note(change)
            say_chosen(type_, applied)
            started = time.monotonic()
            begun = folder.begin(new_task(folder, "deploy", model.model))
            outcome = execute(place, folder, begun, launcher=processes, **options)
        conclude(folder, outcome)
        show_summary(folder, time.monotonic() - started)


def _model(
    asked: Any,
    sources: Any,
    folder: Any,
    name: str,
    type_: Any,
    answers: Mapping[str, Any],
    app_name: str | None,
) -> tuple[Any, dict[str, Any]]:
    """The model to deploy, checked against all contracts, and what was put into it."""
    from vetro.engine.models import Environment, put

    fresh = folder is None or folder.model().root is None
    model = Environment.new(name, folder.id if folder is not None else "0" * 32) if fresh else folder.model().deployed()
    applied = asked.application(type_, model.model, answers, app_name)
    put(model, applied)
    asked.check(model.model, sources)
    return model, applied


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
