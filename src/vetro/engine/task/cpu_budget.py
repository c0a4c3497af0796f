"""The processor time of a task: first the run is asked to stop, then stopped, then the kernel ends the process.

Only time that the process computes counts; a task that waits for its cloud uses none. `TimeExceeded` is raised by a
timer signal, so it also ends code that neither enters a method nor pays for what it does. What happens inside a single
call of C code cannot be interrupted by it: that is what the kernel's limit is for.
"""

from __future__ import annotations

import math
import resource
import signal
from types import FrameType

from vetro.muranopl.runtime.execution import MuranoExecution, switching
from vetro.yaql.errors import TimeExceeded

#: Seconds between asking and raising, and between one raising and the next (a `Finally` block may loop, too).
GRACE = 0.1
#: Rings after which the signal raises wherever it finds the code.
PATIENCE = 20
#: Modules that must not be interrupted half way through a message, and how far down the stack to look for them.
_TALKING = frozenset({"vetro.engine.task.pipe_effects", "vetro.frames"})
_DEPTH = 12


class CpuBudget:
    """The limit of one task process. ``limit`` sets the kernel's, `watch` begins to watch a run."""

    def __init__(self, seconds: float, grace: float) -> None:
        self.seconds = seconds
        self.grace = grace
        self._rings = 0
        self._rt: MuranoExecution | None = None

    def limit(self) -> None:
        """The process is ended by SIGXCPU when it has used the seconds and the grace."""
        most = max(1, math.ceil(self.seconds + self.grace))
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        if hard != resource.RLIM_INFINITY:
            most = min(most, max(hard - 1, 1))
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))

    def start(self) -> None:
        """Starts the timer: it counts the processor time from now on."""
        signal.signal(signal.SIGPROF, self._ring)
        signal.setitimer(signal.ITIMER_PROF, max(self.seconds, 1e-3), GRACE)

    def watch(self, rt: MuranoExecution) -> None:
        """This is the run to be stopped."""
        self._rt = rt

    def stop(self) -> None:
        """Ends the timer; the kernel's limit stays."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._rt = None

    @property
    def text(self) -> str:
        """What the error says."""
        return f"the task used up its {self.seconds:g} seconds of processor time"

    def _ring(self, _number: int, frame: FrameType | None) -> None:
        self._rings += 1
        if self._rt is not None:
            self._rt.expire(self.text)
            if self._rings == 1 or (self._rings < PATIENCE and frame is not None and _spared(frame)):
                return
        raise TimeExceeded(self.text)


def _spared(frame: FrameType) -> bool:
    """Whether the code of ``frame`` moves from branch to branch, or is in the middle of a message."""
    if switching(frame):
        return True
    current: FrameType | None = frame
    for _ in range(_DEPTH):
        if current is None:
            return False
        if current.f_globals.get("__name__") in _TALKING:
            return True
        current = current.f_back
    return False
