"""The clock of `Limits.max_seconds`: interrupts code that neither enters a method nor pays for what it does.

When the time is over, the run is first asked to stop by itself, at its next step; if it does not come to one soon,
`TimeExceeded` is raised wherever its Python code is. In the main thread a timer signal does that, elsewhere (or where
the host uses that timer itself) a watching thread. What happens inside a single call of C code cannot be interrupted;
those are bounded by their sizes.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from vetro.yaql.errors import TimeExceeded

#: Seconds between asking and raising, and between one raising and the next (a `Finally` block may loop, too).
GRACE = 0.1


class Alarm:
    """A context in which ``seconds`` may pass. Raises `TimeExceeded` in its body, in the thread that entered it.

    ``ask`` is called at the deadline: it makes the code stop at its next step. ``spared`` says of the innermost frame
    whether it must not be interrupted just now.
    """

    def __init__(
        self,
        seconds: float,
        ask: Callable[[], None] | None = None,
        spared: Callable[[FrameType], bool] | None = None,
    ) -> None:
        self.seconds = seconds
        self._ask = ask
        self._spared = spared
        self._rings = 0
        self._active = False
        self._old: Any = None
        self._by_signal = False
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread = 0

    def _message(self) -> str:
        return f"the run used up its {self.seconds:g} seconds"

    def _due(self, frame: FrameType | None) -> bool:
        """Whether this ring is to raise; the first one asks, if there is somebody to ask."""
        self._rings += 1
        if self._ask is not None:
            self._ask()
            if self._rings == 1:
                return False
        return not (frame is not None and self._spared is not None and self._rings < 20 and self._spared(frame))

    def __enter__(self) -> Alarm:
        self._active = True
        if _timer_is_free():
            self._by_signal = True
            self._old = signal.signal(signal.SIGALRM, self._on_signal)
            signal.setitimer(signal.ITIMER_REAL, max(self.seconds, 1e-6), GRACE)
        else:
            self._thread = threading.get_ident()
            threading.Thread(target=self._watch, name="vetro-alarm", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._active = False
        if self._by_signal:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._old)
        else:
            self._wake.set()
            with self._lock:  # the watcher either has raised by now or never will
                if self._rings:
                    _take_back(self._thread)
        if isinstance(error, TimeExceeded) and not error.args:
            error.args = (self._message(),)

    def _on_signal(self, _number: int, frame: FrameType | None) -> None:
        # What is raised in `__enter__` or at the first step of `__exit__` would leave the timer running for ever. The
        # body gets the next ring; behind it there is none.
        if frame is not None and frame.f_code in _OWN:
            return
        if self._active and self._due(frame):
            raise TimeExceeded(self._message())

    def _watch(self) -> None:
        pause = self.seconds
        while not self._wake.wait(pause):
            pause = GRACE
            with self._lock:
                if not self._active:
                    return
                if self._due(sys._current_frames().get(self._thread)):
                    _raise_in(self._thread, TimeExceeded)


_OWN = frozenset({Alarm.__enter__.__code__, Alarm.__exit__.__code__})


def _timer_is_free() -> bool:
    """Whether this is the main thread and nobody else uses the timer: hosts may, and so do test runners."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        return False
    if signal.getitimer(signal.ITIMER_REAL)[0] > 0:
        return False
    return signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)


class _Nothing(BaseException):
    """Raised and caught in one place."""


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Makes ``thread`` raise ``error`` between two of its instructions."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _take_back(thread: int) -> None:
    """Makes this thread forget what `_raise_in` gave it and it has not raised yet.

    Another exception takes its place and is raised here. Python would also take a null pointer, but then leaves its
    flag for pending work up (3.11), and with that a trace function is called for one instruction for ever.
    """
    try:
        _raise_in(thread, _Nothing)
        while True:
            pass
    except _Nothing:
        pass
