"""The heartbeat of a lease: until when the effects host of a task may believe that the task is its worker's.

A worker that stands still (a halted process, a paused machine) loses its leases, and another one goes on with its
tasks, while its hosts still run: they would take answers of agents away from the successor's host, and acknowledge
those that they do not know. So the worker writes down, for each lease that it renews, when it asked for that; a host
whose lease was not renewed for as long as it lasts acknowledges nothing that nobody asked for, and ends. The worker
that comes back may claim its own task again: the file is one of the lease, not of the worker.

The file holds seconds of the machine's clock since its start, sleep included: hosts are where their worker is. It goes
with the lease.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

from vetro.data_classes import dataclass

#: Parts of the allowed silence between two looks of `Heartbeat.watch`.
_LOOKS = 8


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def beat(path: Path, at: float | None = None) -> None:
    """Writes down that the lease is held, now or at a moment that `moment` gave. Raises `OSError`."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:  # in place and always as long: that needs no room on a full disk
        os.pwrite(file, f"{_now() if at is None else at:20.6f}\n".encode("ascii"), 0)
    finally:
        os.close(file)


def moment() -> float:
    """Now, for `beat`."""
    return _now()


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The file that a worker writes, and the seconds of silence after which the task may be another's."""

    path: Path
    seconds: float

    @classmethod
    def from_json(cls, data: Any) -> Heartbeat | None:
        """Made of ``{"path", "seconds"}``; of None: None. Raises `TypeError`, `ValueError`, `KeyError`."""
        return None if data is None else cls(Path(data["path"]), float(data["seconds"]))

    def silence(self) -> float:
        """Seconds since the lease was renewed; infinite when it is lost, or the worker has left."""
        try:
            return _now() - float(self.path.read_text("ascii"))
        except (OSError, ValueError):
            return float("inf")

    def lives(self, begun: float = float("-inf")) -> bool:
        """Whether the lease was renewed in time, counted from the moment ``begun`` at the earliest."""
        return min(self.silence(), _now() - begun) < self.seconds

    def watch(self) -> None:
        """Ends this process when the lease was not renewed for too long, counted from now at the earliest."""
        threading.Thread(target=self._watch, name="vetro heartbeat", daemon=True).start()

    def _watch(self) -> None:
        begun = _now()
        while self.lives(begun):
            time.sleep(self.seconds / _LOOKS)
        os._exit(1)  # what was begun is adopted by the successor's host
