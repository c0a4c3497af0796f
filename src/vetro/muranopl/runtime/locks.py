"""Method locks between parallel branches (SEMANTICS 7.6: a method never runs twice at once on one object).

Nothing is recorded while code runs. When a branch is suspended its own frames tell which methods it is inside of (only
frames that are new since its last suspension are looked at); a branch that enters a method asks the suspended ones.
Ancestors of the asking branch do not block it, and branches that wait for each other are found when the last of them
begins to wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from vetro.muranopl.errors import InvalidOperation
from vetro.muranopl.runtime.branches import Branch
from vetro.muranopl.runtime.context import let_go
from vetro.yaql.values import check_depth

#: Local of methods whose lock depends on arguments: their values when the method was entered.
SAVED = "k_"


class MethodLocks:
    """Which suspended branches are inside which methods, and which branches wait for them."""

    def __init__(self) -> None:
        self._holders: dict[Any, dict[Branch, None]] = {}
        self._waiters: dict[Any, deque[Branch]] = {}
        self._freed: dict[Any, None] = {}
        self._holding = 0

    # -- what the scheduler tells --------------------------------------------------------------------------------------

    def update(self, branch: Branch, frame: Any) -> None:
        """Notes what ``branch`` holds; ``frame`` is the innermost frame that may hold locks, None when it has ended."""
        stack = branch.stack
        known = {entry[0]: index for index, entry in enumerate(stack)} if stack and frame is not None else {}
        found: list[tuple[Any, Any]] = []
        keep = 0
        while frame is not None:
            if frame in known:
                keep = known[frame] + 1
                break
            lock = _held_in(frame)
            if lock is not None:
                found.append((frame, lock))
            frame = frame.f_back
        while len(stack) > keep:
            self._release(branch, stack.pop()[1])
        for entry in reversed(found):
            stack.append(entry)
            self._hold(branch, entry[1])

    def _hold(self, branch: Branch, lock: Any) -> None:
        held = branch.held
        if not held:
            self._holding += 1
        count = held[lock] = held.get(lock, 0) + 1
        if count == 1:
            self._holders.setdefault(lock, {})[branch] = None

    def _release(self, branch: Branch, lock: Any) -> None:
        held = branch.held
        held[lock] -= 1
        if held[lock]:
            return
        del held[lock]
        if not held:
            self._holding -= 1
        holders = self._holders[lock]
        del holders[branch]
        if not holders:
            del self._holders[lock]
        if lock in self._waiters:
            self._freed[lock] = None

    def matter(self, branch: Branch) -> bool:
        """Whether a suspended branch could block ``branch``, which is about to run."""
        if not self._holding:
            return False
        return self._holding > sum(1 for b in branch.family() if b.held)

    def wait(self, branch: Branch, lock: Any, *, again: bool) -> None:
        """Puts ``branch`` into the queue of ``lock``; at its head when it was woken in vain."""
        branch.wants = lock
        queue = self._waiters.setdefault(lock, deque())
        if again:
            queue.appendleft(branch)
        else:
            queue.append(branch)

    def entered(self, branch: Branch, lock: Any) -> None:
        """``branch`` stops waiting: the next in the queue may look when this one is suspended or ends."""
        branch.wants = None
        if lock in self._waiters:
            self._freed[lock] = None

    def wake(self) -> list[Branch]:
        """Branches whose lock has become free, at most one a lock. To be asked while no branch runs."""
        woken: list[Branch] = []
        while self._freed:
            lock = next(iter(self._freed))
            del self._freed[lock]
            queue = self._waiters.get(lock)
            if queue is None or any(holder.awaits is None for holder in self._holders.get(lock, ())):
                continue  # a holder that waits for no branches is no ancestor: it blocks everybody
            chosen = next((b for b in queue if not self.blocked(b, lock)), None)
            if chosen is not None:
                queue.remove(chosen)
                woken.append(chosen)
            if not queue:
                del self._waiters[lock]
        return woken

    def forget_waiters(self) -> None:
        """Everything ends: nobody waits for a lock any more."""
        self._waiters.clear()
        self._freed.clear()

    # -- who waits for whom --------------------------------------------------------------------------------------------

    def blocked(self, branch: Branch, lock: Any) -> bool:
        """Whether a branch other than the ancestors of ``branch`` is inside the method."""
        holders = self._holders.get(lock)
        if not holders:
            return False
        family = set(branch.family())
        return any(other not in family for other in holders)

    def refuse_cycle(self, branch: Branch, lock: Any, frame: Any) -> None:
        """Raises `InvalidOperation` when ``branch``, running in ``frame``, would wait for branches that wait for it."""
        self.update(branch, frame)
        branch.wants = lock
        cycle = self._path_back(branch)
        if cycle is None:
            return
        try:
            waiting = [b for b in cycle if b.wants is not None]
            names = "; ".join(f"branch {b.path} waits for {describe(b.wants)}" for b in waiting)
            error = InvalidOperation(
                f"methods of parallel branches wait for each other: {names}",
                hint="call the methods in the same order in all branches, or take the lock off one of them with the "
                "meta class Synchronize (onThis: false)",
            )
            for other in waiting:
                stack = _stack(frame if other is branch else other.greenlet.gr_frame)
                error.add_note(f"branch {other.path}: {' -> '.join(stack)}")
            raise error
        finally:
            branch.wants = None

    def _path_back(self, start: Branch) -> list[Branch] | None:
        """Branches from ``start`` around back to it, each waiting for the next one."""
        came: dict[Branch, Branch] = {}
        stack = [start]
        while stack:
            branch = stack.pop()
            for other in self._waited_for(branch):
                if other is start:
                    cycle = [branch]
                    while cycle[-1] is not start:
                        cycle.append(came[cycle[-1]])
                    return cycle[::-1]
                if other not in came:
                    came[other] = branch
                    stack.append(other)
        return None

    def _waited_for(self, branch: Branch) -> Iterator[Branch]:
        if branch.wants is not None:
            family = set(branch.family())
            yield from (b for b in self._holders.get(branch.wants, ()) if b not in family)
        elif branch.awaits is not None:
            yield from branch.awaits.runners


def lock_of(receiver: Any, key: Any, values: Any) -> Any:
    """The lock of a call, or None for methods without; ``values`` are the arguments the lock depends on."""
    if not key.args:
        return (key.owner, key.name, receiver, ()) if key.on_this else None
    arguments = tuple([_identity(value) for value in values])
    return (key.owner, key.name, receiver if key.on_this else None, arguments)


def _identity(value: Any) -> Any:
    """Objects are compared by identity, plain values by value."""
    check_depth(value)  # Python's hash recurses without looking at the stack
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _held_in(frame: Any) -> Any:
    """The lock that the method of ``frame`` holds, None if it is no method or has no lock."""
    space = frame.f_globals
    key = space.get("__lock__")
    if key is None or space.get("__code__") is not frame.f_code or not (key.on_this or key.args):
        return None
    local = frame.f_locals
    receiver, saved = local.get("self"), local.get(SAVED)
    let_go(local)
    if key.args and saved is None:
        return None  # the method is still looking at its arguments
    return lock_of(receiver, key, saved)


def describe(lock: Any) -> str:
    """The lock in words."""
    owner, name, receiver, arguments = lock
    text = f"{owner.split('/')[0]}::{name}"
    if receiver is not None:
        text += f" of {receiver!r}"
    if arguments:
        text += f" for {', '.join(map(repr, arguments))}"
    return text


def _stack(frame: Any) -> list[str]:
    """Methods of a suspended branch, outermost first, with the line each has reached."""
    found: list[str] = []
    while frame is not None:
        owner = frame.f_globals.get("__murano__")
        if owner is not None and frame.f_globals.get("__code__") is frame.f_code:
            found.append(f"{owner.name}::{frame.f_code.co_name} in line {frame.f_lineno}")
        frame = frame.f_back
    return found[::-1]
