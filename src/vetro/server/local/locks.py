"""Locks that end with their process: files that say which one holds them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from vetro import file_lock
from vetro.server.errors import Conflict


class EnvironmentBusy(Conflict):
    """Another process works on the environment."""

    code = "SRV436"


class Lock:
    """The lock of one file. `take` does not wait."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def take(self) -> int | None:
        """Takes the lock: None. Where another process has it: its id, 0 where that is not known."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = open(self._path, "a+", encoding="ascii")  # noqa: SIM115
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip()
            file.close()
            return int(owner) if owner.isdecimal() else 0
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file
        return None

    def free(self) -> None:
        """Lets it go."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None

    def holder(self) -> int | None:
        """The process that has it; None where nobody does."""
        if self._file is not None:
            return os.getpid()
        if not self._path.exists():
            return None
        found = self.take()
        self.free()
        return found


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Holds a lock during the block; waits for it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with file_lock.exclusive(path):
        yield
