"""The pulse of a worker: until when the effects hosts that it started may believe that its tasks are its own.

A worker that stands still (a halted process, a paused machine) loses its leases, and another one goes on with its
tasks, while its hosts still run: they would take answers of agents away from the successor's host, and acknowledge
those that they do not know. So the worker writes down, each time before it renews its leases, when it did that; a host
whose worker was silent for as long as a lease lasts acknowledges nothing that nobody asked for, and ends.

The file holds seconds of the machine's clock since its start, sleep included: hosts are where their worker is.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Parts of the allowed silence between two looks of `Pulse.watch`.
_LOOKS = 8


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def beat(path: Path, at: float | None = None) -> None:
    """Writes down that the worker lives, now or at a moment that `moment` gave. Raises `OSError`."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:  # in place and always as long: that needs no room on a full disk
        os.pwrite(file, f"{_now() if at is None else at:20.6f}\n".encode("ascii"), 0)
    finally:
        os.close(file)


def moment() -> float:
    """Now, for `beat`."""
    return _now()


@dataclass(frozen=True, slots=True)
class Pulse:
    """The file that a worker writes, and the seconds of silence after which its tasks may be others'."""

    path: Path
    seconds: float

    @classmethod
    def from_json(cls, data: Any) -> Pulse | None:
        """Made of ``{"path", "seconds"}``; of None: None. Raises `TypeError`, `ValueError`, `KeyError`."""
        return None if data is None else cls(Path(data["path"]), float(data["seconds"]))

    def silence(self) -> float:
        """Seconds since the worker was heard of; infinite when it has left."""
        try:
            return _now() - float(self.path.read_text("ascii"))
        except (OSError, ValueError):
            return float("inf")

    def lives(self, begun: float = float("-inf")) -> bool:
        """Whether the worker was heard of in time, counted from the moment ``begun`` at the earliest."""
        return min(self.silence(), _now() - begun) < self.seconds

    def watch(self) -> None:
        """Ends this process when the worker was silent too long, counted from now at the earliest."""
        threading.Thread(target=self._watch, name="vetro pulse", daemon=True).start()

    def _watch(self) -> None:
        begun = _now()
        while self.lives(begun):
            time.sleep(self.seconds / _LOOKS)
        os._exit(1)  # what was begun is adopted by the successor's host
