"""Real workers, on SQLite and on PostgreSQL, where they are on several machines: labels, draining, versions."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.catalog.archives import archive
from tests.server.operations.database.conftest import cluster
from tests.server.operations.database.kit import once
from tests.server.tasks.fleet import PATIENCE, Fleet, database
from tests.support.waiting import until

__all__ = ["cluster"]
pytestmark = [pytest.mark.database, once, pytest.mark.slow, pytest.mark.timeout(600)]


class WorkerCases:
    """What holds with every dispatcher. Subclasses give the fixture ``installation``, a `Fleet`."""

    @pytest.fixture
    def fleet(self, installation: Fleet) -> Iterator[Fleet]:
        """Without workers."""
        yield installation
        installation.kill()

    @pytest.mark.campaign
    def test_only_workers_with_the_label_of_its_region_run_a_task(self, fleet: Fleet) -> None:
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

    @pytest.mark.campaign  # in one process: test_pool.py and test_task_lives.py
    def test_a_worker_that_is_drained_or_ended_loses_nothing(self, fleet: Fleet) -> None:
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

    @pytest.mark.campaign
    def test_a_task_of_a_version_that_is_gone_ends_with_its_checkpoint(self, fleet: Fleet) -> None:
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

    @pytest.mark.campaign
    def test_packages_whose_requirements_another_project_brought_are_linked(self, fleet: Fleet) -> None:
        module = f"{__name__}:"
        assert fleet.look(module + "bring_what_waits") == [True, True, ["Base", "Lib"]]
        fleet.work()
        until(lambda: fleet.look(module + "what_waited") == [True, False, ["Base", "Child", "Lib"]])


def bring_what_waits() -> list[Any]:
    """A package of one project, and then what it requires, by another project; see `what_waited`."""
    from vetro.server.caller import Caller
    from vetro.server.catalog.imports import import_packages

    child = archive("com.example.Child", extends="com.example.Lib", Require={"com.example.Lib": None})
    import_packages(Caller("eve", "eve", "others", "others"), [child], allow_missing=True)
    root = Caller("root", "root", "operators", "operators", ("admin",), True)
    base = archive("com.example.Base")
    library = archive("com.example.Lib", extends="com.example.Base", Require={"com.example.Base": None})
    import_packages(root, [base, library], is_public=True)
    return what_waited()


def what_waited() -> list[Any]:
    """Whether that package is usable, whether it has to be linked, and what is known to inherit from its ancestor."""
    from vetro.server.caller import Caller
    from vetro.server.catalog.classes import implementations
    from vetro.server.catalog.models import Package

    row = Package.objects.get(fqn="com.example.Child")
    offered = implementations(Caller("eve", "eve", "others", "others"), "com.example.Base")
    return [row.usable, row.unlinked, sorted(one.class_name.rpartition(".")[2] for one in offered)]


@pytest.mark.campaign
class TestOnSQLite(WorkerCases):
    @pytest.fixture(scope="class")
    @classmethod
    def installation(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
        made = Fleet(tmp_path_factory.mktemp("fleet"), {})
        yield made
        made.close()


class TestOnPostgresql(WorkerCases):
    @pytest.fixture(scope="class")
    @classmethod
    def installation(cls, cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
        with database(cluster) as url:
            made = Fleet(tmp_path_factory.mktemp("fleet"), {"VETRO_DATABASE__URL": url})
            yield made
            made.close()
