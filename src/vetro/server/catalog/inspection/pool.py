"""Questions about archives are answered by processes behind the walls of tasks (`worker`).

Untrusted archives are never parsed in the process that answers requests, nor where files, network or archives of other
projects could be reached: a process is used again only for the same project, and only while it has seen nothing but
archives that this one brought. It has limits of memory and time and is killed when it breaks them. A project occupies
one process at a time.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from vetro.diagnostics import Text, decode_messages
from vetro.engine.query.sandboxed_worker import sandboxed_worker
from vetro.engine.task.launcher import LauncherError
from vetro.server import sandboxed_workers
from vetro.server.catalog.inspection.protocol import Blobs, exchange, packed
from vetro.server.errors import Invalid, TooMany, Unavailable
from vetro.server.requests.slow_requests import held

#: Processes at once, and the MiB that each may use.
CHILDREN = 2
MEMORY = 1024
#: Questions that wait at most, of one owner and of all: each holds a thread of the server, and there are not many. The
#: first one of an owner waits all the same.
MOST_WAITING, MOST_TOGETHER = 4, 10
#: Questions that a process answers before another one takes its place, and seconds for which it may have worked then.
QUESTIONS, LIFE = 100, 120.0
#: Seconds that one question may take at most.
LONGEST = 60.0
#: How many times as long they may take where others want the processors, too: these processes stand behind all others.
#: What a question may compute is bounded by the process.
MOST_TIMES = 5.0
#: Questions about what a project brings itself; those about packages of the catalog are about work of others.
_OWN = frozenset({"read", "check", "environment"})
#: Owners whose last turn is known.
MOST_REMEMBERED = 10_000
_log = logging.getLogger("vetro.serve")


def not_loaded(reason: str) -> Text:
    """Why an archive is refused."""
    return Text("Couldn't load package from file: {message}", message=reason)


def reason_of(text: str) -> str:
    """What `not_loaded` was made of; any other text as it is."""
    made = isinstance(text, Text) and text.template == not_loaded("").template
    return str(text.values["message"]) if made and isinstance(text, Text) else text


def _busy() -> float:
    """How many programs want a processor of this machine."""
    return min(MOST_TIMES, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


class _Process:
    """One process inside of the walls."""

    def __init__(self, owner: str, readable: Sequence[str]) -> None:
        self.owner = owner
        self._asked = 0
        self._busy = 0.0
        try:
            self._process = sandboxed_worker(
                sandboxed_workers.launcher(), "examine", readable, memory_mib=MEMORY, cpu_seconds=LIFE + LONGEST
            )  # fmt: skip
        except LauncherError as error:
            raise Unavailable(
                Text("the package cannot be examined: {message}", message=error.message), hint=error.hint
            ) from error

    @property
    def fresh(self) -> bool:
        """Whether it can take one more question: what it has used so far counts."""
        return self._asked < QUESTIONS and self._busy < LIFE

    def ask(
        self, head: dict[str, Any], blobs: Blobs, seconds: float
    ) -> tuple[dict[str, Any], list[bytes | memoryview]]:
        """The answer. Raises `TimeoutError`, `EOFError`, `ValueError`."""
        began = time.monotonic()
        self._asked += 1
        try:
            return exchange(self._process.stream, packed(head, blobs), seconds)
        finally:
            self._busy += time.monotonic() - began

    def close(self) -> None:
        """Ends it."""
        self._process.close()


class Pool:
    """The processes of this one, and whose turn it is to ask."""

    def __init__(self, size: int = CHILDREN) -> None:
        self._size = size
        self._kept: list[_Process] = []
        self._free = threading.Condition()
        self._busy: set[str] = set()
        self._waiting: Counter[str] = Counter()
        #: When it was an owner's turn the last time.
        self._turns: dict[str, float] = {}

    def ask(
        self,
        owner: str,
        head: dict[str, Any],
        blobs: Blobs = (),
        seconds: float = LONGEST,
        readable: Sequence[str] = (),
        *,
        fresh: bool = False,
    ) -> tuple[dict[str, Any], list[bytes | memoryview]]:
        """The answer of a process; ``owner`` waits while another question of the same owner is being answered.

        ``readable``: paths of packages that it may read. ``fresh``: the process has answered nothing before, and is not
        used again. Raises `Invalid` when the process takes too long or dies of the question, `Unavailable` when none
        can be had, `TooMany` when too many questions of the owner wait already, or it holds too many threads (`held`).
        """
        with held(owner):
            return self._answer(owner, head, blobs, seconds * _busy(), readable, fresh)

    def _answer(
        self, owner: str, head: dict[str, Any], blobs: Blobs, seconds: float, readable: Sequence[str], fresh: bool
    ) -> tuple[dict[str, Any], list[bytes | memoryview]]:
        until = time.monotonic() + 2 * seconds
        with self._free:
            self._wait(owner, 2 * seconds)
            self._busy.add(owner)
            again = head.get("op") in _OWN and not readable and not fresh
            kept = self._take(owner) if again else None
        process = kept
        try:
            if kept is not None:
                try:
                    answer, found = kept.ask(head, blobs, seconds)
                except EOFError:  # perhaps not because of this question
                    kept.close()
                    process = kept = None
            if kept is None:
                process = _Process(owner, readable)
                answer, found = process.ask(head, blobs, min(seconds, max(until - time.monotonic(), 1.0)))
        except TimeoutError:
            raise Invalid(
                not_loaded(Text("examining it took more than {seconds:g} seconds", seconds=round(seconds)))
            ) from None
        except (EOFError, ValueError):
            raise Invalid(not_loaded(Text("examining it took more memory than is allowed"))) from None
        else:
            if again and "defect" not in answer and process is not None:
                self._keep(process)
                process = None
        finally:
            if process is not None:
                process.close()
            with self._free:
                self._busy.discard(owner)
                self._free.notify_all()
        if "defect" in answer:
            if "trace" in answer:
                _log.error("a package could not be examined: %s", ascii(answer["trace"]).replace("\\n", "\n"))
            raise Invalid(not_loaded(decode_messages(answer)["defect"]))
        return answer, found

    def _take(self, owner: str) -> _Process | None:
        """The process that was kept for the owner. The lock is held."""
        for process in self._kept:
            if process.owner == owner:
                self._kept.remove(process)
                return process
        return None

    def _keep(self, process: _Process) -> None:
        """Keeps it for the next question of its owner, in the place of one that was not used for longest."""
        with self._free:
            if process.fresh:
                self._kept.append(process)
                process = self._kept.pop(0) if len(self._kept) > self._size else process
            if process in self._kept:
                return
        process.close()

    def close(self) -> None:
        """Ends the processes that are kept."""
        with self._free:
            kept, self._kept = self._kept, []
        for process in kept:
            process.close()

    def _wait(self, owner: str, seconds: float) -> None:
        """Until a child is free for the owner. The lock is held. Raises `Unavailable`, `TooMany`."""
        if self._waiting[owner] >= MOST_WAITING:
            text = Text("packages of this project are being examined, and others wait already")
            raise TooMany(text, hint=Text("send one after the other"), details={"retry_after": 10})
        if self._waiting[owner] and self._waiting.total() >= MOST_TOGETHER:
            raise Unavailable(Text("many packages are being examined; try again later"))
        self._waiting[owner] += 1
        try:
            if not self._free.wait_for(lambda: self._may(owner), timeout=seconds):
                raise Unavailable(Text("other packages are being examined; try again later"))
            if len(self._turns) > MOST_REMEMBERED:
                self._turns.clear()
            self._turns[owner] = time.monotonic()
        finally:
            self._waiting[owner] -= 1
            if not self._waiting[owner]:
                del self._waiting[owner]
            self._free.notify_all()  # whoever waited for this one's turn

    def _may(self, owner: str) -> bool:
        """Whether it is the owner's turn: whose last one was longest ago comes first. The lock is held."""
        if owner in self._busy or len(self._busy) >= self._size:
            return False
        before = self._turns.get(owner, 0.0)
        return all(before <= self._turns.get(other, 0.0) for other in self._waiting if other not in self._busy)


#: By process: a lock that a forked process inherits may be held by a thread that it has not.
_pools: dict[int, Pool] = {}


def pool() -> Pool:
    """The pool of this process."""
    found = _pools.get(os.getpid())
    if found is None:
        found = _pools.setdefault(os.getpid(), Pool())
        atexit.register(found.close)
    return found
