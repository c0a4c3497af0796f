"""Outside effects under way while other branches go on, and the order in which their answers arrive.

On a real clock answers arrive as they come. Two things make the order a function of the program and the answers: on a
virtual clock effects take no time, so they are answered in the order they were asked; and a host that replays a record
says itself which comes first (`Effects` with a ``rank``).
"""

from __future__ import annotations

import heapq
import queue
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from vetro.muranopl.runtime.branches import Branch

#: Threads that wait for outside effects of one session.
EFFECT_THREADS = 64
#: Longest single wait on the queue: its time-outs are bounded, and Python looks for signals in between.
LONGEST_WAIT = 3600.0


class Outside:
    """Effects that were begun and not delivered."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._events: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._open: dict[int, tuple[Branch, Future[Any]]] = {}
        self._order: list[tuple[float, int]] = []
        self._arrived: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, branch: Branch, action: Callable[[], Any], rank: float, threads: bool) -> Future[Any]:
        """Starts ``action`` for ``branch``; `take` names the branch when the answer is to be delivered."""
        if not self._open:
            self._order.clear()
        self._count += 1
        number = self._count
        future: Future[Any]
        if threads:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(EFFECT_THREADS, thread_name_prefix="vetro-effect")
            future = self._pool.submit(copy_context().run, action)
        else:
            future = Future()
            try:
                future.set_result(action())
            except Exception as error:
                future.set_exception(error)
        self._open[number] = (branch, future)
        heapq.heappush(self._order, (rank, number))
        future.add_done_callback(lambda _: self._events.put(number))
        return future

    def take(self, timeout: float | None, in_order: bool) -> Branch | None:
        """The branch whose answer is next; None when ``timeout`` is over or `wake` was called."""
        while self._open:
            branch = self._next(in_order)
            if branch is not None:
                return branch
            if not self._wait(timeout):
                return None
        return None

    def _next(self, in_order: bool) -> Branch | None:
        if in_order:
            while self._order and self._order[0][1] not in self._open:
                heapq.heappop(self._order)
            number = self._order[0][1]
            if not self._open[number][1].done():
                return None
            heapq.heappop(self._order)
            return self._open.pop(number)[0]
        while True:
            if not self._arrived:
                try:
                    arrived = self._events.get_nowait()
                except queue.Empty:
                    return None
                if arrived is not None:
                    self._arrived.append(arrived)
                continue
            found = self._open.pop(self._arrived.pop(0), None)
            if found is not None:
                return found[0]

    def _wait(self, timeout: float | None) -> bool:
        """Waits for an event; False when there was none, or when it was a call of `wake`."""
        try:
            arrived = self._events.get(timeout=None if timeout is None else min(timeout, LONGEST_WAIT))
        except queue.Empty:
            return False
        if arrived is None:
            return False
        self._arrived.append(arrived)
        return True

    def pause(self, seconds: float) -> None:
        """Lets at most so much real time pass; `wake` ends it."""
        self._wait(seconds)

    def wake(self) -> None:
        """Ends a wait. May be called from any thread and from signal handlers."""
        self._events.put(None)

    def forget(self) -> None:
        """Nobody waits for what is under way any more."""
        for _, future in self._open.values():
            future.cancel()
        self._open.clear()
        self._order.clear()
        self._arrived.clear()

    def close(self) -> None:
        """Ends the threads."""
        self.forget()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
