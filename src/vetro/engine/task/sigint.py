"""Ctrl-C in a terminal goes to all processes there, and is meant for the command only.

Helper processes ignore it, but what arrives while they still load their code would end them. So they begin with the
signal held back, ignore it, and let it through then.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_back() -> Iterator[None]:
    """Processes that are started in the block begin with SIGINT held back; they call `ignored` as soon as they can."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def ignored() -> None:
    """For the helper process: SIGINT does nothing from now on, nor what has arrived already."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
