"""Tasks of a workspace in the foreground: a task belongs to the command that began it.

Who runs a task holds the lock of its environment; the lock ends with the process. A task that has not ended while
nobody holds the lock was interrupted, and `run` goes on with it where it was.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connections

from vetro.clouds.kinds import KindMissing
from vetro.engine.worker.ports import ProcessLauncher
from vetro.server.config.cloud_settings import check_kind
from vetro.server.config.config import Config, ConfigError
from vetro.server.environments.models import Environment
from vetro.server.errors import Conflict
from vetro.server.local.environments import open_task
from vetro.server.local.locks import EnvironmentBusy
from vetro.server.local.workspace import Workspace
from vetro.server.tasks.claim import Lease, renew, take
from vetro.server.tasks.models import Task
from vetro.server.tasks.task_runner import TaskRunner


class Interrupted(Conflict):
    """The environment has a task that was begun and has not ended, and nobody works on it."""

    code = "SRV437"


def check_free(workspace: Workspace, environment_id: str, name: str, *, abandon: bool = False) -> None:
    """Raises `EnvironmentBusy` while a command works on an environment, `Interrupted` when one was killed there, unless
    somebody wants to ``abandon`` it."""
    holder = workspace.lock(environment_id).holder()
    if holder is not None:
        raise _busy(name, holder)
    if not abandon and Environment.objects.filter(id=environment_id).exclude(procedure_id="").exists():
        raise Interrupted(
            f"environment '{name}' has an update that was interrupted",
            hint=f"vetro env resume {name} goes on with it; vetro env resume {name} --cancel takes it back",
        )
    if not abandon and open_task(environment_id) is not None:
        raise Interrupted(
            f"environment '{name}' has a task that was interrupted",
            hint=f"vetro env resume {name} goes on with it; vetro env resume {name} --cancel ends it",
        )


@contextmanager
def held(workspace: Workspace, environment_id: str, name: str) -> Iterator[None]:
    """Keeps commands from working on an environment during the block. Raises `EnvironmentBusy`."""
    lock = workspace.lock(environment_id)
    holder = lock.take()
    if holder is not None:
        raise _busy(name, holder)
    try:
        yield
    finally:
        lock.free()


def run(
    workspace: Workspace,
    task_id: str,
    name: str,
    launcher: ProcessLauncher,
    *,
    events: Callable[[Mapping[str, Any]], None],
    on_runner: Callable[[TaskRunner], None] = lambda runner: None,
    timeout: float | None = None,
) -> Task:
    """Runs a task, or goes on with it, until it has ended or needs a person: the task as it is then.

    ``name``: of its environment. ``on_runner`` gets what can cancel it. Raises `EnvironmentBusy` where another process
    runs it, what interrupts this process, and `Interrupted` when something around the task fails; it can be continued.
    """
    config = workspace.config
    task = Task.objects.only("id", "environment_id", "spec").get(id=task_id)
    kind = (task.spec.get("cloud") or {}).get("kind")
    try:
        if kind:
            check_kind(config, kind)
    except (ConfigError, KindMissing) as error:
        hint = f"when that is mended, vetro env resume {name} goes on with it"
        raise Interrupted(error.message, hint=hint) from None
    lock = workspace.lock(task.environment_id or str(task.spec.get("environment") or task.id))
    if task.environment_id:
        holder = lock.take()
        if holder is not None:
            raise _busy(name, holder)
    try:
        seconds = float(config["worker.lease_seconds"])
        for earlier in snapshots_before(task):  # what is let go before all of it is destroyed
            _to_its_end(config, launcher, earlier, seconds)
        lease = take(task_id, f"command-{os.getpid()}", seconds)
        if lease is not None:
            runner = TaskRunner(config, launcher, events=events, timeout=timeout)
            on_runner(runner)
            with _renewed(lease, runner):
                if runner.run(lease) is None:
                    why = f": {runner.last_failure}" if runner.last_failure else ""
                    hint = f"when that is mended, vetro env resume {name} goes on with it"
                    raise Interrupted(f"something that the task needs does not work{why}", hint=hint)
        return Task.objects.get(id=task_id)
    finally:
        lock.free()


def snapshots_before(task: Task) -> list[str]:
    """Tasks that hold, bring back or let go of an environment and that come before this one."""
    if not task.environment_id:
        return []
    waiting = Task.objects.filter(environment_id=task.environment_id, kind="snapshot").exclude(state__in=Task.FINAL)
    created = Task.objects.values_list("created", flat=True).get(id=task.id)
    return list(waiting.filter(created__lt=created).order_by("created", "id").values_list("id", flat=True))


def _to_its_end(config: Config, launcher: ProcessLauncher, task_id: str, seconds: float) -> None:
    lease = take(task_id, f"command-{os.getpid()}", seconds)
    if lease is not None:
        runner = TaskRunner(config, launcher)
        with _renewed(lease, runner):
            runner.run(lease)


def _busy(name: str, holder: int) -> EnvironmentBusy:
    by = f" (process {holder})" if holder else ""
    return EnvironmentBusy(f"environment '{name}' is being worked on by another process{by}", hint="wait for it")


@contextmanager
def _renewed(lease: Lease, runner: TaskRunner) -> Iterator[None]:
    """Renews a lease during the block: a server on the same folder leaves the task alone."""
    over = threading.Event()

    def beat() -> None:
        try:
            while not over.wait(lease.seconds / 3):
                runner.lose(renew([lease]))
        finally:
            connections.close_all()

    thread = threading.Thread(target=beat, name="vetro lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
