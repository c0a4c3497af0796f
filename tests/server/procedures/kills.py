"""Guarded updates under kill -9: a service of processes that are forked, killed anywhere, and forked again.

Each process begins the update where nobody has, and then works and sweeps until it has ended. It is killed at a
statement of the database that it was about to make, or its effects host or its task process at a step of the engine.
Whoever comes next goes on as another worker would: leases of the dead have lapsed. One zygote and one process that
forks hosts serve all of them, so a case costs little; hosts of who was killed are killed as the kernel would.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sqlite3
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from vetro.engine.host.forker import HostForker
from vetro.engine.host.process import HostProcess
from vetro.engine.task.launcher import Launcher
from vetro.server.caller import Caller
from vetro.server.config.config import Config

CALLER = Caller("local", "tester", "local", "local", ("admin",), True)
Victim = Literal["self", "host", "task", "keeper", "server"]
#: Processes, and tasks and looks of one of them, after which a case that has not ended is stuck.
MOST, TURNS = 20, 60


@dataclass(frozen=True)
class Kill:
    """Whom to kill in what phase: before its n-th statement, or at the n-th step of the engine."""

    phase: str
    victim: Victim
    at: int


@dataclass
class Case:
    """One update: what is meant to go wrong, and what became of it."""

    seed: int
    kind: str
    processes: int = 0
    kills: list[str] = field(default_factory=list)
    step: str = ""
    standstill: float = 0.0
    seconds: float = 0.0


class Killer:
    """Carries out kills in this process. It says which before it does, and what others it started.

    ``servers``: kills the keeper, or the first process, of a real server.
    """

    def __init__(self, kills: Sequence[Kill], write: int, servers: Callable[[Victim], None] | None = None) -> None:
        self._kills = list(kills)
        self._write = write
        self._servers = servers
        #: What is being done now, and what was counted of it: statements and steps.
        self._phase = ""
        self.counts: dict[tuple[str, str], int] = {}
        self.host: Any = None
        self.task: Any = None

    def enter(self, phase: str) -> None:
        """What follows is another phase; one that comes again is counted on."""
        self._phase = phase

    def say(self, **what: Any) -> None:
        """A line for who forked this process."""
        data = (json.dumps(what) + "\n").encode()
        while data:
            data = data[os.write(self._write, data) :]

    def statement(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        """A wrapper of the database."""
        self._tick(sql[:60], ("self",))
        return execute(sql, params, many, context)

    def step(self, name: str, key: str) -> None:
        """A step of the engine."""
        self._tick(f"{name} {key}", ("host", "task", "keeper", "server"))

    def _tick(self, what: str, victims: Sequence[Victim]) -> None:
        key = (self._phase, victims[0])
        self.counts[key] = self.counts.get(key, 0) + 1
        for kill in [one for one in self._kills if one.phase == self._phase and one.victim in victims]:
            if self.counts[key] < kill.at:
                continue
            self._kills.remove(kill)
            self.say(killed=[kill.phase, kill.victim, kill.at], what=what)
            if kill.victim == "self":
                os.kill(os.getpid(), signal.SIGKILL)
            if kill.victim in ("keeper", "server"):
                assert self._servers is not None
                self._servers(kill.victim)
            elif (found := self.host if kill.victim == "host" else self.task) is not None:
                found.kill()


@dataclass
class Forks:
    """What task processes and effects hosts of all processes are forked from."""

    launcher: Launcher
    hosts: HostForker


@contextmanager
def forks(cache: Path, cloud: str) -> Iterator[Forks]:
    """``cache``: the folder of compiled code."""
    with Launcher(cache=cache) as launcher, HostForker(cloud) as hosts:
        launcher.start().close()  # it is ready
        launcher.fork_ahead()
        hosts.start()
        yield Forks(launcher, hosts)


def in_process(work: Callable[[int], Any], limit: float = 600.0) -> tuple[bool, list[dict[str, Any]]]:
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
    end, text = time.monotonic() + limit, b""
    descriptor = os.pidfd_open(pid)
    os.set_blocking(reader, False)
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.register(descriptor, select.POLLIN)
    try:
        while True:
            ready = dict(poll.poll(max(0.0, end - time.monotonic()) * 1000))
            if not ready:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                raise AssertionError("a process hangs")
            chunk = _read(reader)
            text += chunk
            if not chunk and reader in ready:  # nobody writes any more
                poll.unregister(reader)
            if not chunk and descriptor in ready:
                break
    finally:
        os.close(reader)
        os.close(descriptor)
    _, status = os.waitpid(pid, 0)
    said = [json.loads(line) for line in text.decode().splitlines()]
    if os.WIFSIGNALED(status):
        for one in said:
            if "host" in one:
                _end(one["host"])
        return False, said
    assert os.waitstatus_to_exitcode(status) == 0, "a process failed, see its standard error"
    return True, said


def _read(reader: int) -> bytes:
    try:
        return os.read(reader, 1 << 20)
    except BlockingIOError:
        return b""


def _end(pid: int) -> None:
    """A host dies with the process that it works for: the kernel sees to that, where it is its child."""
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            select.select([descriptor], [], [])
        finally:
            os.close(descriptor)


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


def work(
    config: Config,
    forks: Forks,
    killer: Killer,
    health: Callable[[Any], Mapping[str, Any]],
    ask: Callable[[], None] | None = None,
) -> None:
    """What a worker does until nothing is left to do: tasks, and sweeps; time that has to pass has passed. ``ask``:
    what somebody does before an update is looked at."""
    from vetro.server.procedures.models import Procedure
    from vetro.server.procedures.sweep import visit
    from vetro.server.tasks.claim import claim
    from vetro.server.tasks.models import Task
    from vetro.server.tasks.task_runner import TaskRunner

    class Launching:
        def start(self) -> Any:
            killer.task = forks.launcher.start()
            forks.launcher.fork_ahead()
            return killer.task

    class Host(HostProcess):
        def start(self) -> None:
            super().start()
            killer.say(host=self.pid)

    def host(settings: Mapping[str, Any]) -> Any:
        killer.host = Host(settings, forks.hosts)
        return killer.host

    runner = TaskRunner(config, Launching(), host, killer.step)
    past = datetime.now(UTC) - timedelta(hours=1)
    for _ in range(TURNS):
        killer.enter("between")
        Task.objects.filter(state__in=(Task.QUEUED, Task.RUNNING)).update(lease_until=past)  # whoever had them is dead
        lease = claim(f"worker-{os.getpid()}", 60.0)
        if lease is not None:
            task = Task.objects.get(id=lease.task_id)
            killer.enter(task.action["method"] if task.kind == "snapshot" else task.kind)
            runner.run(lease)
            continue
        row = Procedure.objects.filter(finished=None).exclude(step="stuck").first()
        if row is None:
            return
        killer.enter("look")
        if ask is not None and row.step == "settling":
            ask()
            continue
        _pass_time(row)
        visit(row.id, health)


def _pass_time(row: Any) -> None:
    """What it waits for is over."""
    from vetro.server.procedures.models import Procedure

    record = dict(row.record)
    if record.get("until") is not None and record["until"] > time.time():
        ahead = record["until"] - time.time() + 1
        record["until"] -= ahead
        record["since"] -= ahead
        Procedure.objects.filter(id=row.id).update(record=record)


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
        "errors": [error for error in Task.objects.order_by("created").values_list("error", flat=True) if error],
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
