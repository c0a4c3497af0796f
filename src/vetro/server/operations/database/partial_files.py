"""Files that get their names when they are whole: until then they are drafts beside their place, locked by the writer.

A draft that nobody has locked was left by somebody who was killed; the next one who writes to the folder removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from vetro.server.operations.database.errors import BackupFailed

_SUFFIX: Final = ".vetro-draft"
_TRIES: Final = 10


@contextmanager
def draft_of(path: Path) -> Iterator[IO[bytes]]:
    """A file that becomes ``path`` when all is written to it and on the disk; nothing is left of it when that fails.

    Raises `BackupFailed` while somebody else writes to the same path, `OSError`.
    """
    draft = path.with_name(f".{path.name}{_SUFFIX}")
    with _begun(draft, path) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(draft, path)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """A file beside ``path`` that is removed in the end, with what SQLite puts beside it; the caller writes to it.

    Raises `BackupFailed` while somebody else has the same one, `OSError`.
    """
    draft = path.with_name(f".{path.name}{_SUFFIX}")
    files = [draft, *(draft.with_name(f"{draft.name}{end}") for end in ("-journal", "-wal", "-shm"))]
    with _begun(draft, path):
        try:
            for beside in files[1:]:  # left by somebody who was killed
                beside.unlink(missing_ok=True)
            yield draft
        finally:
            for file in files:
                file.unlink(missing_ok=True)


@contextmanager
def signals_end() -> Iterator[None]:
    """SIGTERM and SIGHUP end this process as an exception does: what it began is cleaned up. For the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _begun(draft: Path, path: Path) -> IO[bytes]:
    """A new file, locked: whatever another user may have put there is not written to."""
    for _ in range(_TRIES):
        _sweep(path.parent)
        try:
            file = open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")  # noqa: SIM115
        except FileExistsError:
            break
        if _ours(file.fileno(), draft):
            return file
        file.close()  # somebody found it before it was locked, and took it for a left one
    refused = BackupFailed(f"another backup writes to {path}: {draft.name} is there")
    refused.hint = "wait until it has ended, or choose another name"
    raise refused


def _ours(file: int, draft: Path) -> bool:
    """Whether nobody else writes the draft, and it is still where it was opened."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        # A file system without locks: then nobody knows of others.
    try:
        return os.path.samestat(os.fstat(file), os.lstat(draft))
    except FileNotFoundError:
        return False


def _sweep(folder: Path) -> None:
    for left in folder.glob(f".*{_SUFFIX}"):
        with suppress(OSError):
            file = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(file), os.lstat(left)):
                    left.unlink()
            finally:
                os.close(file)
