"""The procrastinate plug-in, built and installed as by a stranger: real workers on PostgreSQL, moves, changes of mind.

One test runs always; the others with ``script/test --all``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.plugins.conftest import ROOT, Own
from tests.server.operations.database.conftest import cluster, installation, postgresql, used
from tests.server.operations.database.kit import Installation, once
from tests.server.tasks.fleet import Fleet, database
from tests.server.tasks.test_workers import WorkerCases
from tests.support.waiting import until

__all__ = ["cluster", "installation", "postgresql", "used"]
New = Callable[[], str]
ON = {"VETRO_DISPATCH__BACKEND": "procrastinate"}
ORDERS = "tests.plugins.procrastinate_orders"
pytestmark = [once, pytest.mark.slow, pytest.mark.timeout(600)]
#: Tables of procrastinate, and those in which Django lists all tables: no data.
_OF_OTHERS = ("procrastinate_", "django_content_type", "auth_permission")


@pytest.mark.campaign
def test_an_installation_leaves_procrastinate_and_comes_back(own: Own, cluster: str, tmp_path: Path) -> None:
    """Each time a task waits, and whoever comes next runs it once. Its tables are in nobody's way without it."""
    site = own("vetro-procrastinate")
    with database(cluster) as url:
        tasks: list[str] = []
        for backend in (ON, {}, ON):
            fleet = Fleet(tmp_path, {"VETRO_DATABASE__URL": url, **backend}, site if backend else None)
            try:
                if tasks:
                    fleet.work()
                    fleet.until_ended(tasks)
                    assert {fleet.look("of", id=task)["attempts"] for task in tasks} == {1}
                    assert fleet.look("health")["backend"] == ("procrastinate" if backend else "embedded")
                    if backend:
                        until(lambda: fleet.look(f"{ORDERS}:jobs") == [])  # noqa: B023 - at once
                    fleet.kill()
                tasks = fleet.begin(f"waits {len(tasks)} {len(backend)}")
                assert fleet.states(tasks) == ["queued"]
            finally:
                fleet.close()


@pytest.mark.campaign
def test_its_own_tests_pass(own: Own, postgresql: New, tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    shutil.copytree(ROOT / "plugins/vetro-procrastinate/tests", tests, ignore=shutil.ignore_patterns("__pycache__"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VETRO_", "PYTEST_", "DJANGO_"))}
    environment = {
        **kept, **ON, "VETRO_DATABASE__URL": postgresql(), "VETRO_DATA": str(tmp_path / "data"),
        "DJANGO_SETTINGS_MODULE": "vetro.server.settings", "PYTHONPATH": str(own("vetro-procrastinate")),
    }  # fmt: skip
    options = ["-q", "-p", "no:cacheprovider", "-W", "error", "-c", "/dev/null", "--rootdir", str(tests)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tests)], env=environment, cwd=tmp_path, capture_output=True,
        text=True, timeout=580, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "skipped" not in done.stdout


@pytest.mark.campaign
class TestWorkers(WorkerCases):
    @pytest.fixture(scope="class")
    @classmethod
    def installation(cls, own: Own, cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
        with database(cluster) as url:
            environment = {"VETRO_DATABASE__URL": url, **ON}
            made = Fleet(tmp_path_factory.mktemp("fleet"), environment, own("vetro-procrastinate"))
            yield made
            made.close()

    def test_jobs_that_are_lost_or_come_twice_do_no_harm(self, fleet: Fleet) -> None:
        fleet.look(f"{ORDERS}:forget_jobs")  # those of killed workers
        tasks = fleet.begin("many", count=5)
        assert fleet.look(f"{ORDERS}:jobs") == [["long", "todo"]] * 5
        assert fleet.look(f"{ORDERS}:forget_jobs") == 5
        fleet.look(f"{ORDERS}:defer_strangers", count=5)
        worker = fleet.work()
        fleet.until_ended(tasks)
        assert {fleet.look("of", id=task)["attempts"] for task in tasks} == {1}
        until(lambda: fleet.look(f"{ORDERS}:jobs") == [])
        # procrastinate's workers end with their connections; ours start them again, and what runs goes on.
        (asleep,) = fleet.begin("asleep", wait=3600)
        fleet.until_asleep(asleep)
        assert fleet.look(f"{ORDERS}:cut") > 0
        (task,) = fleet.begin("after")
        fleet.until_ended([task])
        worker.kill()
        fleet.work()
        fleet.until_asleep(asleep, attempts=2)
        fleet.cancel(asleep)
        until(lambda: fleet.look(f"{ORDERS}:jobs") == [])


def tasks(rows: dict[str, list[Any]]) -> dict[str, str]:
    """Id of a task -> its state."""
    found = [json.loads(row) for row in rows["dispatch_task"]]
    return {row["id"]: row["state"] for row in found}


def of_vetro(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Rows of the installation, without those of its dispatcher."""
    return {name: found for name, found in rows.items() if not name.startswith(_OF_OTHERS)}


def worked(installation: Installation, url: str, task: str) -> None:
    """A worker of procrastinate runs until the task has ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "vetro.cli.main", "worker"],
        env={**installation.environment, "VETRO_DATABASE__URL": url},
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with psycopg.connect(url, autocommit=True) as watcher:
            state = "SELECT state FROM dispatch_task WHERE id = %s AND finished IS NOT NULL"
            until(lambda: process.poll() is not None or watcher.execute(state, [task]).fetchone())
            assert process.poll() is None
    finally:
        process.terminate()
        try:
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()


def waiting(url: str) -> list[tuple[str, str]]:
    """What waits to be fetched: (task, queue)."""
    with psycopg.connect(url) as connection:
        text = "SELECT queueing_lock, queue_name FROM procrastinate_jobs WHERE status = 'todo'"
        return list(connection.execute(text).fetchall())


@pytest.mark.campaign
def test_a_database_is_moved_there_and_back(installation: Installation, postgresql: New, own: Own) -> None:
    """What was queued is run there, once."""
    before = installation.dump()
    states = tasks(before)
    (queued,) = [task for task, state in states.items() if state == "queued"]
    assert set(states.values()) == {"queued", "done", "failed"}
    target = postgresql()
    there = Installation(
        installation.data, VETRO_DATABASE__URL=target, **ON, PYTHONPATH=str(own("vetro-procrastinate"))
    )  # the settings of afterwards
    moved = there.run("db", "move", "--from", "sqlite:///vetro.db", "--to", target)
    # The tables of jobs are not there yet, and a worker says so.
    assert "vetro db migrate" in moved.stderr
    assert "SRV581" in there.run("worker", status=1).stderr
    there.run("db", "migrate")
    assert waiting(target) == []  # they are no data: the first worker makes them
    assert of_vetro(there.dump(target)) == of_vetro(before)
    worked(there, target, queued)
    after = of_vetro(there.dump(target))
    assert tasks(after) == {**states, queued: "done"}
    assert waiting(target) == []
    # What had ended is as it was: nothing was begun a second time.
    for name in ("dispatch_report", "dispatch_journalentry", "environments_state"):
        assert set(before[name]) <= set(after[name]), name

    there.run("db", "move", "--from", target, "--to", "sqlite:///back.db")
    assert of_vetro(installation.dump("sqlite:///back.db")) == after
    assert "SRV582" in there.run("worker", status=1).stderr
    report = json.loads(installation.run("db", "check", "-o", "json", "--database", "sqlite:///back.db").stdout)
    assert {finding["level"] for finding in report} <= {"ok", "warning"}
