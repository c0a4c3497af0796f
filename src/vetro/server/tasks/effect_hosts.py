"""The effects hosts of this process: one process loads their code, with the first of them, and forks them all."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from vetro.engine.host.forker import HostForker
from vetro.engine.host.process import HostProcess
from vetro.engine.worker.ports import HostPort

_lock = threading.Lock()
#: By process: what a forked process inherits is not its own.
_forkers: dict[int, HostForker] = {}


def forker(kind: str = "") -> HostForker:
    """What forks the hosts of this process. ``kind``: of the cloud that most of them are for, as settings name it."""
    with _lock:
        found = _forkers.get(os.getpid())
        if found is None:
            if not _forkers:
                atexit.register(close)
            found = _forkers[os.getpid()] = HostForker(kind)
        return found


def host(settings: Mapping[str, Any]) -> HostProcess:
    """A new effects host, which has not begun; ``settings`` as `vetro.engine.host.config.build_host` takes them."""
    return HostProcess(settings, forker((settings.get("cloud") or {}).get("kind", "")))


class LateHost:
    """A `vetro.engine.worker.ports.HostPort` that is made when it is started first: what it is made of costs questions
    to the database, and many tasks need none."""

    def __init__(self, make: Callable[[], HostPort]) -> None:
        self._make = make
        self._made: HostPort | None = None

    def start(self) -> None:
        """Makes and starts it. Raises `HostUnavailable`, and what making it raises."""
        if self._made is None:
            self._made = self._make()
        self._made.start()

    def fileno(self) -> int:
        """See `HostPort.fileno`."""
        assert self._made is not None, "the host was not started"
        return self._made.fileno()

    def kill(self) -> None:
        """See `HostPort.kill`."""
        if self._made is not None:
            self._made.kill()

    def stop(self) -> None:
        """See `HostPort.stop`."""
        if self._made is not None:
            self._made.stop()


def close() -> None:
    """Ends all hosts of this process."""
    with _lock:
        found = _forkers.pop(os.getpid(), None)
    if found is not None:
        found.close()
