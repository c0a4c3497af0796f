"""A fleet of N servers: its task, and running it while the clocks of all processes are read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.deployments.clocks import process_seconds
from vetro.cli.client.local_workspace import open_local
from vetro.clouds.overview import clean
from vetro.engine.host.forker import HostForker
from vetro.engine.host.process import HostProcess
from vetro.engine.outcome import Outcome
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Budget, Task
from vetro.engine.worker.worker import Worker

PACKAGE = Path(__file__).parent / "packages" / "bench.fleet"
ENVIRONMENT = "fleet-env"


def model(servers: int = 0, *, things: int = 0, apart: bool = False) -> dict[str, Any]:
    """An environment with one fleet. ``apart``: every server is pushed on its own."""
    fleet = {
        "?": {"type": "bench.fleet", "id": "fleet", "name": "Fleet"},
        "apart": apart,
        "members": [
            {
                "?": {"type": "bench.fleet.Member", "id": f"member-{number}"},
                "instance": {
                    "?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": f"server-{number}"},
                    "name": f"bench-{number}",
                    "flavor": "m1.small",
                    "image": "debian-12-murano",
                },
            }
            for number in range(servers)
        ],
        "things": [
            {
                "?": {"type": "bench.fleet.Thing", "id": f"thing-{number}", "name": f"Thing {number}"},
                "name": f"thing {number}",
                "size": number,
                "tags": ["small", "blue"],
                "next": f"thing-{number - 1}" if number else None,
            }
            for number in range(things)
        ],
    }
    environment = {
        "?": {"type": "io.murano.Environment", "id": ENVIRONMENT, "name": "fleet"},
        "name": "fleet",
        "applications": [fleet],
        "defaultNetworks": {
            "environment": {
                "?": {"type": "io.murano.resources.NeutronNetwork", "id": "fleet-network"},
                "name": "fleet-network",
            },
            "flat": None,
        },
    }
    return {"Objects": environment, "ObjectsCopy": None, "Attributes": []}


def task(start: Mapping[str, Any], kind: str = "deploy", **more: Any) -> Task:
    """A task over ``start``."""
    return Task(
        id=f"{ENVIRONMENT}-1",
        kind=kind,  # type: ignore[arg-type]
        packages=(str(PACKAGE),),
        model=start,
        seed="bench",
        settings={"rabbitmq": {"host": "unix:/run/vetro/agent.sock"}, "home_region": ""},
        budget=Budget(memory_mib=None),
        **more,
    )


class MeteredHost(HostProcess):
    """The effects host; `begun` is its processor time when it was ready, `used` what followed up to its end."""

    begun = 0.0
    used = 0.0

    def start(self) -> None:
        """Starts it."""
        super().start()
        assert self.pid is not None
        self.begun = process_seconds(self.pid)

    def stop(self) -> None:
        """Ends it."""
        if self.pid is not None:
            self.used += process_seconds(self.pid) - self.begun
        super().stop()


@dataclass(slots=True)
class Run:
    """Figures of one run; times are seconds."""

    outcome: Outcome
    #: Processor time of the task process, of the worker (journal and messages), and of the effects host with the cloud
    #: and its recorded servers; the last two from when they are ready to work.
    task_s: float
    worker_s: float
    host_s: float
    #: Processor time of the host until it was ready.
    host_start_s: float
    #: From the worker's start to its end; before it the zygote was ready.
    wall_s: float
    #: When the worker's events came, after the start: (seconds, event).
    events: list[tuple[float, Mapping[str, Any]]] = field(default_factory=list)

    @property
    def cpu_s(self) -> float:
        """All that a further server costs: task, worker and host."""
        return self.task_s + self.worker_s + self.host_s


class Bench(AbstractContextManager["Bench"]):
    """A zygote that is ready, a folder for clouds, and a workspace for journals."""

    def __init__(self, folder: Path, driver: str = "record") -> None:
        self.folder = folder
        self.driver = driver
        self._launcher = Launcher()
        self._forker = HostForker(driver)
        self._stack = ExitStack()

    def __enter__(self) -> Bench:
        client = self._stack.enter_context(open_local(str(self.folder / "workspace")))
        client.workspace.keep()
        self._launcher.start().close()
        self._forker.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._launcher.close()
        self._forker.close()
        self._stack.close()

    def journal(self, name: str) -> Any:
        """The journal ``name``, as deployments of a workspace have it."""
        from vetro.server.tasks.journal import DbJournal
        from vetro.server.tasks.models import Task as TaskRow

        row, _ = TaskRow.objects.get_or_create(
            id=f"bench-{name}", defaults={"project_id": "bench", "kind": "deploy", "spec": {}}
        )
        return DbJournal(row.id)

    def run(
        self,
        start: Mapping[str, Any],
        name: str,
        *,
        events: Callable[[Mapping[str, Any]], None] = lambda event: None,
        **more: Any,
    ) -> Run:
        """Deploys ``start`` with the cloud and journal ``name``; ``more`` are options of the worker."""
        found: list[tuple[float, Mapping[str, Any]]] = []
        host = MeteredHost(self._config(name), self._forker)
        journal = self.journal(name)
        began, before = time.monotonic(), time.process_time()

        def event(news: Mapping[str, Any]) -> None:
            found.append((time.monotonic() - began, news))
            events(news)

        try:
            outcome = Worker(task(start), journal, self._launcher, host, event, **more).run()
            wall, used = time.monotonic() - began, time.process_time() - before
        finally:
            host.stop()
            journal.close()
        return Run(outcome, outcome.cpu_seconds, used, host.used, host.begun, wall, found)

    def clean(self, name: str) -> None:
        """Removes all servers and networks that the cloud ``name`` has on this machine."""
        for _ in clean(self.folder / name):
            pass

    def _config(self, name: str) -> dict[str, Any]:
        return {
            "cloud": {
                "kind": self.driver,
                "directory": str(self.folder / name),
                # A network of the default size has room for 250 servers.
                "settings": {"max_hosts": 1000, "max_networks": 60},
            },
            "owner": {"project": "bench", "environment": ENVIRONMENT},
            # As in a workspace: a recorder checks no signatures.
            "signing_key": None if self.driver == "record" else str(self.folder / "signing-key.pem"),
        }
