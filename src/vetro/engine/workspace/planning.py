"""Plans in a workspace: what a deployment would do (`vetro.engine.planning`). Nothing of the workspace is changed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from vetro.clouds.interface import Owner
from vetro.engine import planning
from vetro.engine.outcome import Outcome
from vetro.engine.workspace.folder import EnvironmentFolder
from vetro.engine.workspace.running import PROJECT, host_config, task_of, work
from vetro.engine.workspace.secrets import secret_properties
from vetro.engine.workspace.store import Workspace

#: The id of an environment that there is only in a plan.
NEW = "0" * 32


@contextmanager
def scratch(folder: EnvironmentFolder | None, name: str, **settings: Any) -> Iterator[EnvironmentFolder]:
    """A copy of an environment's folder to which packages may be added, gone after the block.

    Without a folder it is a new one with these settings.
    """
    with tempfile.TemporaryDirectory(prefix="vetro-plan-") as place:
        path = Path(place, "environment")
        yield EnvironmentFolder.create(path, name, NEW, **settings) if folder is None else folder.copy(path)


def plan(
    workspace: Workspace,
    folder: EnvironmentFolder,
    model: Mapping[str, Any],
    events: Callable[[Mapping[str, Any]], None] = lambda event: None,
    **options: Any,
) -> Outcome:
    """Plans the deployment of a model with the packages of a `scratch` folder; the result is what the plan says.

    Options are those of `vetro.engine.workspace.running.work`. Raises what `Worker.run` raises.
    """
    from vetro.engine.worker.sqlite_journal import SqliteJournal

    task = task_of(workspace.settings(), folder, "plan", "deploy", model)
    config = host_config(workspace, folder, lasting=False)
    recorder = folder.path.parent / "cloud"
    recorder.mkdir()
    with closing(SqliteJournal(folder.journal, task.id)) as journal:
        outcome = work(task, journal, planning.host_config(config, str(recorder)), events, **options)
        owner = Owner(PROJECT, folder.id)
        return planning.told(
            outcome,
            journal,
            model=model,
            owner=owner,
            real=config["cloud"],
            folder=str(recorder),
            secret=secret_properties(folder),
        )
