"""Branches of `Parallel` and `pselect`: greenlets on one thread, switched only at effects, `sleep` and method locks.

A group starts with one runner that takes branches from a queue; another runner is started only when a branch waits, so
branches that never wait cost a call each and the order is a function of the program and the answers. The hub is a
greenlet that exists only while somebody waits.

Locks (SEMANTICS 7.6: a method never runs twice at once on one object) are not recorded while one branch is live. When a
branch is suspended its own frames tell which methods it is inside of; a branch that enters a method asks the suspended
ones. Ancestors of the asking branch do not block it.
"""

from __future__ import annotations

import heapq
import queue
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent, greenlet

from vetro.muranopl.errors import InvalidOperation

if TYPE_CHECKING:
    from vetro.muranopl.execution import MuranoExecution

#: Threads that wait for outside effects of one session.
EFFECT_THREADS = 64


@dataclass(eq=False, slots=True)
class Branch:
    """One line of execution. ``path`` names it in effect keys: ``0``, ``0.2``…"""

    path: str
    parent: Branch | None
    greenlet: Any = None
    effects: int = 0
    children: int = 0
    #: Locks held while suspended: (lock, receiver, argument values).
    held: frozenset[Any] = frozenset()
    wants: Any = None

    def ancestors(self) -> set[Branch]:
        """The branch itself and those that wait for it."""
        found: set[Branch] = set()
        current: Branch | None = self
        while current is not None:
            found.add(current)
            current = current.parent
        return found

    def next_key(self) -> str:
        """Key of the branch's next effect: its path and a counter."""
        self.effects += 1
        return f"{self.path}/{self.effects}"


@dataclass(eq=False, slots=True)
class Group:
    """Branches that are awaited together."""

    tasks: Sequence[Callable[[], Any]]
    owner: Branch
    limit: int
    outcomes: list[tuple[bool, Any] | None]
    next: int = 0
    running: int = 0
    done: int = 0
    paths: int = 0
    waiting: bool = False
    stop: BaseException | None = None
    branches: list[Branch] = field(default_factory=list)


