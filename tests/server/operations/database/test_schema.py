"""Bringing tables up to date, also twice at once; and refusing those of another version."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from tests.server.operations.database.kit import ROOT, Installation, once
from vetro.server.operations.database import schema
from vetro.server.operations.database.errors import DatabaseMoved, SchemaNewer, SchemaOlder

pytestmark = pytest.mark.timeout(300)


@pytest.mark.django_db
def test_what_fits_and_what_does_not() -> None:
    assert schema.state().current
    schema.require()
    assert schema.migrate() == []
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("dispatch", "0002_notify")
    with pytest.raises(SchemaOlder, match=r"lacks 1 changes of this version \(dispatch\.0002_notify\)"):
        schema.require()
    recorder.record_applied("dispatch", "0002_notify")
    recorder.record_applied("dispatch", "0999_future")
    for call in (schema.require, schema.migrate):
        with pytest.raises(SchemaNewer, match=r"dispatch\.0999_future"):
            call()


@pytest.mark.django_db
def test_a_sealed_one_is_refused_until_it_is_opened_again() -> None:
    schema.seal("default", "postgresql://elsewhere/vetro")
    assert not schema.state().current and not schema.state().unknown
    for call in (schema.require, schema.migrate):
        with pytest.raises(DatabaseMoved, match="was moved to postgresql://elsewhere/vetro"):
            call()
    assert schema.reopen() == "postgresql://elsewhere/vetro"
    assert schema.reopen() == ""
    schema.require()


@pytest.mark.campaign
@once
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_several_at_once_on_an_empty_database(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = "sqlite:///new.db"
    if kind == "postgresql":
        make: Callable[[], str] = request.getfixturevalue("postgresql")
        url = make()
    installation = Installation(tmp_path)
    command = [sys.executable, "-m", "vetro.cli.main", "db", "migrate", "-o", "json", "--database", url]
    several = [
        subprocess.Popen(
            command, env=installation.environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(3)
    ]
    done = [process.communicate(timeout=90) for process in several]
    assert [process.returncode for process in several] == [0, 0, 0], [text[1].decode() for text in done]
    counts = sorted(len(json.loads(text[0])["migrations"]) for text in done)
    assert counts[:2] == [0, 0] and counts[2] > 10


@once
@pytest.mark.slow
@pytest.mark.campaign
def test_a_newer_one_stops_service_and_worker_and_says_what_to_do(installation: Installation) -> None:
    with closing(sqlite3.connect(installation.data / "vetro.db")) as database:
        database.execute("DELETE FROM django_migrations WHERE app = 'audit' AND name = '0002_of_project'")
        database.execute("DROP INDEX audit_of_project")
        database.commit()
    older = installation.run("worker", status=1)
    assert "SRV581" in older.stderr and "vetro db migrate" in older.stderr
    assert "audit.0002_of_project" in installation.run("db", "check", status=1).stdout
    assert installation.run("db", "migrate", "--dry-run").stdout == "audit.0002_of_project\n"
    assert installation.run("db", "migrate").stdout == "audit.0002_of_project\n"
    with closing(sqlite3.connect(installation.data / "vetro.db")) as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('dispatch', '0999_x', '2026-01-01')"
        )
        database.commit()
    served = installation.run("serve", "--port", "0", status=1)
    assert "a newer Vetro (dispatch.0999_x)" in served.stderr and "use the newer version here" in served.stderr
    assert "SRV580" in installation.run("worker", status=1).stderr
