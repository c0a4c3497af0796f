"""Seconds of a machine that others use, too: as many as one would have taken that does nothing else."""

from __future__ import annotations

import time

#: Seconds of a processor by which it is found out how much of one there is.
_PIECE = 0.02


class Pace:
    """Counts from when it is made; `seconds` has to be asked often, since what others do changes."""

    def __init__(self) -> None:
        self.begun = self._asked = time.monotonic()
        self._had = 0.0

    @property
    def seconds(self) -> float:
        """Those of a machine of its own, so far."""
        at, used = time.monotonic(), time.thread_time()
        while time.thread_time() - used < _PIECE:
            pass
        now = time.monotonic()
        share = min(1.0, _PIECE / max(now - at, _PIECE))
        self._had += (now - self._asked) * share
        self._asked = now
        return self._had

    def __str__(self) -> str:
        return f"{time.monotonic() - self.begun:.1f} s ({self.seconds:.1f} s of a machine that does nothing else)"
