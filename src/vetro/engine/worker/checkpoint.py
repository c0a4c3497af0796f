"""When to ask a running task for its model, so that looking at it never costs more than a small share of its work."""

from __future__ import annotations

import os

#: Seconds between two checkpoints, and the share of the task's processor time they may take.
EVERY_SECONDS = 5.0
LARGEST_SHARE = 0.05

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int | None) -> float:
    """Processor time of a process so far; 0.0 for one that is gone."""
    if pid is None:
        return 0.0
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def sleeps(pid: int | None) -> bool:
    """Whether a process waits for something: it neither runs, nor waits for a processor, nor was halted."""
    if pid is None:
        return True
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"S"
    except OSError:
        return False


class Throttle:
    """Says when the next checkpoint is due. Times are seconds of one monotonic clock."""

    def __init__(self, every: float = EVERY_SECONDS, share: float = LARGEST_SHARE, *, now: float = 0.0) -> None:
        self.every = every
        self.share = share
        self._last = now
        self._spent = 0.0
        self._changed = False
        self._asked: float | None = None  # processor time when it was asked for

    def changed(self) -> None:
        """Something happened that may show in the model."""
        self._changed = True

    @property
    def waiting(self) -> bool:
        """Whether a checkpoint was asked for and did not come yet."""
        return self._asked is not None

    def wait(self, now: float) -> float | None:
        """Seconds until a checkpoint may be due; None while nothing changed or one is on its way."""
        if not self._changed or self.waiting:
            return None
        return max(self._last + self.every - now, 0.0)

    def due(self, now: float, cpu: float) -> bool:
        """Whether to ask now. ``cpu`` is the processor time of the task so far."""
        pause = self.wait(now)
        if pause is None or pause > 0:
            return False
        if self._spent > self.share * cpu:
            self._last = now - self.every / 2  # look again after half of the time
            return False
        return True

    def asked(self, now: float, cpu: float) -> None:
        """A checkpoint was asked for."""
        self._last, self._asked, self._changed = now, cpu, False

    def came(self, cpu: float, spent: float | None = None) -> None:
        """It came. ``spent`` is what the task says that it took; else all it used since it was asked counts."""
        if self._asked is not None:
            self._spent += max(cpu - self._asked, 0.0) if spent is None else spent
        self._asked = None