class Scheduler:
    """Runs groups of branches for one session."""

    def __init__(self, rt: MuranoExecution) -> None:
        self.rt = rt
        self.root = Branch("0", None)
        self.current = self.root
        self._hub: greenlet | None = None
        self._ready: deque[Branch] = deque()
        self._timers: list[tuple[float, int, Branch]] = []
        self._timer_count = 0
        self._groups: list[Group] = []
        self._lock_waiters: list[Branch] = []
        self._suspended: dict[Branch, None] = {}
        self._finished: queue.SimpleQueue[tuple[Branch, Future[Any]]] = queue.SimpleQueue()
        self._outside = 0
        self._pool: ThreadPoolExecutor | None = None

    # -- what the language calls ---------------------------------------------------------------------------------------

    def parallel(self, branches: tuple[Callable[[], Any], ...], limit: Any) -> Any:
        """Runs the branches of a `Parallel` block; the value a branch returned (as 1-tuple), or None."""
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
            raise InvalidOperation(f"Limit of Parallel must be a positive integer, got {limit!r}")
        for value in self.gather(list(branches), limit):
            if value is not None:
                return value
        return None

    def map(self, function: Callable[[Any], Any], items: Iterable[Any], limit: int | None = None) -> tuple[Any, ...]:
        """``pselect``: results in the order of the items."""
        tasks = [partial(function, item) for item in items]
        return tuple(self.gather(tasks, limit))

    def gather(self, tasks: Sequence[Callable[[], Any]], limit: int | None = None) -> list[Any]:
        """Runs all tasks, waits for all, then raises the first failure in list order or gives the results."""
        if not tasks:
            return []
        owner = self.current
        group = Group(tasks, owner, limit or len(tasks), [None] * len(tasks))
        group.paths = owner.children
        owner.children += len(tasks)
        self._groups.append(group)
        try:
            self._start_runner(group)
            group.waiting = True
            while group.done < len(tasks) and group.stop is None:
                self._suspend(owner)
        finally:
            self._groups.remove(group)
            self.current = owner
            self._relax()
        if group.stop is not None:
            raise group.stop
        results = []
        for outcome in group.outcomes:
            assert outcome is not None
            if not outcome[0]:
                raise outcome[1]
            results.append(outcome[1])
        return results

    def sleep(self, seconds: float) -> None:
        """Suspends the branch on the task's clock."""
        branch = self.current
        self._timer_count += 1
        heapq.heappush(self._timers, (self.rt.task_clock.now() + max(seconds, 0.0), self._timer_count, branch))
        self._suspend(branch)

    def perform(self, action: Callable[[], Any]) -> Any:
        """Runs a blocking outside effect; other branches go on meanwhile."""
        branch = self.current
        if not self._others(branch):
            return action()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(EFFECT_THREADS, thread_name_prefix="vetro-effect")
        future = self._pool.submit(action)
        self._outside += 1
        future.add_done_callback(lambda done: self._finished.put((branch, done)))
        self._suspend(branch)
        return future.result()

    def close(self) -> None:
        """Ends the effect threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    # -- locks ---------------------------------------------------------------------------------------------------------

    def enter(self, receiver: Any, key: Any, frame: Any) -> None:
        """Waits until no other branch is inside the same method of the same object."""
        lock = _lock_of(receiver, key, frame.f_locals)
        if lock is None:
            return
        branch = self.current
        while self._blocked(branch, lock):
            branch.wants = lock
            self._lock_waiters.append(branch)
            self._suspend(branch)
        branch.wants = None

    def _blocked(self, branch: Branch, lock: Any) -> bool:
        family = branch.ancestors()
        return any(lock in other.held and other not in family for other in self._suspended)

    def _wake_lock_waiters(self) -> None:
        for branch in list(self._lock_waiters):
            if not self._blocked(branch, branch.wants):
                self._lock_waiters.remove(branch)
                self._ready.append(branch)

    # -- switching -----------------------------------------------------------------------------------------------------

    def _others(self, branch: Branch) -> bool:
        return bool(self._groups) or branch is not self.root

    def _start_runner(self, group: Group) -> None:
        group.running += 1
        runner = Branch("", group.owner)
        runner.greenlet = greenlet(lambda: self._run(group, runner))
        self._ready.append(runner)

    def _run(self, group: Group, runner: Branch) -> None:
        """Body of a runner: takes branches until none is left."""
        while group.next < len(group.tasks) and group.stop is None:
            index = group.next
            group.next += 1
            runner.path = f"{group.owner.path}.{group.paths + index}"
            runner.effects = runner.children = 0
            try:
                group.outcomes[index] = (True, group.tasks[index]())
            except Exception as error:
                group.outcomes[index] = (False, error)
            except BaseException as error:
                group.stop = error
            group.done += 1
        group.running -= 1
        if group.done == len(group.tasks) or group.stop is not None:
            self._ready.append(group.owner)

    def _suspend(self, branch: Branch) -> None:
        """Leaves the branch until the hub resumes it."""
        branch.greenlet = getcurrent()
        branch.held = _held_by(sys._getframe(1))
        self._suspended[branch] = None
        if self._hub is None or self._hub.dead:
            self._hub = greenlet(self._loop)
        if self._lock_waiters:
            self._wake_lock_waiters()
        failure = self._hub.switch()
        self._suspended.pop(branch, None)
        branch.held = frozenset()
        self.current = branch
        if isinstance(failure, BaseException):
            raise failure

    def _loop(self) -> None:
        """The hub: resumes ready branches in order, starts runners for those that wait, waits for clock and effects."""
        while True:
            self._expand()
            if self._ready:
                self._resume(self._ready.popleft())
                continue
            self._collect(block=False)
            if self._ready:
                continue
            if self._wait():
                continue
            self._fail_deadlock()

    def _resume(self, branch: Branch) -> None:
        self.current = branch
        self.rt.set_concurrent(len(self._suspended) > 1 or branch not in self._suspended)
        branch.greenlet.switch()
        if self._lock_waiters:
            self._wake_lock_waiters()

    def _expand(self) -> None:
        """One more runner for each group whose runners all wait."""
        for group in self._groups:
            if not group.waiting or group.stop is not None or group.next >= len(group.tasks):
                continue
            idle = not any(b for b in self._ready if b.parent is group.owner)
            if group.running < group.limit and idle:
                self._start_runner(group)

    def _collect(self, block: bool, timeout: float | None = None) -> None:
        while self._outside:
            try:
                branch, _ = self._finished.get(block=block, timeout=timeout)
            except queue.Empty:
                return
            self._outside -= 1
            self._ready.append(branch)
            block = False

    def _wait(self) -> bool:
        """Waits for the next timer or effect; False when there is nothing to wait for."""
        if self._timers:
            due = self._timers[0][0]
            pause = due - self.rt.task_clock.now()
            if pause > 0 and self._outside:
                self._collect(block=True, timeout=pause if self.rt.task_clock.real else None)
                if self._ready:
                    return True
            if pause > 0:
                self.rt.task_clock.advance(pause)
            now = max(self.rt.task_clock.now(), due)
            while self._timers and self._timers[0][0] <= now:
                self._ready.append(heapq.heappop(self._timers)[2])
            return True
        if self._outside:
            self._collect(block=True)
            return True
        return False

    def _fail_deadlock(self) -> None:
        """Branches that wait for each other's locks: the first one gets the error."""
        blocked = self._lock_waiters
        if not blocked:
            raise AssertionError("nothing is left to run, and nobody waits")
        names = "; ".join(f"branch {b.path} waits for {_describe(b.wants)}" for b in blocked)
        branch = self._lock_waiters.pop(0)
        self.current = branch
        branch.greenlet.switch(InvalidOperation(f"methods of parallel branches wait for each other: {names}"))

    def _relax(self) -> None:
        """Back to one live branch: no lock checks any more."""
        if not self._groups:
            self.rt.set_concurrent(False)


def _lock_of(receiver: Any, key: Any, values: Any) -> Any:
    if not key.on_this and not key.args:
        return None
    arguments = tuple(_identity(values.get("v_" + name)) for name in key.args)
    return (key.owner, key.name, _identity(receiver) if key.on_this else None, arguments)


def _identity(value: Any) -> Any:
    """Locks compare objects by identity and plain values by value."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _held_by(frame: Any) -> frozenset[Any]:
    """Locks of the methods on a stack."""
    found = set()
    while frame is not None:
        space = frame.f_globals
        key = space.get("__lock__")
        if key is not None and space.get("__code__") is frame.f_code:
            values = frame.f_locals
            lock = _lock_of(values.get("self"), key, values)
            if lock is not None:
                found.add(lock)
        frame = frame.f_back
    return frozenset(found)


def _describe(lock: Any) -> str:
    owner, name, receiver, _ = lock
    return f"{owner.split('/')[0]}::{name} of {receiver!r}"
