"""One lock for each stack, over all threads and processes that use a directory; a dead process holds none."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path


class StackLocks:
    """Locks as files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def held(self, *names: str) -> Iterator[None]:
        """Waits for the lock of a stack (project, region, name) and holds it."""
        path = self._path(names)
        while True:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                # Whoever had it may have removed the file: then this is the lock of nothing.
                with contextlib.suppress(FileNotFoundError):
                    if os.fstat(file).st_ino == os.stat(path).st_ino:
                        break
            except BaseException:
                os.close(file)
                raise
            os.close(file)
        try:
            yield
        finally:
            os.close(file)

    def remove(self, *names: str) -> None:
        """Removes the lock file of a stack that is gone; the caller holds the lock."""
        self._path(names).unlink(missing_ok=True)

    def _path(self, names: tuple[str, ...]) -> Path:
        return self._folder / (hashlib.sha256("\0".join(names).encode()).hexdigest()[:40] + ".lock")
