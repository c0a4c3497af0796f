"""`Collecting`: one transaction for many small changes of a stack, and of what a noting driver writes down for it."""

from __future__ import annotations

import threading
import time

from vetro.clouds.drivers.base import NotingDriver
from vetro.clouds.stacks.state.database import Database

#: Seconds that changes are collected before they are written down.
_LONGEST = 0.1


class Collecting:
    """Belongs to the thread that makes it; on other threads its methods do nothing.

    ``notes`` is a driver that only writes down what it is asked for; None where drivers do more.
    """

    def __init__(self, database: Database, notes: NotingDriver | None) -> None:
        self._database = database
        self._notes = notes
        self._thread = threading.get_ident()
        self._open = False
        self._noting = False
        self._since = 0.0

    @property
    def notes(self) -> bool:
        """Whether servers can be made within the transaction."""
        return self._notes is not None

    def begin(self) -> None:
        """Collects from now on; what was collected for long is written down first, since others want to go on, too."""
        if threading.get_ident() != self._thread:
            return
        if self._open and time.monotonic() - self._since > _LONGEST:
            self.settle()
        if not self._open:
            self._database.begin()
            self._open = True
            self._since = time.monotonic()

    def note(self) -> None:
        """What the driver is asked for now is written down with what is collected."""
        self.begin()
        if self._notes is not None and not self._noting:
            self._notes.begin()
            self._noting = True

    def settle(self) -> None:
        """Writes down what was collected. When that fails, nothing of it was done."""
        if not self._open or threading.get_ident() != self._thread:
            return
        self._open = False
        # A server that the cloud knows must be known to the driver, also after a death between the two.
        if self._noting and self._notes is not None:
            self._noting = False
            try:
                self._notes.commit()
            except BaseException:
                self._database.rollback()
                raise
        self._database.commit()
