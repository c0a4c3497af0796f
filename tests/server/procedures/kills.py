"""Guarded updates under kill -9: a service of processes that are forked, killed anywhere, and forked again.

Each process (who begins the update, who works, who sweeps) is killed at a statement of the database that it was about
to make, or its effects host or task process at a step of the engine. Whoever comes next goes on as another worker
would: leases of the dead have lapsed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from vetro.server.caller import Caller
from vetro.server.config.config import Config

CALLER = Caller("local", "tester", "local", "local", ("admin",), True)
Victim = Literal["self", "host", "task", "nobody"]
#: Processes after which a case that has not ended is stuck.
MOST = 60


@dataclass
class Case:
    """One update: what is meant to go wrong, and what became of it."""

    seed: int
    kills: int = 0
    processes: int = 0
    killed: list[str] = field(default_factory=list)
    step: str = ""
    standstill: float = 0.0


class Kill:
    """Kills once: the process itself before its n-th statement, or another one at the n-th step of the engine."""

    def __init__(self, victim: Victim, at: int, write: int) -> None:
        self.victim, self.at, self._write = victim, at, write
        self._count = 0
        self.host: Any = None
        self.task: Any = None

    def statement(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        """A wrapper of the database."""
        if self.victim == "self":
            self._tick(sql[:60])
        return execute(sql, params, many, context)

    def step(self, name: str, key: str) -> None:
        """A step of the engine."""
        if self.victim in ("host", "task"):
            self._tick(f"{name} {key}")

    def _tick(self, what: str) -> None:
        self._count += 1
        if self._count != self.at:
            return
        os.write(self._write, (json.dumps({"killed": f"{self.victim} at {what}"}) + "\n").encode())
        if self.victim == "self":
            os.kill(os.getpid(), signal.SIGKILL)
        found = self.host if self.victim == "host" else self.task
        if found is not None:
            found.kill()


def in_process(work: Callable[[int], Any], limit: float = 300.0) -> tuple[bool, list[dict[str, Any]]]:
    """Forks a process that works: whether it lived to its end, and what it said. Raises where it failed."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        status = 1
        try:
            work(writer)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    begun, text = time.monotonic(), b""
    os.set_blocking(reader, False)
    while True:
        text += _read(reader)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() - begun > limit:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError("a process hangs")
        time.sleep(0.01)
    while chunk := _read(reader):
        text += chunk
    os.close(reader)
    said = [json.loads(line) for line in text.decode().splitlines()]
    if os.WIFSIGNALED(status):
        return False, said
    assert os.waitstatus_to_exitcode(status) == 0, "a process failed, see its standard error"
    return True, said


def _read(reader: int) -> bytes:
    try:
        return os.read(reader, 1 << 20)
    except BlockingIOError:
        return b""


class Service:
    """The service over a data folder, in whatever process calls it."""

    def __init__(self, folder: Path, properties: Mapping[str, Any] | None = None, **settings: Any) -> None:
        self.folder = folder
        self.settings = settings
        #: Of the shop.
        self.properties = dict(properties or {})

    def config(self) -> Config:
        """Its settings."""
        return Config.load(self.folder, None, environ={}).changed({"worker.lease_seconds": 5, **self.settings})

    def opened(self, stack: ExitStack) -> Config:
        """Django over it, in this process."""
        from vetro.server import setup

        config = self.config()
        setup.open_with(config, stack)
        return config


