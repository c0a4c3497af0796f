"""A worker that is killed, or told to end, while it starts leaves nothing behind: no process, no file, no row."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from tests.faults.campaign.processes import state_of
from tests.faults.server_kit import PATIENCE, Service
from tests.support import waiting
from tests.support.fuzzing import every

#: What a worker has just done, from its first step to its last one before it takes tasks; three of them always.
MOMENTS = (
    pytest.param("vetro.server.tasks.members:take_over", marks=pytest.mark.campaign),
    pytest.param("vetro.engine.host.forker:HostForker._begin", marks=pytest.mark.campaign),  # it loads its code
    pytest.param("vetro.engine.host.forker:HostForker.start", marks=pytest.mark.campaign),
    "vetro.engine.task.launcher:Launcher._start_zygote",  # the zygote loads the language
    pytest.param("vetro.engine.task.launcher:Launcher.start", marks=pytest.mark.campaign),
    pytest.param("vetro.server.tasks.members:join", marks=pytest.mark.campaign),
    "vetro.server.tasks.members:make_heartbeats",
    "ready",
)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_moments_are_still_there() -> None:
    """Most of them are used by campaigns only, which would be the last to say that a function has another name."""
    for moment in MOMENTS:
        module, colon, path = str(getattr(moment, "values", (moment,))[0]).partition(":")
        assert not colon or callable(attrgetter(path)(import_module(module))), moment


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    made = Service(folder / "data", folder / "world.db")
    yield made
    made.close()


def until(found: Callable[[], Any], what: Callable[[], object]) -> None:
    waiting.until(found, PATIENCE, what)


def struck(service: Service, moment: str, number: int, note: Path) -> tuple[int, list[int]]:
    """A worker got a signal at this moment: how it ended, and the processes that it had started until then."""
    note.unlink(missing_ok=True)
    status = service.until_gone(service.do("start", moment=moment, number=number, note=str(note)))
    assert note.exists(), f"{moment} was never reached"
    return status, [int(pid) for pid in note.read_text().split()]


def gone(pids: list[int]) -> bool:
    return all(state_of(pid) in ("", "Z") for pid in pids)


def files(service: Service) -> list[str]:
    return sorted(os.listdir(service.data / "run"))


@pytest.mark.campaign
@pytest.mark.parametrize("moment", every(2, MOMENTS))
def test_killed_while_it_starts(moment: str, service: Service, tmp_path: Path) -> None:
    status, pids = struck(service, moment, signal.SIGKILL, tmp_path / "pids")
    assert status == -signal.SIGKILL
    until(lambda: gone(pids), lambda: f"processes are left: {pids}")
    # Its successor removes the rest, before it takes a task; nobody does where there is no worker.
    (task,) = service.order("begin", name=f"after {moment}", steps=1)
    worker = service.do("work")
    service.until_ended([task])
    assert service.order("workers") == [worker]
    assert len(files(service)) == 2, files(service)  # how it is woken, and its leases
    service.stop(worker)
    assert (service.order("workers"), files(service)) == ([], [])


@pytest.mark.campaign
def test_a_worker_beside_it_removes_what_it_left(service: Service, tmp_path: Path) -> None:
    worker = service.do("work")
    until(lambda: len(files(service)) == 2, lambda: files(service))
    mine = files(service)
    status, pids = struck(service, "ready", signal.SIGKILL, tmp_path / "pids")
    assert status == -signal.SIGKILL
    until(lambda: gone(pids), lambda: f"processes are left: {pids}")
    until(lambda: service.order("workers") == [worker], lambda: service.order("workers"))
    until(lambda: files(service) == mine, lambda: files(service))
    service.stop(worker)


@pytest.mark.campaign
@pytest.mark.parametrize("moment", every(2, MOMENTS))
def test_told_to_end_while_it_starts(moment: str, service: Service, tmp_path: Path) -> None:
    status, pids = struck(service, moment, signal.SIGTERM, tmp_path / "pids")
    assert status == 0
    assert (service.order("workers"), files(service)) == ([], [])
    until(lambda: gone(pids), lambda: f"processes are left: {pids}")
