"""Branches of `Parallel` and `pselect`: greenlets on one thread, switched only at effects, `sleep` and method locks.

A group starts with one runner that takes branches from a queue; another runner is started only when a branch waits, so
branches that never wait cost a call each. Everything is done one at a time and in order: what is ready runs until it
waits; only when nothing is ready one answer is delivered or one timer fires. So the order is a function of the program
and the answers. The hub, which does that, is a greenlet that exists only while somebody waits.

What package code may not outlive (`Stop`, an interrupt) ends all branches: each is resumed once to run its `Finally`
blocks, none may wait any more, and the failure is raised where the outermost group was started.
"""

from __future__ import annotations

import heapq
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent, greenlet

from vetro.muranopl.errors import InvalidOperation, NestingLimit
from vetro.muranopl.runtime.branches import Branch, Group, Mutexes
from vetro.muranopl.runtime.locks import SAVED, MethodLocks, lock_of
from vetro.muranopl.runtime.outside import Outside
from vetro.yaql.brief import brief
from vetro.yaql.errors import Cancelled

if TYPE_CHECKING:
    from vetro.muranopl.runtime.execution import MuranoExecution

#: How deep groups may be started inside of branches: each level is a greenlet with a stack of its own.
MAX_GROUPS = 1_000
#: Seconds somebody may sleep: a thousand years.
LONGEST_SLEEP = 3.2e10


