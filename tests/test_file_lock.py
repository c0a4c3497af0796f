"""Locks as files: one holds them, and nobody does who has died."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vetro import file_lock

HOLDS = """
import os, sys
from pathlib import Path
from vetro import file_lock
with file_lock.exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with file_lock.exclusive(path), pytest.raises(BlockingIOError), file_lock.exclusive(path, wait=False):
        pass
    with file_lock.exclusive(path, wait=False):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_lock_that_is_taken_is_that_of_whoever_has_its_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    mine = file_lock.take(path)
    theirs = os.dup(mine)
    os.close(mine)
    with pytest.raises(BlockingIOError):
        file_lock.take(path, wait=False)
    os.close(theirs)
    os.close(file_lock.take(path, wait=False))


def test_a_killed_process_holds_none(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError), file_lock.exclusive(path, wait=False):
            pass
        other.kill()
    with file_lock.exclusive(path):
        pass
