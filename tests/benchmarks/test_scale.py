"""The measurement of scale: what it counts is what was done."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import permutations
from pathlib import Path

import pytest

from benchmarks.scale import accounts, deployments
from benchmarks.scale.accounts import Account
from benchmarks.scale.costs import Cost
from benchmarks.scale.rows import table

#: Burns some processor time in a child that nobody waits for.
_BURN = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while time.process_time() < 0.3: pass
    os._exit(0)
try: os.wait()
except ChildProcessError: pass
"""


def _may() -> bool:
    folder = accounts._VERSION_1 if accounts._VERSION_1.is_dir() else accounts._VERSION_2
    return os.geteuid() == 0 and os.access(folder, os.W_OK) and (folder / "cgroup.procs").exists()


def _needs_groups() -> None:
    if not _may():
        if os.environ.get("CI") == "true" and os.geteuid() == 0:
            pytest.fail("there are no control groups that root may use")
        pytest.skip("needs root and control groups")


def test_children_that_nobody_waits_for_are_counted() -> None:
    _needs_groups()
    with Account("test") as account:
        before = account.seconds()
        subprocess.run(account.command([sys.executable, "-c", _BURN]), check=True, timeout=100)
        used = account.seconds() - before
        folder = account._folder
    assert 0.3 <= used < 5
    assert not folder.exists()


def test_a_process_that_has_ended_joins_nothing() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(100)
    assert accounts.children(ended.pid) == []
    _needs_groups()
    with Account("ended") as account:
        account.join(ended.pid)
        assert account._file.with_name("cgroup.procs").read_text() == ""


def test_deployments_arrive_one_after_the_other() -> None:
    asked: list[tuple[str, str]] = []

    class Client:
        def deploy(self, *pair: str) -> None:
            asked.append((pair[0], pair[1]))

    begun = time.monotonic()
    deployments._arrive(Client(), [("a", "1"), ("b", "2"), ("c", "3")], 20.0)  # type: ignore[arg-type]
    assert asked == [("a", "1"), ("b", "2"), ("c", "3")]
    assert time.monotonic() - begun >= 0.1


def test_what_grows_is_named() -> None:
    small = {"list": Cost(3, 1.0, 1.0, 50), "all": Cost(2, 1.0, 1.0, 100), "tiny": Cost(1, 1.0, 1.0, 2)}
    large = {"list": Cost(3, 1.0, 1.0, 60), "all": Cost(2, 9.0, 9.0, 1000, ["tasks"]), "tiny": Cost(1, 1.0, 1.0, 20)}
    *lines, last = table(small, large, (10, 20, 30))
    assert last == "Grows with the rows: all."
    assert "| all | 2 | 9.0 (1.0) | 9.00 (1.00) | 1,000 (100) | tasks |" in lines


def _round(workers: int, worker_ms: float) -> deployments.Cost:
    return deployments.Cost(workers, 5.0, worker_ms, 20.0, 20.0, 20.0, 15.0, 2048.0, 2.0, 0.5)


def test_the_dearest_and_the_cheapest_round_do_not_count() -> None:
    found = deployments.average([_round(2, each) for each in (140.0, 40.0, 41.0, 0.0, 42.0)])
    assert (found.workers, found.worker_ms, found.total_ms) == (2, 41.0, 101.0)
    assert deployments.average([_round(1, 40.0), _round(1, 44.0)]).worker_ms == 42.0


def test_what_differs_between_numbers_and_between_rounds_is_told() -> None:
    lines = deployments.table([_round(1, 40.0), _round(4, 45.0)], 3, 0.07)
    assert "| 4 | 5.0 | 105 | 45 | 20 | 20 | 20 | 15 | 2 KiB | 2.0 | 50% |" in lines
    assert lines[-1] == (
        "CPU for each deployment differs by 5% between them,"
        " and by 7% between 3 rounds with the same number of workers."
    )


def test_each_number_of_workers_comes_early_and_late() -> None:
    rounds = [tuple(deployments.turns([1, 2, 4], turn)) for turn in range(6)]
    assert set(rounds) == set(permutations([1, 2, 4]))


def test_a_database_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.scale.place import prepare

    monkeypatch.setenv("VETRO_DATABASE__URL", f"sqlite:///{tmp_path}/db")
    with pytest.raises(SystemExit, match="script/with-postgresql"):
        prepare(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_tables_go_between_their_marks() -> None:
    from benchmarks.scale.__main__ import PAGE, written

    page = "a\n<!-- rows -->\nold\n<!-- end of rows -->\nb"
    assert written(page, "rows", ["x", "y"]) == "a\n<!-- rows -->\nx\ny\n<!-- end of rows -->\nb"
    with pytest.raises(ValueError, match="no place for 'deployments'"):
        written(page, "deployments", [])
    for name in ("deployments", "rows"):
        assert written(PAGE.read_text("utf-8"), name, ["x"]) != ""


@pytest.mark.django_db
def test_rows_that_are_copied_stay_the_same_when_others_follow() -> None:
    from benchmarks.scale.filling import _these
    from vetro.server.catalog.models import Category

    Category.objects.create(name="scale one")
    condition = _these(Category, "name LIKE 'scale%'")
    Category.objects.create(name="scale two")
    assert [c.name for c in Category.objects.extra(where=[condition])] == ["scale one"]
    with pytest.raises(ValueError, match="no row of Category"):
        _these(Category, "name = 'nowhere'")
