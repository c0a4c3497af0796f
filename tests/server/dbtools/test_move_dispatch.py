"""Moving to a PostgreSQL whose tasks procrastinate hands out, and back: what was queued is run there, once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.server.dbtools.kit import ROOT, Installation, once
from tests.server.servekit import until

New = Callable[[], str]
pytestmark = [once, pytest.mark.timeout(300), pytest.mark.slow]
#: Tables of procrastinate, and those in which Django lists all tables: no data.
_OF_OTHERS = ("procrastinate_", "django_content_type", "auth_permission")


def tasks(rows: dict[str, list[Any]]) -> dict[str, str]:
    """Id of a task -> its state."""
    found = [json.loads(row) for row in rows["dispatch_task"]]
    return {row["id"]: row["state"] for row in found}


def own(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Rows of the installation, without those of its dispatcher."""
    return {name: found for name, found in rows.items() if not name.startswith(_OF_OTHERS)}


def worked(installation: Installation, database: str, task: str) -> None:
    """A worker of procrastinate runs until the task has ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "vetro.cli.main", "worker"],
        env={**installation.environment, "VETRO_DATABASE__URL": database, "VETRO_DISPATCH__BACKEND": "procrastinate"},
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with psycopg.connect(database, autocommit=True) as watcher:
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


def jobs(database: str) -> list[tuple[str, str]]:
    """What waits to be fetched: (task, queue)."""
    with psycopg.connect(database) as connection:
        text = "SELECT queueing_lock, queue_name FROM procrastinate_jobs WHERE status = 'todo'"
        return list(connection.execute(text).fetchall())


def test_there_and_back(installation: Installation, postgresql: New) -> None:
    before = installation.dump()
    states = tasks(before)
    (queued,) = [task for task, state in states.items() if state == "queued"]
    assert set(states.values()) == {"queued", "done", "failed"}
    target = postgresql()
    there = Installation(
        installation.data, VETRO_DATABASE__URL=target, VETRO_DISPATCH__BACKEND="procrastinate"
    )  # the settings of afterwards
    moved = there.run("db", "move", "--from", "sqlite:///vetro.db", "--to", target)
    # The tables of jobs are not there yet, and a worker says so.
    assert "vetro db migrate" in moved.stderr
    assert "SRV581" in there.run("worker", status=1).stderr
    there.run("db", "migrate")
    assert jobs(target) == []  # they are no data: the first worker makes them
    assert own(there.dump(target)) == own(before)
    worked(there, target, queued)
    after = own(there.dump(target))
    assert tasks(after) == {**states, queued: "done"}
    assert jobs(target) == []
    # What had ended is as it was: nothing was begun a second time.
    for name in ("dispatch_report", "dispatch_journalentry", "environments_state"):
        assert set(before[name]) <= set(after[name]), name

    there.run("db", "move", "--from", target, "--to", "sqlite:///back.db")
    assert own(installation.dump("sqlite:///back.db")) == after
    assert "SRV582" in there.run("worker", status=1).stderr
    report = json.loads(installation.run("db", "check", "-o", "json", "--database", "sqlite:///back.db").stdout)
    assert {finding["level"] for finding in report} <= {"ok", "warning"}
