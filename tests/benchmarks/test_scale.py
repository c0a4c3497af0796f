"""The measurement of scale: what it counts is what was done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.scale import accounts
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


def test_children_that_nobody_waits_for_are_counted() -> None:
    if not _may():
        if os.environ.get("CI") == "true" and os.geteuid() == 0:
            pytest.fail("there are no control groups that root may use")
        pytest.skip("needs root and control groups")
    with Account("test") as account:
        before = account.seconds()
        subprocess.run(account.command([sys.executable, "-c", _BURN]), check=True, timeout=100)
        used = account.seconds() - before
        folder = account._folder
    assert 0.3 <= used < 5
    assert not folder.exists()


def test_what_grows_is_named() -> None:
    small = {"list": Cost(3, 1.0, 1.0, 50), "all": Cost(2, 1.0, 1.0, 100), "tiny": Cost(1, 1.0, 1.0, 2)}
    large = {"list": Cost(3, 1.0, 1.0, 60), "all": Cost(2, 9.0, 9.0, 1000, ["tasks"]), "tiny": Cost(1, 1.0, 1.0, 20)}
    *lines, last = table(small, large, (10, 20, 30))
    assert last == "Grows with the rows: all."
    assert "| all | 2 | 9.0 (1.0) | 9.00 (1.00) | 1,000 (100) | tasks |" in lines


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
