"""A client that asks a service fifty times a second beside a test, and remembers each time that it was refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

#: Questions a second.
PER_SECOND = 50


class Steady:
    """Asks again and again, until the block ends: ``ask`` raises one of ``faults`` where it is refused or cut off.

    A service that is slower than that is asked again at once, by as many threads as ``together`` says.
    """

    def __init__(self, ask: Callable[[], object], *faults: type[Exception], together: int = 4) -> None:
        self._ask, self._faults = ask, faults
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._next = 0.0
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(together)]
        self.answered = 0
        self.refused: list[Exception] = []
        #: What went wrong with the client itself.
        self.broken: list[BaseException] = []

    def __enter__(self) -> Self:
        self._next = time.monotonic()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        if error is None:
            assert self.broken == []

    def _run(self) -> None:
        while True:
            with self._lock:  # each moment is one thread's; nobody makes up for moments that have passed
                self._next = max(self._next + 1 / PER_SECOND, time.monotonic())
                moment = self._next
            if self._stop.wait(max(0.0, moment - time.monotonic())):
                return
            try:
                self._ask()
            except self._faults as fault:
                with self._lock:
                    self.refused.append(fault)
            except BaseException as fault:
                self.broken.append(fault)
                raise
            else:
                with self._lock:
                    self.answered += 1
