"""Waiting for what other processes do.

Looking costs: a request, a statement, a line to another process. Who looks a hundred times a second takes the processor
from what is waited for, so pauses grow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

#: Seconds between two looks, at first and at most.
_FIRST, _LONGEST = 0.005, 0.1


def pauses(seconds: float, what: Callable[[], object] = lambda: "it did not happen in time") -> Iterator[None]:
    """One item for each look; sleeps between them. Raises AssertionError with ``what()`` after so many seconds."""
    end = time.monotonic() + seconds
    pause = _FIRST
    while True:
        yield
        assert time.monotonic() < end, what()
        time.sleep(pause)
        pause = min(pause * 1.3, _LONGEST)


def until(met: Callable[[], Any], seconds: float = 120, what: Callable[[], object] | None = None) -> Any:
    """The first true value of ``met()``. Raises AssertionError with ``what()`` after so many seconds."""
    for _ in pauses(seconds, *filter(None, [what])):
        if found := met():
            return found
