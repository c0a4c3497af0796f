"""`vetro db backup` and `vetro db restore`: what is saved comes back whole or not at all, on both databases."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.server.operations.database.kit import ROOT, Installation, once
from tests.support.fuzzing import every

New = Callable[[], str]
Change = Callable[[str, bytes], tuple[str, bytes] | None]
pytestmark = [once, pytest.mark.timeout(300)]
#: Rows that a backup and a restoring write themselves.
OWN = "audit_auditrecord"


def saved(installation: Installation, file: Path, *words: str) -> Path:
    installation.run("db", "backup", str(file), *words)
    return file


def changed(file: Path, change: Change) -> Path:
    """A copy of a backup with other members; None leaves one out."""
    target = file.with_name(f"changed-{file.name}")
    with tarfile.open(file) as old, tarfile.open(target, "w") as new:
        for info in old:
            content = old.extractfile(info)
            assert content is not None
            member = change(info.name, content.read())
            if member is not None:
                info.name, info.size = member[0], len(member[1])
                new.addfile(info, io.BytesIO(member[1]))
    return target


def with_database(file: Path, data: bytes) -> Path:
    """A copy of a backup with another database, of which its end knows."""

    def change(name: str, old: bytes) -> tuple[str, bytes]:
        if name == "database":
            return name, data
        if name != "end.json":
            return name, old
        end = json.loads(old)
        end["digests"]["database"], end["size"] = hashlib.sha256(data).hexdigest(), len(data)
        return name, json.dumps(end).encode()

    return changed(file, change)


def rows_of(installation: Installation, database: str = "") -> dict[str, list[Any]]:
    found = installation.dump(database)
    audit = [row for row in found.pop(OWN) if '"action": "database.' not in row]
    return {**found, OWN: audit}


@pytest.mark.slow
@pytest.mark.parametrize("kind", every(2, ["sqlite", "postgresql"]))
def test_what_was_saved_comes_back(installation: Installation, tmp_path: Path, postgresql: New, kind: str) -> None:
    before = rows_of(installation)
    urls = ["", ""]
    if kind == "postgresql":
        urls = [postgresql(), postgresql()]
        installation.run("db", "move", "--to", urls[0])
    source = Installation(installation.data, **({"VETRO_DATABASE__URL": urls[0]} if urls[0] else {}))
    file = saved(source, tmp_path / "a.tar")
    assert file.stat().st_mode & 0o777 == 0o600
    report = json.loads(source.run("db", "restore", str(file), "--dry-run", "-o", "json").stdout)
    assert (report["blobs"], report["keys"], report["database_bytes"] > 100_000) == (7, False, True)

    elsewhere = Installation(tmp_path / "elsewhere", **({"VETRO_DATABASE__URL": urls[1]} if urls[1] else {}))
    refused = elsewhere.run("db", "restore", str(file), status=1)
    assert "SRV511" in refused.stderr and f"copy the file of keys of the installation that was saved to {tmp_path}" in (
        refused.stderr
    )
    shutil.copy(installation.data / "keys", elsewhere.data / "keys")
    done = elsewhere.run("db", "restore", str(file))
    assert "the file is whole: all checksums agree" in done.stderr
    assert rows_of(elsewhere, urls[1]) == before
    levels = json.loads(elsewhere.run("db", "check", "--all", "-o", "json").stdout)
    assert {finding["level"] for finding in levels} <= {"ok", "warning"}
    with_keys = saved(source, tmp_path / "b.tar", "--with-keys")
    third = Installation(tmp_path / "third", **({"VETRO_DATABASE__URL": postgresql()} if urls[1] else {}))
    said = third.run("db", "restore", str(with_keys))
    assert f"the keys are in {third.data / 'keys'}" in said.stderr
    assert (third.data / "keys").read_text() == (installation.data / "keys").read_text()
    assert (third.data / "keys").stat().st_mode & 0o777 == 0o600
    assert "ann" in third.run("admin", "user", "list").stdout
    # Nothing is left beside the files.
    assert not [path for path in (*tmp_path.iterdir(), *third.data.iterdir()) if "vetro-draft" in path.name]


@pytest.mark.campaign
@pytest.mark.slow
def test_another_kind_of_database_is_refused_with_the_way(
    installation: Installation, tmp_path: Path, postgresql: New
) -> None:
    file = saved(installation, tmp_path / "a.tar", "--with-keys")
    target = Installation(tmp_path / "target", VETRO_DATABASE__URL=postgresql())
    refused = target.run("db", "restore", str(file), status=1).stderr
    assert "SRV592" in refused and "the backup is of SQLite; the database here is PostgreSQL" in refused
    assert "restore it into SQLite; 'vetro db move' brings the installation to another database" in refused


@pytest.mark.campaign
@pytest.mark.slow
def test_through_a_pipe(installation: Installation, tmp_path: Path) -> None:
    before = rows_of(installation)
    other = Installation(tmp_path / "other")
    command = [sys.executable, "-m", "vetro.cli.main", "db"]
    source = subprocess.Popen(
        [*command, "backup", "-", "--with-keys"], env=installation.environment, cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    restored = subprocess.run(
        [*command, "restore", "-"],
        env=other.environment,
        cwd=ROOT,
        stdin=source.stdout,
        capture_output=True,
        timeout=90,
    )
    assert source.stdout is not None
    source.stdout.close()
    assert (source.wait(60), restored.returncode) == (0, 0), restored.stderr
    assert rows_of(other) == before


@pytest.mark.slow
def test_what_is_damaged_is_not_restored(installation: Installation, tmp_path: Path) -> None:
    file = saved(installation, tmp_path / "a.tar", "--with-keys")
    content = file.read_bytes()
    target = Installation(tmp_path / "target")

    def refused(damaged: bytes | Path, *said: str) -> None:
        place = damaged if isinstance(damaged, Path) else tmp_path / "damaged.tar"
        if isinstance(damaged, bytes):
            place.write_bytes(damaged)
        for words in ((), ("--dry-run",)):
            told = target.run("db", "restore", str(place), *words, status=1).stderr
            assert all(text in told for text in said), told

    refused(b"no tar at all" * 100, "SRV590", "this is no backup of Vetro")
    refused(b"", "SRV590")
    refused(content[: len(content) // 2], "SRV590")
    end = content.rindex(b"end.json")
    refused(content[:end], "cut off")
    archive = content.index(b"PK\x03\x04")
    refused(content[: archive + 40] + b"!" + content[archive + 41 :], "package archive", "is damaged")

    def later(name: str, data: bytes) -> tuple[str, bytes] | None:
        head = name == "vetro-backup.json"
        return name, json.dumps({**json.loads(data), "format": 3, "version": "9.0"}).encode() if head else data

    refused(changed(file, later), "SRV591", "made by Vetro 9.0, in format 3")
    refused(changed(file, lambda n, d: None if n == "database" else (n, d)), "its database is missing")
    refused(
        changed(file, lambda n, d: (n, d[:5000] + b"!" + d[5001:] if n == "database" else d)), "its checksum is not"
    )
    refused(changed(file, lambda n, d: (n, d + b"\n" if n == "keys" else d)), "the keys in the backup are not")

    def unknown(name: str, data: bytes) -> tuple[str, bytes] | None:
        if name != "vetro-backup.json":
            return name, data
        head = json.loads(data)
        return name, json.dumps({**head, "migrations": [*head["migrations"], "dispatch.0999_far"]}).encode()

    assert "dispatch.0999_far" in target.run("db", "restore", str(changed(file, unknown)), status=1).stderr
    no_database = b"SQLite format 3\0" + b"\xff" * 8000
    assert "SRV59" in target.run("db", "restore", str(with_database(file, no_database)), status=1).stderr
    # After all of these the target is as empty as before.
    assert target.run("db", "restore", str(file)).returncode == 0
    assert rows_of(target) == rows_of(installation)


@pytest.mark.campaign
@pytest.mark.slow
def test_what_is_in_the_way(installation: Installation, tmp_path: Path) -> None:
    file = saved(installation, tmp_path / "a.tar")
    before = file.read_bytes()
    there = installation.run("db", "backup", str(file), status=1)
    assert "SRV594" in there.stderr and "is there already" in there.stderr and file.read_bytes() == before
    assert "No such file" in installation.run("db", "backup", str(tmp_path / "none" / "a.tar"), status=1).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "data"]
    installation.run("db", "backup", str(file), "--replace")
    filled = installation.run("db", "restore", str(file), status=1)
    assert "SRV592" in filled.stderr and "the database is not empty" in filled.stderr
    assert "cannot be read" in installation.run("db", "restore", str(tmp_path / "none.tar"), status=1).stderr
    assert "there is no database" in Installation(tmp_path / "empty").run("db", "backup", "x", status=1).stderr

    # A newer installation's own file of keys is kept below that of the backup.
    with_keys = saved(installation, tmp_path / "k.tar", "--with-keys")
    target = Installation(tmp_path / "target")
    target.run("db", "migrate")
    own = (target.data / "keys").read_text()
    target.run("db", "restore", str(with_keys))
    assert (target.data / "keys").read_text() == own + (installation.data / "keys").read_text()
    assert rows_of(target) == rows_of(installation)


@pytest.mark.slow
def test_archives_that_are_gone_are_told(installation: Installation, tmp_path: Path) -> None:
    blob = max((installation.data / "blobs").rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    blob.unlink()
    told = installation.run("db", "backup", str(tmp_path / "a.tar"), "-o", "json", status=1)
    assert json.loads(told.stdout)["missing"] == [blob.name]
    target = Installation(tmp_path / "target")
    shutil.copytree(installation.data, target.data, ignore=lambda _, names: [n for n in names if n != "keys"])
    restored = target.run("db", "restore", str(tmp_path / "a.tar"), status=1)
    assert "error: 1 of" in restored.stderr and "blobs are missing" in restored.stderr


@pytest.mark.slow
def test_a_backup_of_an_older_version_is_brought_up_to_date(installation: Installation, tmp_path: Path) -> None:
    """As if made before the audit had its second index."""
    file = saved(installation, tmp_path / "a.tar", "--with-keys")
    with tarfile.open(file) as tar:
        database = tar.extractfile("database")
        assert database is not None
        older = tmp_path / "older.db"
        older.write_bytes(database.read())
    with closing(sqlite3.connect(older)) as connection:
        connection.execute("DROP INDEX audit_of_project")
        connection.execute("DELETE FROM django_migrations WHERE app = 'audit' AND name = '0002_of_project'")
        connection.commit()
    target = Installation(tmp_path / "target")
    target.run("db", "migrate")
    restored = target.run("db", "restore", str(with_database(file, older.read_bytes())), "-o", "json")
    done = json.loads(restored.stdout)
    assert done["migrations"] == ["audit.0002_of_project"]
    assert not [finding for finding in done["findings"] if finding["topic"] == "schema"]
    with closing(sqlite3.connect(target.data / "vetro.db")) as connection:
        assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'audit_of_project'").fetchone()
    assert rows_of(target) == rows_of(installation)


@pytest.mark.campaign
@pytest.mark.slow
def test_without_the_programs_of_postgresql(installation: Installation, tmp_path: Path, postgresql: New) -> None:
    url = postgresql()
    installation.run("db", "migrate", "--database", url)
    failed = installation.run("db", "backup", str(tmp_path / "a.tar"), "--database", url, status=1, PATH="/nowhere")
    assert "SRV594" in failed.stderr and "pg_dump cannot be started: No such file" in failed.stderr
    assert "install PostgreSQL's client programs" in failed.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
