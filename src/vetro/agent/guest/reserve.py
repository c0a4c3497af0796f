"""Room on the disk that the agent keeps for itself, so that a server whose disk is full runs a plan that makes room.

It is a file that takes its blocks and holds nothing. Where the disk is full it is removed, and what was to be written
is written into its room. After the plan it takes what is left of that again: others have filled the rest.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
from collections.abc import Callable
from typing import TypeVar

log = logging.getLogger("muranoagent")

#: Bytes: a plan with its scripts and answer, as most are, many times.
SIZE = 8 << 20
#: What is worth keeping.
_LEAST = 256 << 10
_FULL = (errno.ENOSPC, errno.EDQUOT)
T = TypeVar("T")


class Reserve:
    """The file ``room`` in the folder ``path``. Any number of processes may give its room back."""

    def __init__(self, path: str) -> None:
        self._folder = path
        self._path = os.path.join(path, "room")
        self._draft = self._path + ".new"

    def fill(self) -> None:
        """Takes the room where there is twice as much; what was given back, also where there is less."""
        try:
            self._discard()
            if os.path.exists(self._path):
                return
            free, wanted = self._free(), SIZE
            if os.path.isdir(self._folder):  # it was there
                wanted = min(SIZE, free)
            elif free >= 2 * SIZE:
                os.mkdir(self._folder, 0o700)
            else:
                return
            while wanted >= _LEAST and not _allocated(self._draft, wanted):
                wanted = wanted * 3 // 4  # file systems say more than they give
            if wanted >= _LEAST:
                os.rename(self._draft, self._path)
        except OSError as error:  # it is a help, and no condition
            log.debug("no room is kept: %s", error)

    @property
    def lacking(self) -> bool:
        """Whether what was given back could not be taken again: file systems free some room a while later."""
        return os.path.isdir(self._folder) and not os.path.exists(self._path)

    def give(self) -> bool:
        """Gives the room back; whether there was some."""
        self._discard()
        try:
            os.unlink(self._path)  # which a full file system can do; some cannot shorten a file then
        except OSError:
            return False
        log.warning("the disk is full: the room that was kept for that is used")
        return True

    def _discard(self) -> None:
        """Removes what an agent left that was killed while it took the room."""
        with contextlib.suppress(OSError):
            os.unlink(self._draft)

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

    def _free(self) -> int:
        found = os.statvfs(os.path.dirname(self._folder))
        return found.f_bavail * found.f_frsize


def _allocated(path: str, size: int) -> bool:
    """Whether a file could be made that takes so much."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.posix_fallocate(handle, 0, size)
        return True
    except OSError:
        os.unlink(path)
        return False
    finally:
        os.close(handle)