def work(service: Service, kill: Kill, health: Callable[[Any], Mapping[str, Any]]) -> None:
    """What a worker does until nothing is left to do: tasks, and sweeps; time that has to pass has passed."""
    from django.db import connection

    from vetro.engine.task.launcher import Launcher
    from vetro.server.procedures.models import Procedure
    from vetro.server.procedures.sweep import visit
    from vetro.server.tasks import effect_hosts
    from vetro.server.tasks.claim import claim
    from vetro.server.tasks.models import Task
    from vetro.server.tasks.task_runner import TaskRunner

    class Launching:
        def __init__(self, launcher: Launcher) -> None:
            self._launcher = launcher

        def start(self) -> Any:
            kill.task = self._launcher.start()
            return kill.task

    def host(settings: Mapping[str, Any]) -> Any:
        kill.host = effect_hosts.host(settings)
        return kill.host

    with ExitStack() as stack:
        config = service.opened(stack)
        launcher = stack.enter_context(Launcher())
        runner = TaskRunner(config, Launching(launcher), host, kill.step)
        past = datetime.now(UTC) - timedelta(hours=1)
        Task.objects.filter(state=Task.RUNNING).update(lease_until=past)  # whoever had them is dead
        with connection.execute_wrapper(kill.statement):
            for _ in range(MOST):
                Task.objects.filter(state__in=(Task.QUEUED, Task.RUNNING)).update(lease_until=past)
                lease = claim(f"worker-{os.getpid()}", 60.0)
                if lease is not None:
                    runner.run(lease)
                    continue
                row = Procedure.objects.filter(finished=None).exclude(step="stuck").first()
                if row is None:
                    break
                _pass_time(row)
                visit(row.id, health)
        effect_hosts.close()


def _pass_time(row: Any) -> None:
    """What it waits for is over."""
    from vetro.server.procedures.models import Procedure

    record = dict(row.record)
    if record.get("until") is not None and record["until"] > time.time():
        ahead = record["until"] - time.time() + 1
        record["until"] -= ahead
        record["since"] -= ahead
        Procedure.objects.filter(id=row.id).update(record=record)


def shown(service: Service, files: Callable[[Config], Any], write: int) -> None:
    """Says how everything stands; ``files``: what else is to be as before."""
    with ExitStack() as stack:
        config = service.opened(stack)
        with open(write, "w", closefd=False) as file:
            file.write(json.dumps({**state(service), "files": files(config)}) + "\n")


def state(service: Service) -> dict[str, Any]:
    """All that an environment is, in the service and in its cloud; ids and times of tasks left out."""
    from vetro.server.environments.models import Environment, EnvironmentPackage, State
    from vetro.server.procedures.models import Procedure
    from vetro.server.tasks.models import Task

    row = Environment.objects.get()
    newest: Any = State.objects.filter(environment=row).order_by("-number").first()
    procedure = Procedure.objects.order_by("-created").first()
    running = Task.objects.exclude(state__in=Task.FINAL).count()
    packages = EnvironmentPackage.objects.order_by("fqn").values_list("fqn", "version", "digest")
    return {
        "model": newest.model,
        "number": newest.number,
        "undone_of": newest.undone_of,
        "lock": newest.lock_id,
        "answers": newest.answers,
        "packages": [list(one) for one in packages],
        "failure": row.failure,
        "stopped": row.stopped,
        "reserved": row.procedure_id,
        "open": running,
        "procedures": Procedure.objects.count(),
        "step": None if procedure is None else procedure.step,
        "final": procedure is None or procedure.finished is not None,
        "states": State.objects.filter(environment=row).count(),
        "tasks": [] if procedure is None else list(procedure.steps.order_by("id").values_list("kind", flat=True)),
        "held": [] if procedure is None else procedure.about.get("held") or [],
        "reason": "" if procedure is None else str((procedure.about.get("reason") or {}).get("text")),
        "cloud": cloud_rows(service.folder / "cloud"),
    }


#: Tables whose rows are what an environment has, and columns that say when, or count.
_TABLES = ("stacks", "resources", "records", "outputs", "leases", "addresses", "queues", "parts", "reserved")


def cloud_rows(folder: Path) -> dict[str, Any]:
    """The rows of a cloud that make environments what they are, in any order; and whether a snapshot is there."""
    (path,) = folder.rglob("cloud.db")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        found = {
            # Generations of stacks only rise: whoever had read one before knows that it is another now.
            name: sorted(
                repr(row[:-1] if name == "stacks" else row) for row in database.execute(f"SELECT * FROM {name}")
            )
            for name in _TABLES
            if name in tables
        }
        snapshots = database.execute("SELECT COUNT(*) FROM snapshots").fetchone()[0]
    return {"rows": found, "snapshots": snapshots}


def chances(seed: int) -> random.Random:
    """What a case draws from."""
    return random.Random(f"guarded {seed}")
