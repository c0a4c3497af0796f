"""Locks between processes of this machine, as files: whoever dies holds none."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Holds the lock of a file, which is made where it is missing, for the time of a block.

    Raises BlockingIOError where another process or thread holds it and this one does not ``wait``; OSError where the
    file cannot be made.
    """
    file = take(path, wait=wait)
    try:
        yield
    finally:
        os.close(file)


def take(path: Path, *, wait: bool = True) -> int:
    """Takes the lock of a file until the descriptor that is returned is closed, here and in every process that got a
    copy of it, or they end. Raises as `exclusive` does."""
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(file)
        raise
    return file
