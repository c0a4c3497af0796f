"""Running a task of a workspace: launcher, journal, effects host and worker put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from vetro.clouds import kinds
from vetro.clouds.interface import CloudKind
from vetro.clouds.stacks.kind import DriverKind
from vetro.engine.host.encryption import key_in
from vetro.engine.outcome import Outcome
from vetro.engine.task.task import Task
from vetro.engine.version import engine_version
from vetro.engine.worker.journal import Journal
from vetro.engine.workspace.files import WorkspaceError
from vetro.engine.workspace.folder import EnvironmentFolder
from vetro.engine.workspace.settings import FILE, Settings, SettingsError
from vetro.engine.workspace.store import Workspace
from vetro.engine.workspace.task_folder import TaskFolder

#: The project to which everything in a workspace belongs.
PROJECT = "local"
#: States after which the task is over; the other ones can be continued.
FINAL = ("done", "failed", "cancelled", "killed", "diverged")


def host_config(workspace: Workspace, folder: EnvironmentFolder, *, lasting: bool = True) -> dict[str, Any]:
    """What `vetro.engine.host.build_host` needs for an environment of this workspace. Raises `SettingsError`.

    With ``lasting=False`` nothing is made in the workspace that is not there.
    """
    given = workspace.settings()
    kind = kinds.find(str(folder.setting("driver") or kinds.RECORD))
    plain = cloud_settings(given, kind)
    home = settings(given, folder)["home_region"]
    if home and isinstance(kind, DriverKind):
        plain = {"home_region": home, **plain}
    able = kind.capabilities(kind.settings.from_json(plain))
    if folder.setting("script") and not able.executes:
        plain["script"] = folder.setting("script")
    cloud = {"kind": kind.name, "directory": str(workspace.cloud), "settings": plain}
    if able.quota:
        cloud["quotas"] = dict(given.quotas)
    return {
        "cloud": cloud,
        "owner": {"project": PROJECT, "environment": folder.id},
        # What is only written down checks no signatures: a key would only cost time.
        "signing_key": given.signing_key if able.executes else None,
        "secrets": key_in(workspace.root / "secrets", make=lasting),
        "broker": None if given.broker is None else dict(given.broker),
        "plugins": None if given.plugins is None else list(given.plugins),
    }


def cloud_settings(given: Settings, kind: CloudKind) -> dict[str, Any]:
    """The settings of a kind in this workspace, as plain data. Raises `SettingsError`."""
    if kind.name not in given.clouds and not isinstance(kind, DriverKind):
        raise SettingsError(
            f"the workspace knows no {kind.title}",
            hint=f"write the section cloud.{kind.name} into its {FILE} (docs/settings.md)",
        )
    shared = given.cloud if isinstance(kind, DriverKind) else {}
    return {**shared, **given.clouds.get(kind.name, {})}


def settings(given: Settings, folder: EnvironmentFolder | None) -> dict[str, Any]:
    """Engine settings for tasks: of the workspace, then those that its environment has of its own.

    Without a broker agents are reached through the socket in their server.
    """
    # The engine is given a file with certificates; servers want their text, which `engine.settings` can give.
    shown = {name: value for name, value in (given.broker or {}).items() if name != "ca_certs"}
    broker = {**(shown or {"host": "unix:/run/vetro/agent.sock"}), **given.engine.get("rabbitmq", {})}
    own = (folder.setting("settings") if folder is not None else None) or {}
    regions = {"regions": list(given.cloud["regions"])} if given.cloud.get("regions") else {}
    return {"home_region": "", **regions, **given.engine, "rabbitmq": broker, **own}


def new_task(folder: EnvironmentFolder, kind: str, model: Mapping[str, Any], **more: Any) -> Task:
    """A task over ``model`` with the environment's packages; ids and random names follow from its number."""
    return task_of(folder.workspace.settings(), folder, str(folder.next_number()), kind, model, **more)


def task_of(
    given: Settings, folder: EnvironmentFolder, number: str, kind: str, model: Mapping[str, Any], **more: Any
) -> Task:
    """The same with these settings; ``number`` is what sets it apart from others of the environment."""
    return Task(
        id=f"{folder.id}-{number}",
        kind=kind,  # type: ignore[arg-type]
        packages=tuple(folder.package_paths()),
        model=model,
        seed=f"{folder.id}:{number}",
        settings=settings(given, folder),
        configs=tuple(given.class_configs),
        plugins=given.plugins,
        budget=given.budget,
        engine=engine_version(),
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
    launcher: Any = None,
) -> Outcome:
    """Runs, or goes on with, a task that was written down, and writes down how it ended. Hold the environment's lock.

    ``on_worker`` gets the worker before it starts: `cancel` may be called on it. ``launcher`` starts task processes;
    without one, one is made for this task, and ``cache`` is the folder of its compile cache, which is only read. Raises
    what `Worker.run` raises; the task then stays open and can be continued.
    """
    from vetro.engine.worker.sqlite_journal import SqliteJournal

    task = begun.task()
    missing = [path for path in task.packages if not Path(path).exists()]
    if missing:
        raise WorkspaceError(f"a package of the task is gone: {missing[0]}", hint="restore the environment's folder")
    started = time.time()
    journal = SqliteJournal(folder.journal, task.id)
    try:
        options: dict[str, Any] = {"on_worker": on_worker, "timeout": timeout, "cache": cache, "launcher": launcher}
        outcome = work(task, journal, host_config(workspace, folder), events, **options)
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


def work(
    task: Task,
    journal: Journal,
    host: Mapping[str, Any],
    events: Callable[[Mapping[str, Any]], None] = lambda event: None,
    *,
    on_worker: Callable[[Any], None] = lambda worker: None,
    timeout: float | None = None,
    cache: str | None = None,
    launcher: Any = None,
) -> Outcome:
    """A worker for one task, with an effects host of these settings; options as of `run`."""
    from vetro.engine.host import HostProcess
    from vetro.engine.task.launcher import Launcher
    from vetro.engine.worker.ports import Policies
    from vetro.engine.worker.worker import Limits, Worker

    with nullcontext(launcher) if launcher is not None else Launcher(cache=cache) as processes:
        process = HostProcess(host)
        try:
            policies = Policies(plugins=task.plugins)
            worker = Worker(
                task, journal, processes, process, events, limits=Limits(timeout=timeout), policies=policies
            )
            on_worker(worker)
            return worker.run()
        finally:
            process.stop()
