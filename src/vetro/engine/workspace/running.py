"""Running a task of a workspace: launcher, journal, effects host and worker put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vetro import __version__
from vetro.engine.outcome import Outcome
from vetro.engine.task import Task
from vetro.engine.workspace.files import WorkspaceError
from vetro.engine.workspace.folder import EnvironmentFolder, TaskFolder
from vetro.engine.workspace.store import Workspace

#: The project to which everything in a workspace belongs.
PROJECT = "local"
#: States after which the task is over; the other ones can be continued.
FINAL = ("done", "failed", "cancelled", "killed", "diverged")


def host_config(workspace: Workspace, folder: EnvironmentFolder) -> dict[str, Any]:
    """What `vetro.engine.host.build_host` needs for an environment of this workspace."""
    cloud: dict[str, Any] = {
        "kind": "local",
        "driver": folder.setting("driver") or "record",
        "directory": str(workspace.cloud),
    }
    if folder.setting("script"):
        cloud["script"] = folder.setting("script")
    return {
        "cloud": cloud,
        "owner": {"project": PROJECT, "environment": folder.id},
        # A recorder checks no signatures: a key would only cost time.
        "signing_key": None if cloud["driver"] == "record" else str(workspace.root / "signing-key.pem"),
        "secrets": str(workspace.root / "secrets"),
    }


def settings(folder: EnvironmentFolder) -> dict[str, Any]:
    """Engine settings for tasks on the local cloud: agents are reached through the socket in their server."""
    return {"rabbitmq": {"host": "unix:/run/vetro/agent.sock"}, "home_region": "", **(folder.setting("settings") or {})}


def new_task(folder: EnvironmentFolder, kind: str, model: Mapping[str, Any], **more: Any) -> Task:
    """A task over ``model`` with the environment's packages; ids and random names follow from its number."""
    number = max([0, *(t.number for t in folder.tasks())]) + 1
    return Task(
        id=f"{folder.id}-{number}",
        kind=kind,  # type: ignore[arg-type]
        packages=tuple(folder.package_paths()),
        model=model,
        seed=f"{folder.id}:{number}",
        settings=settings(folder),
        engine=__version__,
        **more,
    )


def run(
    workspace: Workspace,
    folder: EnvironmentFolder,
    begun: TaskFolder,
    *,
    events: Callable[[Mapping[str, Any]], None] = lambda event: None,
    on_worker: Callable[[Any], None] = lambda worker: None,
    timeout: float | None = None,
    cache: str | None = None,
) -> Outcome:
    """Runs, or goes on with, a task that was written down, and writes down how it ended. Hold the environment's lock.

    ``on_worker`` gets the worker before it starts: `cancel` may be called on it. ``cache`` is the folder of a compile
    cache, which is only read. Raises what `Worker.run` raises; the
    task then stays open and can be continued.
    """
    from vetro.engine.host import HostProcess
    from vetro.engine.journal_sqlite import SqliteJournal
    from vetro.engine.launcher import Launcher
    from vetro.engine.worker import Limits, Worker

    task = begun.task()
    missing = [path for path in task.packages if not Path(path).exists()]
    if missing:
        raise WorkspaceError(f"a package of the task is gone: {missing[0]}", hint="restore the environment's folder")
    started = time.time()
    journal = SqliteJournal(folder.journal, task.id)
    try:
        with Launcher(cache=cache) as launcher:
            host = HostProcess(host_config(workspace, folder))
            try:
                worker = Worker(task, journal, launcher, host, events, limits=Limits(timeout=timeout))
                on_worker(worker)
                outcome = worker.run()
            finally:
                host.stop()
    finally:
        journal.close()
    if outcome.state in FINAL:
        record = {
            "state": outcome.state,
            "kind": task.kind,
            "method": task.method,
            "error": outcome.error,
            "result": outcome.result,
            "started": started,
            "ended": time.time(),
            "cpu_seconds": outcome.cpu_seconds,
        }
        for index, report in enumerate(outcome.reports):
            folder.report(begun.number, str(index), dict(report))
        folder.end(begun, outcome.model, record)
    return outcome
