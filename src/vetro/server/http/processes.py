"""Processes below `vetro serve`: started, started again when they end, stopped in time, and never left behind."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

_log = logging.getLogger("vetro.serve")
_PR_SET_PDEATHSIG = 1
#: The process that a child must not outlive.
PARENT = "VETRO_PARENT"
#: Seconds for answers under way when the service ends.
GRACE = 4
#: Seconds before a child that ended is started again. One that was killed is missed by whoever waits for it, also when
#: that happens again; one that has ended so often within some seconds of its start probably cannot run, and the pause
#: is doubled each time.
_FIRST_PAUSE, _LONGEST_PAUSE, _OFTEN, _STEADY = 0.5, 30.0, 3, 10.0


def die_with(parent: int) -> None:
    """Has this process killed when ``parent``, which started it, ends in whatever way (Linux)."""
    if not sys.platform.startswith("linux"):
        return
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it ended before
        os.kill(os.getpid(), signal.SIGKILL)


def die_with_parent() -> None:
    """The same for the process that `Child` was called in; nothing where this process was started otherwise."""
    parent = os.environ.pop(PARENT, "")
    if parent:
        die_with(int(parent))


class Child:
    """One process that has to be there. Used by one thread only, which lives as long as the child may."""

    def __init__(self, name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self._arguments = [sys.executable, *arguments]
        self._environment = {**environment, PARENT: str(os.getpid())}
        self._process: subprocess.Popen[bytes] | None = None
        #: How often in a row it ended soon after its start.
        self._failures = 0
        self._started = 0.0
        self._again_at = 0.0

    def start(self) -> None:
        """Starts the process, in a group of its own: Ctrl-C at a terminal is for the parent, who passes it on."""
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            self._arguments, env=self._environment, stdin=subprocess.DEVNULL, process_group=0
        )

    def pid(self) -> int | None:
        """Its process id; None while it is not there."""
        return None if self._process is None else self._process.pid

    def ended(self) -> int | None:
        """Exit status if it ended and was not started again yet."""
        return None if self._process is None else self._process.poll()

    def look(self) -> None:
        """Starts it again if it ended; after a pause, so that one that cannot run costs nothing."""
        now = time.monotonic()
        if self._process is None:
            if now >= self._again_at:
                self.start()
            return
        status = self._process.poll()
        if status is None:
            return
        self._failures = self._failures + 1 if now - self._started < _STEADY else 0
        pause = min(_FIRST_PAUSE * 2.0 ** max(0, self._failures - _OFTEN), _LONGEST_PAUSE)
        _log.error("%s ended (%s) and is started again in %.1f s", self.name, _how(status), pause)
        self._process = None
        self._again_at = now + pause

    def ask_to_stop(self) -> None:
        """SIGTERM."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def wait(self, until: float) -> None:
        """Waits for the end until a moment (`time.monotonic`), then kills."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            _log.warning("%s does not end and is killed", self.name)
            self._process.kill()
            self._process.wait()


def _how(status: int) -> str:
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
