"""The service's worker is killed, its database is locked, its disk is full: nothing is lost, stuck or done twice."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.server_kit import PATIENCE, Service

#: Steps of one deployment of four rounds are some more than this.
STEPS = 92


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    made = Service(folder / "data", folder / "world.db")
    yield made
    made.close()


@pytest.mark.campaign
@pytest.mark.timeout(300)
def test_killed_at_twenty_moments(service: Service) -> None:
    chance = random.Random(4)
    kills = 0
    for number, moment in enumerate(sorted(chance.sample(range(STEPS), 20))):
        title = f"k{number}"
        (task,) = service.order("begin", name=title)
        pushes = len(service.world.done("push"))
        status = service.until_gone(service.do("work", kill_at=moment))
        assert status == -signal.SIGKILL
        kills += 1
        worker = service.do("work")
        service.until_ended([task])
        service.stop(worker)
        story = service.check(task, title)
        assert (story["version"], story["leases"], story["tasks"]) == (1, 0, 1)
        assert len(service.world.done("push")) - pushes == 4
    assert kills == 20
    assert service.world.waiting() == []


@pytest.mark.campaign
def test_killed_again_and_again(service: Service) -> None:
    (task,) = service.order("begin", name="again", steps=10)
    chance = random.Random(5)
    for _ in range(6):
        assert service.until_gone(service.do("work", kill_at=chance.randrange(8, 30))) == -signal.SIGKILL
    worker = service.do("work")
    service.until_ended([task])
    service.stop(worker)
    assert service.check(task, "again", 10)["attempts"] == 7


@pytest.mark.campaign
def test_a_worker_that_hangs_loses_its_tasks(service: Service) -> None:
    """It is halted, another takes over when the lease lapses, and what the first one writes later is refused."""
    (task,) = service.order("begin", name="hang")
    first = service.do("work", kill_at=40, own=True, stop=True)
    until = time.monotonic() + PATIENCE
    while Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < until
        time.sleep(0.005)
    second = service.do("work", own=True)
    service.until_ended([task])
    os.kill(first, signal.SIGCONT)
    service.stop(first)
    service.stop(second)
    story = service.check(task, "hang")
    assert (story["version"], story["attempts"]) == (1, 2)


@pytest.mark.campaign
def test_the_database_is_locked_for_a_while(service: Service) -> None:
    (task,) = service.order("begin", name="locked")
    worker = service.do("work", kill_at=None)
    with closing(sqlite3.connect(service.data / "vetro.db", timeout=30, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(2.5)
        other.execute("COMMIT")
    service.until_ended([task])
    service.stop(worker)
    assert service.check(task, "locked")["failures"] == 0


@pytest.mark.campaign
def test_the_same_request_twice_and_two_people_at_once(service: Service) -> None:
    environment, session = service.order("session", name="twice")
    _, other = service.order("session", name="twice")
    orders = [
        {"function": "tests.faults.server_orders:deploy", "environment_id": environment, "session_id": id}
        for id in (session, session, other, other)
    ]
    answers = service.do("together", functions=orders)
    begun = [answer["result"] for answer in answers if "result" in answer]
    assert len(begun) == 1, answers
    refused = [answer["error"] for answer in answers if "error" in answer]
    assert all(error.startswith(("Busy", "SessionInvalid", "Forbidden")) for error in refused), refused
    worker = service.do("work")
    service.until_ended(begun)
    service.stop(worker)
    story = service.check(begun[0], "twice", 2)
    assert (story["tasks"], story["version"]) == (1, 1)


@pytest.mark.campaign
def test_another_engine_does_not_go_on(service: Service) -> None:
    (task,) = service.order("begin", name="engine")
    assert service.until_gone(service.do("work", kill_at=60)) == -signal.SIGKILL
    service.order("change_engine", id=task)
    worker = service.do("work")
    service.until_ended([task], "failed")
    service.stop(worker)
    story = service.order("story", id=task)
    assert story["error"]["code"] == "ENG332"
    assert "retry" in story["error"]["hint"]
    assert story["version"] == 1
    assert story["texts"][-1] == "Deployment finished with errors"


@pytest.mark.campaign
@pytest.mark.timeout(300)
def test_two_workers_drain_a_queue(service: Service) -> None:
    tasks = service.order("begin", name="many", steps=1, count=24)
    # Neither takes over what the other one holds, however slow the machine is.
    workers = [service.do("work", own=True, lease=300.0) for _ in range(2)]
    service.until_ended(tasks, seconds=240.0)
    for worker in workers:
        service.stop(worker)
    for number, task in enumerate(tasks):
        assert service.check(task, f"many{number}", 1)["attempts"] == 1


@pytest.mark.campaign
def test_who_waits_is_woken_also_while_all_places_are_taken(service: Service) -> None:
    tasks = service.order("begin", name="busy", steps=400, count=6)
    worker = service.do("work", own=True)
    until = time.monotonic() + PATIENCE
    while service.order("states", ids=tasks).count("running") < 4:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert [value for value, _ in service.order("static", count=3)] == [1, 2, 3]
    for task in tasks:
        service.order("cancel", id=task)
    assert set(service.until_ended(tasks, None)) == {"cancelled"}
    service.stop(worker)


@pytest.mark.campaign
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_the_disk_is_full_for_a_while(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "vetro-test", str(data)], check=True)
    service = None
    try:
        service = Service(data, tmp_path / "world.db")
        (task,) = service.order("begin", name="full", steps=12)
        worker = service.do("work")
        until = time.monotonic() + PATIENCE
        while not service.world.done("run"):
            assert time.monotonic() < until
            time.sleep(0.002)
        filler = data / "filler"
        with open(filler, "wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1 << 8):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass
        time.sleep(1.0)
        assert service.order("states", ids=[task]) == ["running"]
        filler.unlink()
        service.until_ended([task])
        service.check(task, "full", 12)
        service.stop(worker)
    finally:
        if service is not None:
            service.close()
        subprocess.run(["umount", "-l", str(data)], check=True)
