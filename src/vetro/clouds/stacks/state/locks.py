"""One lock for each stack, over all threads and processes that use a directory; a dead process holds none."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from vetro.clouds.interface import Owner
from vetro.clouds.waits import Waits, held_text


class StackLocks:
    """Locks as files in a folder; None: nobody else has the directory, and one thread uses it."""

    def __init__(self, folder: Path | None, waits: Waits) -> None:
        self._folder = folder
        self._waits = waits
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def held(self, owner: Owner, region: str, name: str) -> Iterator[None]:
        """Waits for the lock of a stack of the owner's project and holds it."""
        if self._folder is None:
            yield
            return
        path = self._path(self._folder, (owner.project, region, name))
        while True:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    with self._waits.on(owner, "stack", held_text(name)):
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
        if self._folder is not None:
            self._path(self._folder, names).unlink(missing_ok=True)

    @staticmethod
    def _path(folder: Path, names: tuple[str, ...]) -> Path:
        return folder / (hashlib.sha256("\0".join(names).encode()).hexdigest()[:40] + ".lock")
