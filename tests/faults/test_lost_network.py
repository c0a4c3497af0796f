"""A worker loses its way to the database, or has a wrong clock: its tasks are done once, by it or by another one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.campaign.backing import Absent, Postgres
from tests.faults.relay import Network
from tests.faults.server_kit import PATIENCE, Service
from tests.support.needs import need

STEPS = 12


class World:
    """A database, an installation on it, and workers that are processes of their own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        readable = stack.enter_context(tempfile.TemporaryDirectory(prefix="vetro-network-"))
        Path(readable).chmod(0o755)  # PostgreSQL runs as another user
        self.postgres = Postgres(Path(readable) / "postgres")
        stack.callback(self.postgres.stop)
        self.service = Service(folder / "data", folder / "world.db", self.postgres.url, seconds=0.1)
        stack.callback(self.service.close)
        self.network = Network(self.postgres.folder / f".s.PGSQL.{self.postgres.port}")
        stack.callback(self.network.close)
        self._workers: list[subprocess.Popen[bytes]] = []
        stack.callback(self.end)

    def far_url(self) -> str:
        """The database, by way of the network."""
        return f"postgresql://vetro@127.0.0.1:{self.network.port}/vetro"

    def worker(self, url: str, *python: str, lease: float = 2.0) -> subprocess.Popen[bytes]:
        """A new worker; ``python``: the module that runs it, and its words."""
        command = [sys.executable, "-m", *(python or ("vetro.cli.main",)), "worker"]
        with open(self.folder / f"worker{len(self._workers)}.log", "wb") as log:
            settings = {"VETRO_DATABASE__URL": url, "VETRO_WORKER__LEASE_SECONDS": str(lease)}
            environment = {**self.service.environment, **settings}
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._workers.append(process)
        return process

    def at_work(self, process: subprocess.Popen[bytes]) -> None:
        """Waits until a worker takes tasks."""
        log = self.folder / f"worker{self._workers.index(process)}.log"
        until = time.monotonic() + PATIENCE
        while "takes tasks" not in log.read_text():
            assert process.poll() is None and time.monotonic() < until, self.logs()
            time.sleep(0.02)

    def under_way(self, title: str) -> None:
        """Waits until the task has made some steps, and has many to make."""
        until = time.monotonic() + PATIENCE
        while sum(name.startswith(f"{title} ") for name in self.service.world.done("run")) < 2:
            assert time.monotonic() < until, self.logs()
            time.sleep(0.01)

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("worker*.log")))

    def end(self) -> None:
        for process in self._workers:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("network")
    with ExitStack() as stack:
        try:
            made = World(folder, stack)
        except Absent as error:
            need(str(error))
            raise
        yield made


def stopped(process: subprocess.Popen[bytes]) -> int:
    process.terminate()
    return process.wait(PATIENCE)


@pytest.mark.campaign
@pytest.mark.timeout(240)
def test_nothing_arrives_any_more_and_later_it_does_again(world: World) -> None:
    """The lease lapses, another worker goes on, and what the first one had on its way is refused."""
    service = world.service
    first = world.worker(world.far_url())
    (task,) = service.order("begin", name="lost", steps=STEPS)
    world.under_way("lost")
    world.network.lose()
    second = world.worker(world.postgres.url)
    # Was the first one in the middle of a transaction, its locks stand until PostgreSQL ends that after a minute.
    service.until_ended([task], seconds=60 + PATIENCE)
    assert stopped(second) == 0
    world.network.mend()
    assert service.check(task, "lost", STEPS)["attempts"] > 1
    (other,) = service.order("begin", name="again", steps=2)
    service.until_ended([other])
    service.check(other, "again", 2)
    assert service.check(task, "lost", STEPS)["version"] == 1
    assert stopped(first) == 0, world.logs()


@pytest.mark.campaign
def test_connections_break_and_are_refused_for_a_while(world: World) -> None:
    """A worker outlives its database, and goes on with its own task."""
    service = world.service
    worker = world.worker(world.far_url())
    (task,) = service.order("begin", name="broken", steps=STEPS)
    world.under_way("broken")
    world.network.refuse()
    time.sleep(1.0)
    world.network.mend()
    service.until_ended([task])
    assert service.check(task, "broken", STEPS)["failures"] == 0
    assert worker.poll() is None, world.logs()
    assert stopped(worker) == 0, world.logs()


@pytest.mark.campaign
def test_two_clocks_are_a_minute_off(world: World) -> None:
    """One is fast and one is slow: neither takes tasks from the other, whose leases seem to be over."""
    service = world.service
    workers = [world.worker(world.postgres.url, "tests.faults.skewed", seconds, lease=20) for seconds in ("60", "-60")]
    for worker in workers:
        world.at_work(worker)
    tasks = service.order("begin", name="skewed", steps=5, count=8)  # more than one worker has places for
    service.until_ended(tasks)
    for number, id in enumerate(tasks):
        story = service.check(id, f"skewed{number}", 5)
        assert story["attempts"] == 1
        assert story["told_ago"] > 45 or story["told_ago"] < 0, "its worker had the right time"
    for worker in workers:
        assert stopped(worker) == 0, world.logs()
