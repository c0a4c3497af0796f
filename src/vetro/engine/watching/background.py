"""Work that nobody waits for: tasks of the loop that are kept until they are done, and calls on threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any


class Tasks:
    """Tasks under way: the loop itself would not keep them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Does it beside everything else."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def thread(function: Callable[..., Any], *args: Any) -> Future[Any]:
    """What a function gives or raises, on a thread that nobody waits for at the end."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)

    future.set_running_or_notify_cancel()
    threading.Thread(target=run, name="vetro look", daemon=True).start()
    return future
