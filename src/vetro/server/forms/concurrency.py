"""`FairPool`: work for a few threads, of which no project holds more than its share, however slow its cloud is."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

_Asked = tuple[Future[Any], Callable[[], Any]]


class Full(Exception):
    """So much waits for the project's share already that nothing more is taken."""


class FairPool:
    """``threads`` in all, ``share`` a project; what is beyond the share waits, ``most`` a project."""

    def __init__(self, threads: int, share: int, most: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._share = share
        self._most = most
        self._lock = threading.Lock()
        self._busy: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Asked]] = {}

    def submit(self, project: str, do: Callable[[], Any]) -> Future[Any]:
        """What ``do`` gives, or raises, once it was its turn. Raises `Full`."""
        asked: _Asked = (Future(), do)
        with self._lock:
            if self._busy[project] >= self._share:
                waiting = self._waiting.setdefault(project, deque())
                if len(waiting) >= self._most:
                    raise Full
                waiting.append(asked)
                return asked[0]
            self._busy[project] += 1
        self._begin(project, asked)
        return asked[0]

    def _begin(self, project: str, asked: _Asked) -> None:
        try:
            self._pool.submit(self._work, project, asked)
        except RuntimeError as error:  # the process ends
            asked[0].set_exception(error)

    def _work(self, project: str, asked: _Asked) -> None:
        future, do = asked
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(do())
            except BaseException as error:
                future.set_exception(error)
        with self._lock:
            waiting = self._waiting.get(project)
            following = waiting.popleft() if waiting else None
            if not waiting:
                self._waiting.pop(project, None)
            if following is None:
                self._busy[project] -= 1
                if not self._busy[project]:
                    del self._busy[project]
        if following is not None:  # behind those of others that are waiting for a thread
            self._begin(project, following)
