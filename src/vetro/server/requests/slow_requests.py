"""`held`: a request that waits for something slow holds a thread of the HTTP server meanwhile.

No project holds so many of them that requests of others find none: when nearly all threads of a process are held, or
connections to PostgreSQL, only the first such request of each project is let in. What is left is for requests that wait
for nothing.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, TypeVar, cast

from vetro.server.errors import TooMany
from vetro.server.queries import on_sqlite
from vetro.server.requests.streams import open_streams
from vetro.server.setup import config

F = TypeVar("F", bound=Callable[..., Any])

#: Seconds after which one who was refused is to come again.
_AGAIN: Final = 2
_lock = threading.Lock()
_holding: Counter[str] = Counter()
_mine = threading.local()


@contextmanager
def held(project_id: str) -> Iterator[None]:
    """Around waiting for tasks, task processes and downloads in the name of a project.

    Raises `TooMany` where the project holds threads of this process already and few are left. Within another one it
    does nothing: it is the same thread.
    """
    if getattr(_mine, "held", False):
        yield
        return
    with _lock:
        if _holding[project_id] and (_holding.total() + open_streams() >= _most() or _holding.total() >= _connected()):
            raise TooMany(
                "Too many requests of this project wait already.",
                hint="wait for fewer things at the same time",
                details={"retry_after": _AGAIN},
            )
        _holding[project_id] += 1
    _mine.held = True
    try:
        yield
    finally:
        _mine.held = False
        with _lock:
            _holding[project_id] -= 1
            if not _holding[project_id]:
                del _holding[project_id]


def holding(function: F) -> F:
    """The function within `held`; its first argument is the caller."""

    @wraps(function)
    def within(caller: Any, *args: Any, **named: Any) -> Any:
        with held(caller.project_id):
            return function(caller, *args, **named)

    return cast(F, within)


def _most() -> int:
    """How many threads may be held, streams among them: half of those for requests are left."""
    settings = config()
    threads = int(settings["server.threads"])
    return int(settings["server.streams"]) + threads - max(1, threads // 2)


def _connected() -> float:
    """How many connections to the database may be held: three quarters of the pool. Streams give theirs back."""
    pool = int(config()["database.pool"])
    return math.inf if not pool or on_sqlite() else pool - max(1, pool // 4)
