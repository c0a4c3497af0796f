"""`check` finds what was broken, and says what to do; a worker that lacks keys or archives does not start."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg
import pytest
from cryptography.fernet import Fernet

from tests.server.operations.database.kit import Installation, once

pytestmark = [once, pytest.mark.timeout(300)]


def problems(installation: Installation, *words: str, status: int = 1) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for finding in json.loads(installation.run("db", "check", "-o", "json", *words, status=status).stdout):
        if finding["level"] != "ok":
            assert finding["hint"]
            found.setdefault(finding["topic"], []).append(finding)
    return found


@pytest.mark.slow
def test_whole(installation: Installation) -> None:
    installation.data.chmod(0o700)
    (installation.data / "vetro.db").chmod(0o600)
    assert problems(installation, "--all", status=0) == {}
    table = installation.run("db", "check").stdout
    assert "all references are whole" in table and "encrypted values were read (a sample)" in table


@pytest.mark.slow
def test_broken(installation: Installation) -> None:
    with closing(sqlite3.connect(installation.data / "vetro.db")) as database:
        database.execute("UPDATE environments_environmentpackage SET environment_id = 'gone'")
        database.execute("UPDATE dispatch_report SET text = x'00ff' WHERE seq = (SELECT max(seq) FROM dispatch_report)")
        database.execute("UPDATE dispatch_task SET created = '2020-01-01 00:00:00' WHERE state = 'queued'")
        database.execute("UPDATE dispatch_task SET state = 'running', owner = 'w', lease_until = '2020-01-01 00:00:00'"
                         " WHERE state = 'failed'")  # fmt: skip
        database.execute("UPDATE dispatch_task SET state = 'needs_person' WHERE state = 'done'")
        (digest,) = database.execute("SELECT digest FROM catalog_package WHERE fqn = 'test.shop'").fetchone()
        (other,) = database.execute("SELECT digest FROM catalog_package WHERE fqn = 'desk.Shop'").fetchone()
        database.commit()
    (installation.data / "blobs" / digest[:2] / digest).unlink()
    damaged = installation.data / "blobs" / other[:2] / other
    damaged.chmod(0o600)
    damaged.write_bytes(b"rot")
    found = problems(installation, "--all")
    (reference,) = found["references"]
    assert "environments_environmentpackage.environment_id: 2 rows refer to nothing" in reference["text"]
    (value,) = (finding for finding in found["keys"] if finding["level"] == "error")
    assert "dispatch_report.text: 1 values cannot be decrypted" in value["text"]
    missing, rotten = found["archives"]
    assert "1 of" in missing["text"] and "test.shop" in missing["text"]
    assert "desk.Shop" in rotten["text"] and "damaged" in rotten["text"]
    assert [finding["text"].partition(" ")[2].partition(",")[0] for finding in found["work"]] == [
        "tasks run without a worker",
        "tasks have waited for more than an hour",
        "tasks wait for a decision",
    ]


@pytest.mark.campaign
@pytest.mark.slow
def test_keys_and_archives_that_are_elsewhere(installation: Installation) -> None:
    shutil.move(installation.data / "blobs", installation.data / "other")
    refused = installation.run("worker", status=1)
    assert "SRV585" in refused.stderr and str(installation.data / "blobs") in refused.stderr
    assert "storage.blobs" in refused.stderr and "s3://BUCKET/PREFIX" in refused.stderr
    assert "blobs are missing" in problems(installation)["archives"][0]["text"]
    keys = installation.data / "keys"
    kept = keys.read_text()
    keys.write_text(Fernet.generate_key().decode() + "\n")
    refused = installation.run("worker", VETRO_STORAGE__BLOBS="other", status=1)
    assert "SRV585" in refused.stderr and str(keys) in refused.stderr
    served = installation.run("serve", "--port", "0", status=1, VETRO_STORAGE__BLOBS="other")
    assert "do not open what the database holds" in served.stderr
    keys.unlink()
    assert problems(installation)["keys"][0]["level"] == "error"
    keys.write_text(kept)


@pytest.mark.slow
def test_a_database_that_is_none(installation: Installation) -> None:
    file = installation.data / "vetro.db"
    with open(file, "r+b") as damaged:
        damaged.seek(4096 * 3)
        damaged.write(b"\xff" * 4096 * 40)
    found = problems(installation)
    assert "damaged" in found["connection"][0]["text"] or "malformed" in found["connection"][0]["text"]
    file.write_bytes(b"something else entirely" * 400)
    assert "not a database" in problems(installation)["connection"][0]["text"]
    nowhere = installation.run("db", "check", "--database", "postgresql://x:hunter2@127.0.0.1:9/none", status=1)
    assert "does not answer" in nowhere.stdout and "hunter2" not in nowhere.stdout + nowhere.stderr
    assert "SRV586" in installation.run("worker", "--database", "postgresql://127.0.0.1:9/none", status=1).stderr


def made(installation: Installation) -> list[str]:
    said = installation.run("db", "check", "--repair").stderr.splitlines()
    return [line.removeprefix("made: ") for line in said]


@pytest.mark.slow
def test_repair_on_sqlite(installation: Installation) -> None:
    (installation.data / "vetro.db").chmod(0o600)
    with closing(sqlite3.connect(installation.data / "vetro.db")) as database:
        database.execute("DROP TRIGGER catalog_text_added")
        database.execute("DROP TABLE catalog_trigrams_name")
        database.execute("DROP TRIGGER catalog_all_added")
        database.execute("DELETE FROM catalog_trigrams_author_data WHERE id > 10")
        database.commit()
    assert "no index of substrings" in problems(installation, status=0)["search"][0]["text"]
    assert made(installation) == [
        "catalog_trigrams_name",
        "catalog_text_added",
        "catalog_trigrams_author (filled anew)",
        "catalog_trigrams_all",
    ]
    assert "search" not in problems(installation, status=0)
    assert made(installation) == []
    with closing(sqlite3.connect(installation.data / "vetro.db")) as database:
        found = "SELECT count(*) FROM catalog_trigrams_{0} WHERE catalog_trigrams_{0} MATCH ?"
        assert database.execute(found.format("name"), ["shop"]).fetchone()[0] >= 1
        assert database.execute(found.format("author"), ["vetro"]).fetchone()[0] >= 1
        assert database.execute(found.format("all"), ["shop"]).fetchone()[0] >= 1


@pytest.mark.campaign
@pytest.mark.slow
def test_repair_on_postgresql(installation: Installation, postgresql: Callable[[], str]) -> None:
    url = postgresql()
    installation.run("db", "migrate", "--database", url)
    installation.environment["VETRO_DATABASE__URL"] = url
    with psycopg.connect(url) as connection:
        connection.execute("DROP FUNCTION vetro_event_told CASCADE")
        connection.execute("ALTER TABLE dispatch_task DISABLE TRIGGER vetro_task_ended")
        connection.execute("DROP INDEX catalog_trigrams, catalog_short")
        connection.execute("DROP FUNCTION catalog_grams(text)")
    found = problems(installation, status=0)
    assert "--repair" in found["events"][0]["hint"] and "--repair" in found["search"][0]["hint"]
    assert "one or two characters" in found["search"][1]["text"] and "--repair" in found["search"][1]["hint"]
    assert made(installation) == [
        "turned on: vetro_task_ended",
        "trigger vetro_event_told",
        "index catalog_trigrams",
        "index catalog_short",
    ]
    assert {"events", "search"}.isdisjoint(problems(installation, status=0))
    with psycopg.connect(url) as connection:  # The function alone stays, as after a dump without indexes.
        connection.execute("DROP INDEX catalog_short")
    assert made(installation) == ["index catalog_short"]
    assert made(installation) == []
    with psycopg.connect(url) as connection:
        connection.execute("LISTEN vetro_events")
        connection.execute(
            "INSERT INTO dispatch_event (at, project_id, environment_id, task_id, kind, data)"
            " VALUES (now(), 'p', '', '', 'environment', '{}')"
        )
        connection.commit()
        (told,) = connection.notifies(timeout=10, stop_after=1)
        assert told.payload.startswith("p ")
