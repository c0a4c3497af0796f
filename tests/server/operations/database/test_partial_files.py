"""Drafts of backups: nothing is left of one that ends, and what a killed one left is removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.operations.database.kit import ROOT, Installation
from vetro.server.operations.database.errors import BackupFailed
from vetro.server.operations.database.partial_files import draft_of

_WRITES = """
import signal, sys
from pathlib import Path
from vetro.server.operations.database.partial_files import draft_of, signals_end
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for what runs beside them
with signals_end(), draft_of(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("writes", flush=True)
    signal.pause()
"""


def writing(path: Path, do: Callable[[subprocess.Popen[bytes]], None]) -> int:
    """The exit status of a process that writes to ``path`` while ``do`` is done."""
    with subprocess.Popen([sys.executable, "-c", _WRITES, str(path)], cwd=ROOT, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"writes\n"
            do(process)
            return process.wait(60)
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_one_that_is_ended_leaves_nothing(tmp_path: Path, number: int) -> None:
    status = writing(tmp_path / "a.tar", lambda process: process.send_signal(number))
    assert status in (128 + number, -number)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_one_left_goes_with_the_next_of_any_name(tmp_path: Path) -> None:
    assert writing(tmp_path / "monday.tar", lambda process: process.kill()) == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == [".monday.tar.vetro-draft"]
    (tmp_path / ".other.draft").touch()
    with draft_of(tmp_path / "tuesday.tar") as file:
        file.write(b"all")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.draft", "tuesday.tar"]
    assert (tmp_path / "tuesday.tar").read_bytes() == b"all"
    assert (tmp_path / "tuesday.tar").stat().st_mode & 0o777 == 0o600


def test_one_that_is_written_stays_another_s(tmp_path: Path) -> None:
    def other(process: subprocess.Popen[bytes]) -> None:
        with pytest.raises(BackupFailed, match="another backup writes to"), draft_of(tmp_path / "a.tar"):
            pass
        with draft_of(tmp_path / "b.tar") as file:
            file.write(b"b")
        assert (tmp_path / ".a.tar.vetro-draft").read_bytes() == b"half"
        process.kill()

    writing(tmp_path / "a.tar", other)
    assert (tmp_path / "b.tar").read_bytes() == b"b"


def test_a_draft_of_somebody_else_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"precious")
    os.symlink(tmp_path / "elsewhere", tmp_path / ".a.tar.vetro-draft")
    with pytest.raises(BackupFailed), draft_of(tmp_path / "a.tar") as file:
        file.write(b"all")
    assert (tmp_path / "elsewhere").read_bytes() == b"precious"


@pytest.mark.slow
def test_a_backup_that_is_ended_by_a_signal_leaves_nothing(installation: Installation, tmp_path: Path) -> None:
    place = tmp_path / "backups"
    place.mkdir()
    left = place / ".old.tar.vetro-draft"
    left.write_bytes(b"half")
    process = subprocess.Popen(
        [sys.executable, "-m", "vetro.cli.main", "db", "backup", str(place / "a.tar")],
        env=installation.environment, cwd=ROOT, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        assert process.stderr.readline()  # it says how many archives it has written
        process.send_signal(signal.SIGTERM)
        status = process.wait(60)
    finally:
        process.kill()
        process.stderr.close()
    assert not left.exists()
    quicker = [place / "a.tar"]  # than the signal
    assert (status, list(place.iterdir())) in [(143, []), (0, quicker), (-signal.SIGTERM, quicker)]
    assert installation.run("db", "backup", str(place / "b.tar")).returncode == 0
