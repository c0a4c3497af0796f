"""`vetro db backup` and `vetro db restore`: what is saved comes back whole or not at all, on either database."""

from __future__ import annotations

import io
import json
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.server.dbtools.kit import ROOT, Installation, once
from tests.server.servekit import until

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


def rows_of(installation: Installation, database: str = "") -> dict[str, list[Any]]:
    found = installation.dump(database)
    audit = [row for row in found.pop(OWN) if '"action": "database.' not in row]
    return {**found, OWN: audit}


@pytest.mark.slow
def test_to_postgresql_and_back_to_sqlite(installation: Installation, tmp_path: Path, postgresql: New) -> None:
    before = rows_of(installation)
    file = saved(installation, tmp_path / "a.tar")
    assert file.stat().st_mode & 0o777 == 0o600
    whole = installation.run("db", "restore", str(file), "--dry-run", "-o", "json")
    report = json.loads(whole.stdout)
    assert (report["rows"], report["keys"]) == (sum(len(rows) for rows in before.values()), False)

    elsewhere = Installation(tmp_path / "elsewhere", VETRO_DATABASE__URL=postgresql())
    refused = elsewhere.run("db", "restore", str(file), status=1)
    assert "SRV511" in refused.stderr and f"copy the file of keys of the installation that was saved to {tmp_path}" in (
        refused.stderr
    )
    shutil.copy(installation.data / "keys", elsewhere.data / "keys")
    done = elsewhere.run("db", "restore", str(file))
    assert "all rows and checksums agree" in done.stderr
    assert rows_of(elsewhere, elsewhere.environment["VETRO_DATABASE__URL"]) == before
    levels = json.loads(elsewhere.run("db", "check", "--all", "-o", "json").stdout)
    assert {finding["level"] for finding in levels} <= {"ok", "warning"}
    # Numbers that were given before are not given again.
    with psycopg.connect(elsewhere.environment["VETRO_DATABASE__URL"]) as connection:
        (seq,) = connection.execute("SELECT nextval(pg_get_serial_sequence('dispatch_event', 'seq'))").fetchone() or (
            0,
        )
    assert seq > len(before["dispatch_event"]) and f'"seq": {seq - 1},' not in "".join(before["dispatch_event"])

    back = Installation(tmp_path / "back")
    again = saved(elsewhere, tmp_path / "b.tar", "--with-keys")
    said = back.run("db", "restore", str(again))
    assert f"the keys are in {back.data / 'keys'}" in said.stderr
    assert (back.data / "keys").read_text() == (installation.data / "keys").read_text()
    assert (back.data / "keys").stat().st_mode & 0o777 == 0o600
    assert rows_of(back) == before
    assert "ann" in back.run("admin", "user", "list").stdout


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
    refused(content[:end], "the backup is cut off: its end is missing")
    archive = content.index(b"PK\x03\x04")
    refused(content[: archive + 40] + b"!" + content[archive + 41 :], "package archive", "is damaged")

    def later(name: str, data: bytes) -> tuple[str, bytes] | None:
        head = name == "vetro-backup.json"
        return name, json.dumps({**json.loads(data), "format": 2, "version": "9.0"}).encode() if head else data

    refused(changed(file, later), "SRV591", "made by Vetro 9.0, in format 2")
    refused(changed(file, lambda n, d: None if n.startswith("tables/dispatch_report") else (n, d)), "dispatch_report")
    refused(changed(file, lambda n, d: (n, d + b"\n" if n == "keys" else d)), "the keys in the backup are not")

    def unknown(name: str, data: bytes) -> tuple[str, bytes] | None:
        if name != "vetro-backup.json":
            return name, data
        head = json.loads(data)
        return name, json.dumps({**head, "migrations": [*head["migrations"], "dispatch.0999_far"]}).encode()

    assert "dispatch.0999_far" in target.run("db", "restore", str(changed(file, unknown)), status=1).stderr
    # After all of these the target is as empty as before.
    assert target.run("db", "restore", str(file)).returncode == 0
    assert rows_of(target) == rows_of(installation)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_restoring_that_is_killed_is_begun_again(
    installation: Installation, tmp_path: Path, postgresql: New, kind: str
) -> None:
    file = saved(installation, tmp_path / "a.tar", "--with-keys")
    content = file.read_bytes()
    settings = {"VETRO_DATABASE__URL": postgresql()} if kind == "postgresql" else {}
    target = Installation(tmp_path / "target", **settings)
    process = subprocess.Popen(
        [sys.executable, "-m", "vetro.cli.main", "db", "restore", "-"],
        env=target.environment, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=False,
    )  # fmt: skip
    assert process.stdin is not None and process.stderr is not None
    # It gets everything but the end, and so has written most of the tables when it is killed.
    process.stdin.write(content[: content.rindex(b"end.json")])
    process.stdin.flush()
    try:
        for line in process.stderr:
            if b"catalog_package: " in line:
                break
        else:
            raise AssertionError("it ended before it had come that far")
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait(60)
        process.stdin.close()
        process.stderr.close()
    if kind == "postgresql":
        with psycopg.connect(settings["VETRO_DATABASE__URL"], autocommit=True) as watcher:
            others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            until(lambda: not watcher.execute(others).fetchone())
    assert not rows_of(target, settings.get("VETRO_DATABASE__URL", ""))["accounts_user"]
    target.run("db", "restore", str(file))
    assert rows_of(target, settings.get("VETRO_DATABASE__URL", "")) == rows_of(installation)


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
def test_a_backup_of_an_older_version_is_brought_up_to_date(
    installation: Installation, tmp_path: Path, postgresql: New
) -> None:
    """As if made before the audit had its second index."""

    def older(name: str, data: bytes) -> tuple[str, bytes] | None:
        if name != "vetro-backup.json":
            return name, data
        head = json.loads(data)
        head["migrations"].remove("audit.0002_of_project")
        return name, json.dumps(head).encode()

    file = changed(saved(installation, tmp_path / "a.tar", "--with-keys"), older)
    url = postgresql()
    target = Installation(tmp_path / "target", VETRO_DATABASE__URL=url)
    done = json.loads(target.run("db", "restore", str(file), "-o", "json").stdout)
    assert done["migrations"] == ["audit.0002_of_project"]
    assert not [finding for finding in done["findings"] if finding["topic"] == "schema"]
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1 FROM pg_class WHERE relname = 'audit_of_project'").fetchone()
    assert rows_of(target, url) == rows_of(installation)
    current = Installation(tmp_path / "current")
    current.run("db", "migrate")
    newer = current.run("db", "restore", str(file), status=1)
    assert "the tables here are newer than those of the backup: audit.0002_of_project" in newer.stderr
