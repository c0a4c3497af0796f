"""Room on the disk that the agent keeps for itself, so that a server whose disk is full runs a plan that makes room.

It is a file that takes its blocks and holds nothing. Where the disk is full it is emptied, and what was to be written
is written into its room. After the plan it takes what is left of that again: others have filled the rest.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from typing import TypeVar

log = logging.getLogger("muranoagent")

#: Bytes: a plan with its scripts and answer, as most are, many times.
SIZE = 8 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)
T = TypeVar("T")


class Reserve:
    """The file at ``path``. Any number of processes may give its room back."""

    def __init__(self, path: str) -> None:
        self._path = path

    def fill(self) -> None:
        """Takes the room where there is twice as much; what was given back, also where there is less."""
        try:
            held, free = self._held(), self._free()
            wanted = SIZE if held is None else min(SIZE, held + free)
            if wanted == held or (held is None and free < 2 * SIZE):
                return
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.posix_fallocate(handle, 0, wanted)
            except OSError:
                os.ftruncate(handle, held or 0)
                raise
            finally:
                os.close(handle)
        except OSError as error:  # it is a help, and no condition
            log.debug("no room is kept: %s", error)

    def give(self) -> bool:
        """Gives the room back; whether there was some."""
        try:
            if not self._held():
                return False
            os.truncate(self._path, 0)
        except OSError:
            return False
        log.warning("the disk is full: the room that was kept for that is used")
        return True

    def prepare(self) -> None:
        """Before something begins whose files nobody writes twice: gives the room back where it may need that."""
        try:
            if self._free() < SIZE:
                self.give()
        except OSError:
            pass

    def using(self, write: Callable[[], T]) -> T:
        """What ``write`` answers, which is called again after the room was given back where the disk was full."""
        try:
            return write()
        except OSError as error:
            if error.errno not in _FULL or not self.give():
                raise
            return write()

    def _held(self) -> int | None:
        """Bytes that are kept; None where there never were any."""
        try:
            return os.stat(self._path).st_size
        except FileNotFoundError:
            return None

    def _free(self) -> int:
        found = os.statvfs(os.path.dirname(self._path))
        return found.f_bavail * found.f_frsize
