"""Moving an installation that was used from SQLite to PostgreSQL and back: nothing is lost, nothing is done twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest

from tests.server.operations.database.kit import ROOT, Installation, once
from tests.support.waiting import until

New = Callable[[], str]
pytestmark = [once, pytest.mark.timeout(300)]


@pytest.mark.campaign  # there: test_one_that_is_killed_is_begun_again
@pytest.mark.slow
def test_there_and_back(installation: Installation, postgresql: New) -> None:
    before = installation.dump()
    assert all(before[name] for name in ("dispatch_journalentry", "dispatch_event", "formdesk_formdraft"))
    assert any("hunter2 \\u2713" in row for row in before["environments_state"])
    target = postgresql()
    tried = installation.run("db", "move", "--to", target, "--dry-run", "-o", "json")
    assert json.loads(tried.stdout)["rows"] == sum(len(rows) for rows in before.values())
    assert not any(installation.dump(target)[name] for name in ("dispatch_task", "audit_auditrecord"))
    moved = installation.run("db", "move", "--to", target)
    assert str(installation.data / "keys") in moved.stderr
    assert installation.dump(target) == before
    report = json.loads(installation.run("db", "check", "--all", "-o", "json", "--database", target).stdout)
    assert {finding["level"] for finding in report} <= {"ok", "warning"}

    # The old one is not used by mistake.
    refused = installation.run("admin", "user", "list", status=1)
    assert "SRV582" in refused.stderr and "vetro db reopen" in refused.stderr
    assert "SRV582" in installation.run("worker", status=1).stderr
    assert "was moved to postgresql://" in installation.run("db", "check", status=1).stdout
    assert "SRV582" in installation.run("db", "move", "--to", target, status=1).stderr

    # New rows get numbers that nobody had.
    installation.run("admin", "user", "create", "bob", "--project", "demo", "--database", target)
    with psycopg.connect(target) as connection:
        (seq,) = connection.execute(
            "INSERT INTO dispatch_event (at, project_id, environment_id, task_id, kind, data)"
            " VALUES (now(), 'p', '', '', 'environment', '{}') RETURNING seq"
        ).fetchone() or (0,)
    with closing(sqlite3.connect(installation.data / "vetro.db")) as old:
        (last,) = old.execute("SELECT seq FROM sqlite_sequence WHERE name = 'dispatch_event'").fetchone()
        assert (seq, old.execute("SELECT max(seq) FROM dispatch_event").fetchone()[0] < last) == (last + 1, True)

    # Back into an empty one it is all there.
    after = installation.dump(target)
    back = installation.run("db", "move", "--from", target, "--to", "sqlite:///back.db")
    assert "sqlite:///back.db" in back.stderr
    assert installation.dump("sqlite:///back.db") == after
    assert "bob" in installation.run("admin", "user", "list", "--database", "sqlite:///back.db").stdout
    found = json.loads(installation.run("db", "check", "-o", "json", "--database", "sqlite:///back.db").stdout)
    assert not [finding for finding in found if finding["level"] == "error"]
    assert "no longer moved to postgresql://" in installation.run("db", "reopen").stdout
    assert "ann" in installation.run("admin", "user", "list").stdout


@pytest.mark.campaign
@pytest.mark.slow
def test_a_target_with_something_in_it_is_refused(installation: Installation, postgresql: New) -> None:
    target = postgresql()
    installation.run("admin", "project", "create", "other", "--database", target)
    refused = installation.run("db", "move", "--to", target, status=1)
    assert "SRV583" in refused.stderr and "accounts_project: 1" in refused.stderr
    assert "other" in installation.run("admin", "project", "list", "--database", target).stdout
    assert "same database" in installation.run("db", "move", "--to", "sqlite:///vetro.db", status=1).stderr
    nowhere = installation.run("db", "move", "--from", "sqlite:///none.db", "--to", target, status=1)
    assert "there is no database" in nowhere.stderr and not (installation.data / "none.db").exists()
    assert "ann" in installation.run("admin", "user", "list").stdout


@pytest.mark.campaign
@pytest.mark.slow
def test_what_is_in_use_is_not_moved(installation: Installation, postgresql: New) -> None:
    target = postgresql()
    with closing(sqlite3.connect(installation.data / "vetro.db")) as other:
        other.execute("SELECT count(*) FROM dispatch_task").fetchone()
        refused = installation.run("db", "move", "--to", target, status=1)
        assert "the source is in use: process " in refused.stderr and f"process {os.getpid()}" in refused.stderr
    with psycopg.connect(target, application_name="a shell") as other_session:
        other_session.execute("SELECT 1")
        refused = installation.run("db", "move", "--to", target, status=1)
        assert "the target is in use: a shell" in refused.stderr
    installation.run("db", "move", "--to", target)


@pytest.mark.slow
def test_one_that_is_killed_is_begun_again(installation: Installation, postgresql: New, cluster: str) -> None:
    target = postgresql()
    before = installation.dump()
    installation.run("db", "migrate", "--database", target)
    # A table that the copy waits for: the move is killed when it has come that far.
    with psycopg.connect(target) as holder:
        holder.execute(
            "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$"
        )
        holder.execute("CREATE TRIGGER wait BEFORE INSERT ON formdesk_formdraft FOR EACH ROW EXECUTE FUNCTION wait()")
    process = subprocess.Popen(
        [sys.executable, "-m", "vetro.cli.main", "db", "move", "--to", target],
        env=installation.environment,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with psycopg.connect(cluster, autocommit=True) as watcher:
            sleeping = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            until(lambda: process.poll() is not None or watcher.execute(f"SELECT pid {sleeping}").fetchone())
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
            watcher.execute(f"SELECT pg_terminate_backend(pid, 20000) {sleeping}")
    finally:
        process.kill()
        process.wait()
    with psycopg.connect(target) as holder:
        holder.execute("DROP FUNCTION wait CASCADE")
    assert installation.dump() == before
    installation.run("db", "move", "--to", target)
    assert installation.dump(target) == before


@pytest.mark.campaign
@pytest.mark.slow
def test_what_postgresql_cannot_keep_is_named(installation: Installation, postgresql: New) -> None:
    with closing(sqlite3.connect(installation.data / "vetro.db")) as database:
        database.execute("UPDATE accounts_user SET username = ?", ["x" * 300])
        database.commit()
    target = postgresql()
    failed = installation.run("db", "move", "--to", target, status=1)
    assert "SRV584" in failed.stderr and "table accounts_user, row " in failed.stderr
    assert "too long for type character varying(255)" in failed.stderr
    with closing(sqlite3.connect(installation.data / "vetro.db")) as database:
        database.execute("UPDATE accounts_user SET username = ?", ["a\0nn"])
        database.commit()
    assert "NUL (0x00)" in installation.run("db", "move", "--to", target, status=1).stderr
    assert installation.dump(target)["accounts_project"] == []
    with closing(sqlite3.connect(installation.data / "vetro.db")) as database:
        database.execute("UPDATE accounts_user SET username = 'ann'")
        database.execute("PRAGMA foreign_keys=OFF")
        database.execute("DELETE FROM accounts_project")
        database.commit()
    broken = installation.run("db", "move", "--to", target, status=1)
    assert "references to rows that are gone" in broken.stderr
    found = installation.run("db", "check", status=1).stdout
    assert "accounts_membership.project_id: 1 rows refer to nothing" in found
