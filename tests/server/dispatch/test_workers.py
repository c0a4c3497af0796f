"""Real workers on SQLite and, with procrastinate, on PostgreSQL: labels, draining, versions, jobs that get lost."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.server.dbtools.conftest import cluster
from tests.server.dbtools.kit import once
from tests.server.dispatch.fleet import PATIENCE, Fleet, database, until

__all__ = ["cluster"]
pytestmark = [once, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", params=["embedded", "procrastinate"])
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One with each dispatcher."""
    folder = tmp_path_factory.mktemp("fleet")
    with ExitStack() as stack:
        environment = {}
        if request.param == "procrastinate":
            url = stack.enter_context(database(request.getfixturevalue("cluster")))
            environment = {"VETRO_DATABASE__URL": url, "VETRO_DISPATCH__BACKEND": "procrastinate"}
        made = Fleet(folder, environment)
        stack.callback(made.close)
        yield made


@pytest.fixture
def fleet(installation: Fleet) -> Iterator[Fleet]:
    """Without workers."""
    yield installation
    installation.kill()


def test_only_workers_with_the_label_of_its_region_run_a_task(fleet: Fleet) -> None:
    (task,), (other,) = fleet.begin("far", region="eu-1"), fleet.begin("anywhere")
    fleet.work("--label", "us-1")
    fleet.until_ended([other])
    found = fleet.look("health")
    assert (found["ok"], found["unserved"]) == (False, ["eu-1"])
    assert "vetro worker --label eu-1" in found["detail"]
    assert fleet.look("of", id=task)["attempts"] == 0
    fleet.work("--label", "eu-1")
    fleet.until_ended([task])
    assert fleet.look("health")["ok"]
    (us, eu) = fleet.look("listed")
    assert (us["labels"], eu["labels"], eu["state"]) == (["us-1"], ["eu-1"], "working")


def test_a_worker_that_is_drained_or_ended_loses_nothing(fleet: Fleet) -> None:
    first = fleet.work("--tasks", "1")
    (task,) = fleet.begin("last", wait=3600)
    fleet.until_asleep(task)
    (name,) = [worker["name"] for worker in fleet.look("listed")]
    assert fleet.look("drain", names=[name]) == [name]
    (later,) = fleet.begin("later", wait=3600)
    fleet.cancel(task)
    assert first.wait(PATIENCE) == 0
    assert fleet.states([later]) == ["queued"]
    # What does not end in time is continued by another worker.
    second = fleet.work(VETRO_WORKER__DRAIN_SECONDS="1000")
    fleet.until_asleep(later)
    (other,) = fleet.begin("other", wait=3600)
    fleet.until_asleep(other)
    second.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0.3)
    fleet.cancel(other)
    second.send_signal(signal.SIGTERM)  # somebody is in a hurry
    assert second.wait(PATIENCE) == 0
    assert fleet.states([later]) == ["running"]
    fleet.work()
    fleet.until_asleep(later, attempts=2)
    fleet.cancel(later)


def test_a_task_of_a_version_that_is_gone_ends_with_its_checkpoint(fleet: Fleet) -> None:
    old = fleet.work(version="9.1.0")
    (task,) = fleet.begin("left", wait=3600)
    fleet.until_asleep(task)
    fleet.work(version="9.2.0", VETRO_WORKER__VERSION_WAIT="1.0")
    old.kill()
    fleet.until_ended([task], "failed")
    row = fleet.look("of", id=task)
    error = row["error"]
    assert row["engine"].startswith("9.1.0+") and (row["attempts"], error["code"]) == (2, "ENG332")
    assert "9.1.0" in error["message"] and "9.2.0" in error["message"] and "retry" in error["hint"]
    again = fleet.look("retry", id=task)
    fleet.until_asleep(again)
    assert fleet.look("of", id=again)["engine"].startswith("9.2.0+")
    fleet.cancel(again)


def test_jobs_that_are_lost_or_come_twice_do_no_harm(fleet: Fleet) -> None:
    if "VETRO_DISPATCH__BACKEND" not in fleet.environment:
        pytest.skip("there are no jobs")
    fleet.look("forget_jobs")  # those of killed workers
    tasks = fleet.begin("many", count=5)
    assert fleet.look("jobs") == [["long", "todo"]] * 5
    assert fleet.look("forget_jobs") == 5
    fleet.look("defer_strangers", count=5)
    worker = fleet.work()
    fleet.until_ended(tasks)
    assert {fleet.look("of", id=task)["attempts"] for task in tasks} == {1}
    until(lambda: fleet.look("jobs") == [])
    # procrastinate's workers end with their connections; ours start them again, and what runs goes on.
    (asleep,) = fleet.begin("asleep", wait=3600)
    fleet.until_asleep(asleep)
    assert fleet.look("cut") > 0
    (task,) = fleet.begin("after")
    fleet.until_ended([task])
    worker.kill()
    fleet.work()
    fleet.until_asleep(asleep, attempts=2)
    fleet.cancel(asleep)
    until(lambda: fleet.look("jobs") == [])