class Scheduler:
    """Runs groups of branches for one session."""

    def __init__(self, rt: MuranoExecution, *, in_order: bool = False, outside: Outside | None = None) -> None:
        self.rt = rt
        self._in_order = in_order or not rt.task_clock.real
        self.root = Branch("0")
        self.current = self.root
        self._hub: Any = None
        self._ready: deque[Branch] = deque()
        self._parked: dict[Branch, None] = {}
        self._timers: list[tuple[float, int, Branch]] = []
        self._timer_count = 0
        self._groups: dict[Group, None] = {}
        self._locks = MethodLocks()
        self._mutexes = Mutexes()
        self._outside = Outside() if outside is None else outside
        self._stopping: BaseException | None = None
        self._victims: deque[Branch] = deque()

    # -- what the language calls ---------------------------------------------------------------------------------------

    def parallel(self, branches: tuple[Callable[[], Any], ...], limit: Any) -> Any:
        """Runs the branches of a `Parallel` block; the value a branch returned (as 1-tuple), or None."""
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
            raise InvalidOperation(f"Limit of Parallel must be a positive integer, got {brief(limit)}")
        for value in self.gather(branches, limit):
            if value is not None:
                return value
        return None

    def map(self, function: Callable[[Any], Any], items: Iterable[Any], limit: int | None = None) -> tuple[Any, ...]:
        """``pselect``: results in the order of the items."""
        return tuple(self.gather([partial(function, item) for item in items], limit))

    def gather(self, tasks: Sequence[Callable[[], Any]], limit: int | None = None) -> list[Any]:
        """Runs all tasks, waits for all, then raises the first failure in list order or gives the results."""
        if not tasks:
            return []
        self._check()
        owner = self.current
        if owner.depth >= MAX_GROUPS:
            raise NestingLimit(f"Parallel and pselect are nested deeper than {MAX_GROUPS} levels")
        group = Group(tasks, owner, limit or len(tasks), owner.children, [None] * len(tasks))
        owner.children += len(tasks)
        owner.awaits = group
        self._groups[group] = None
        try:
            self._start_runner(group)
            self._suspend(owner, sys._getframe(1))
        finally:
            owner.awaits = None
            del self._groups[group]
            stopping = self._stopping
            if not self._groups:
                self._stopping = None
                self._locks.update(owner, None)
        if stopping is not None:
            raise stopping
        failure = group.failure()
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # its traceback holds this frame
        return group.results()

    def sleep(self, seconds: float) -> None:
        """Suspends the branch on the task's clock. Raises `InvalidOperation` for a time without end."""
        self._check()
        if not seconds <= LONGEST_SLEEP:
            raise InvalidOperation(f"cannot sleep for {brief(seconds)} seconds")
        asleep = getattr(self.rt.task_clock, "sleep", None)
        if asleep is not None:  # the host's clock: waiting on it is an effect
            asleep(max(seconds, 0))
            return
        due = self.rt.task_clock.now() + max(seconds, 0)
        if not self._groups:
            self._pass_until(due)
            return
        branch = self.current
        self._timer_count += 1
        heapq.heappush(self._timers, (due, self._timer_count, branch))
        self._suspend(branch, sys._getframe(1))

    def perform(self, action: Callable[[], Any], *, waits: bool = True, rank: float = 0.0, threads: bool = True) -> Any:
        """Performs an outside effect. If it ``waits`` other branches go on meanwhile.

        ``rank`` puts answers into an order, see `Outside`; without ``threads`` the action is called at once, and only
        its answer is delivered later.
        """
        self._check()
        if not waits or not self._groups:
            return action()
        future = self._outside.begin(self.current, action, rank, threads)
        self._suspend(self.current, sys._getframe(1))
        return future.result()

    def enter(self, receiver: Any, key: Any, frame: Any) -> None:
        """Waits until no other branch is inside the same method of the same object. ``frame`` is the method's.

        Raises `InvalidOperation` instead of waiting for a branch that waits for this one.
        """
        lock = lock_of(receiver, key, frame.f_locals.get(SAVED) if key.args else None)
        if lock is None:
            return
        branch, waited = self.current, False
        while self._locks.blocked(branch, lock):
            self._check()
            self._locks.refuse_cycle(branch, lock, frame.f_back)
            self._locks.wait(branch, lock, again=waited)
            waited = True
            self._suspend(branch, frame.f_back)
        if waited:
            self._locks.entered(branch, lock)

    @contextmanager
    def mutex(self, key: Hashable) -> Iterator[None]:
        """One branch at a time is inside; the others wait and come in the order in which they came here.

        Raises `InvalidOperation` for a branch that is inside already.
        """
        branch = self.current
        if self._mutexes.holder(key) is branch:
            raise InvalidOperation(f"the branch holds {brief(key)} already")
        if not self._mutexes.take(key, branch):
            try:
                self._check()
                self._suspend(branch, sys._getframe(1))
            except BaseException:
                self._leave(key, branch)
                raise
        try:
            yield
        finally:
            self._leave(key, branch)

    def _leave(self, key: Hashable, branch: Branch) -> None:
        following = self._mutexes.leave(key, branch, pass_on=self._stopping is None)
        if following is not None:
            self._ready.append(following)

    def let_go(self) -> None:
        """Forgets the frames of methods that have ended: the garbage collection counts references."""
        if self.current.stack:
            self._locks.update(self.current, sys._getframe(1))

    def wake(self) -> None:
        """Makes a waiting run look at cancellation and time. May be called from any thread."""
        self._outside.wake()

    def close(self) -> None:
        """Ends the effect threads."""
        self._outside.close()

    # -- branches ------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Raises when nothing may be begun any more."""
        if self._stopping is not None:
            raise Cancelled("the run is being stopped")
        self.rt.check()

    def _start_runner(self, group: Group) -> None:
        if self._hub is None or self._hub.dead:
            self._hub = greenlet(self._loop)
        runner = Branch("", group, group.owner.depth + 1)
        runner.greenlet = greenlet(partial(self._run, group, runner), self._hub)
        group.runners[runner] = None
        group.starting = True
        self._ready.append(runner)

    def _run(self, group: Group, runner: Branch) -> None:
        """Body of a runner: takes branches until none is left."""
        group.starting = False
        self.current = runner
        self.rt.set_concurrent(self._locks.matter(runner))
        while not group.exhausted and self._stopping is None:
            index = group.next
            group.next += 1
            runner.begin(f"{group.owner.path}.{group.first + index}")
            try:
                group.outcomes[index] = (True, group.tasks[index]())
            except Exception as error:
                group.outcomes[index] = (False, error)
            except BaseException as error:
                self._stop(error)
            if runner.stack:
                self._locks.update(runner, None)
            if len(group.runners) > 1 and group.limit < len(group.tasks) and not group.exhausted:
                self._give_way(runner)
        del group.runners[runner]
        runner.greenlet = None
        if not group.runners:
            self._ready.append(group.owner)

    def _give_way(self, runner: Branch) -> None:
        """Lets the other branches go on before the place that became free is taken (SEMANTICS 9).

        Twice, as Murano did: once until its group noticed the free place, once until the next branch began.
        """
        for _ in range(2):
            if self._stopping is not None:
                return
            if self._timers:
                self._timer_count += 1
                heapq.heappush(self._timers, (self.rt.task_clock.now(), self._timer_count, runner))
            else:
                self._ready.append(runner)
            try:
                self._suspend(runner, None)
            except Cancelled:
                return

    def _suspend(self, branch: Branch, frame: Any) -> None:
        """Leaves the branch until the hub resumes it. ``frame`` is the innermost one that may hold method locks."""
        branch.greenlet = getcurrent()
        self._locks.update(branch, frame)
        self._parked[branch] = None
        group = branch.group
        if group is not None and not (group.exhausted or group.starting) and len(group.runners) < group.limit:
            self._start_runner(group)
        failure = self._hub.switch()
        del self._parked[branch]
        self.current = branch
        self.rt.set_concurrent(self._locks.matter(branch))
        if failure is not None:
            raise failure

    # -- the hub -------------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        """Resumes one branch after the other. Ends when the line everything began with goes on."""
        while True:
            try:
                branch, failure = self._next()
            except BaseException as error:  # an interrupt, the time limit, cancellation
                if self._stopping is not None and isinstance(error, AssertionError):
                    raise
                self._stop(error)
                continue
            if branch is self.root:
                return
            branch.greenlet.switch(*failure)

    def _next(self) -> tuple[Branch, tuple[Any, ...]]:
        """The branch to resume, and what to give it."""
        while True:
            if self._victims:
                return self._victims.popleft(), (Cancelled("the run is being stopped"),)
            self._ready.extend(self._locks.wake())
            if self._ready:
                branch = self._ready.popleft()
                return branch, (None,) if branch in self._parked else ()
            self.rt.check()
            self._wait()

    def _wait(self) -> None:
        """Delivers the next answer, or lets the next timer fire."""
        clock = self.rt.task_clock
        if not self._timers and not len(self._outside):
            raise AssertionError("nothing is left to run, and nobody waits")
        pause = max(self._timers[0][0] - clock.now(), 0.0) if self._timers else None
        # Effects take no time on a virtual clock: all answers come before the next timer.
        timeout = pause if clock.real else None
        if len(self._outside):
            branch = self._outside.take(timeout, self._in_order)
            if branch is not None:
                self._ready.append(branch)
                return
        elif pause and clock.real:
            self._outside.pause(pause)
        elif pause:
            clock.advance(pause)
            pause = 0.0
        if self._timers and (pause == 0 or self._timers[0][0] <= clock.now()):
            self._ready.append(heapq.heappop(self._timers)[2])

    def _pass_until(self, due: float) -> None:
        """Lets time pass while there is only one branch."""
        clock = self.rt.task_clock
        while (pause := due - clock.now()) > 0:
            if not clock.real:
                clock.advance(pause)
                return
            self._outside.pause(pause)
            self.rt.check()

    def _stop(self, error: BaseException) -> None:
        """Begins to end all branches; ``error`` is raised where the outermost group was started."""
        if self._stopping is None:
            self._stopping = error
        self._timers.clear()
        self._outside.forget()
        self._locks.forget_waiters()
        self._victims = deque(b for b in self._parked if b.awaits is None)
        for branch in self._victims:
            branch.wants = None
        self._ready.clear()
        for group in self._groups:  # runners that did not start, and those who wait for nobody any more
            if not group.runners:
                self._ready.append(group.owner)
            self._ready.extend(b for b in group.runners if b not in self._parked and not b.greenlet)
