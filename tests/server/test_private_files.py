"""What the service writes is its own, also in a folder that somebody else made for everybody, and without an umask."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from vetro.server.config.config import PRIVATE, Config, make_data
from vetro.server.operations.doctor.folder import examine

pytestmark = pytest.mark.attack("data", "L")


def prepare(data: Path) -> None:
    """What `vetro serve` does at its start, without an umask."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
    command = [sys.executable, "-m", "vetro.server.http.startup"]
    environment["VETRO_DATA"] = str(data)
    subprocess.run(command, env=environment, umask=0, check=True, capture_output=True, timeout=110)


def reached(data: Path) -> list[str]:
    """What somebody else can read or write in there, but for reading files of the pages."""
    found = []
    for folder, folders, files in os.walk(data):
        for name in [*folders, *files]:
            path = Path(folder, name)
            if path.stat().st_mode & (0o022 if path.is_relative_to(data / "static") else 0o077):
                found.append(str(path.relative_to(data)))
        folders[:] = [name for name in folders if Path(folder, name).stat().st_mode & 0o011]
    # In a folder that only its owner changes nothing is replaced.
    return [path for path in found if not path.startswith("static/")]


@pytest.mark.slow
def test_a_foreign_folder_without_umask(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)
    prepare(data)
    assert reached(data) == []
    held = sqlite3.connect(data / "vetro.db")
    held.execute("PRAGMA journal_mode=WAL")
    held.execute("CREATE TABLE t (a)")
    assert (data / "vetro.db-wal").exists() and reached(data) == []
    # What an earlier version, or a hand, left open is mended at the next start.
    for path in (data / "vetro.db", data / "vetro.db-wal", data / "blobs", data / "keys"):
        path.chmod(0o777)
    assert len(reached(data)) > 3
    prepare(data)
    assert reached(data) == []
    held.close()


def test_what_others_own_is_left_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config.load(tmp_path)
    tmp_path.chmod(0o755)
    (tmp_path / "vetro.db").write_bytes(b"")
    (tmp_path / "vetro.db").chmod(0o644)
    with monkeypatch.context() as somebody:
        somebody.setattr(os, "geteuid", lambda: os.getuid() + 1)
        make_data(config)
        said = [finding for finding in examine(config) if "vetro.db" in finding.message]
        assert [finding.hint for finding in said if "chmod go=" in str(finding.hint)]
    make_data(config)
    assert (tmp_path / "vetro.db").stat().st_mode & 0o777 == 0o600
    assert not [finding for finding in examine(config) if "read or replace" in finding.message]


def test_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    elsewhere.chmod(0o755)
    data = tmp_path / "data"
    data.mkdir()
    (data / "blobs").symlink_to(elsewhere)
    make_data(Config.load(data))
    assert elsewhere.stat().st_mode & 0o777 == 0o755
    assert set(PRIVATE) >= {"vetro.db", "keys", "blobs"}
