"""`Branch`, `Group` and `Mutexes`: lines of execution of a run, those awaited together, and who may be somewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import field
from typing import Any

from vetro.data_classes import dataclass


@dataclass(eq=False, slots=True)
class Branch:
    """One line of execution. ``path`` names it in effect keys: ``0``, ``0.2``…"""

    path: str
    #: The group the branch belongs to; None for the line everything begins with.
    group: Group | None = None
    depth: int = 0
    greenlet: Any = None
    effects: int = 0
    children: int = 0
    #: The group this branch waits for.
    awaits: Group | None = None
    #: As of its last suspension: frames of methods with locks, outermost first, and how often each lock is held.
    stack: list[tuple[Any, Any]] = field(default_factory=list)
    held: dict[Any, int] = field(default_factory=dict)
    #: The method lock the branch waits for.
    wants: Any = None

    @property
    def parent(self) -> Branch | None:
        """The branch that waits for this one."""
        return self.group.owner if self.group is not None else None

    def family(self) -> Iterator[Branch]:
        """The branch itself and those that wait for it."""
        current: Branch | None = self
        while current is not None:
            yield current
            current = current.parent

    def next_key(self) -> str:
        """Key of the branch's next effect: its path and a counter."""
        self.effects += 1
        return f"{self.path}/{self.effects}"

    def begin(self, path: str) -> None:
        """The runner takes another branch: counters start anew."""
        self.path = path
        self.effects = self.children = 0


@dataclass(eq=False, slots=True)
class Group:
    """Branches that are awaited together."""

    tasks: Sequence[Callable[[], Any]]
    owner: Branch
    limit: int
    #: Number of the first branch below the owner.
    first: int
    #: (True, result) or (False, error) for each task that ended.
    outcomes: list[tuple[bool, Any] | None]
    next: int = 0
    #: Runners that take branches, started or about to start.
    runners: dict[Branch, None] = field(default_factory=dict)
    #: A runner is about to start.
    starting: bool = False

    @property
    def exhausted(self) -> bool:
        """No branch is left to begin with."""
        return self.next >= len(self.tasks)

    def failure(self) -> BaseException | None:
        """The first failure in the order of the branches. Lets go of all outcomes: errors hold frames, frames us."""
        found = next((o[1] for o in self.outcomes if o is not None and not o[0]), None)
        if found is not None:
            self.outcomes.clear()
        return found

    def results(self) -> list[Any]:
        """What the branches gave, in their order."""
        return [outcome[1] for outcome in self.outcomes if outcome is not None]


class Mutexes:
    """Which branch holds which mutex, and which ones wait for it, first come first served."""

    def __init__(self) -> None:
        #: key -> the holder (None while everything ends) and those that wait.
        self._held: dict[Hashable, tuple[Branch | None, deque[Branch]]] = {}

    def take(self, key: Hashable, branch: Branch) -> bool:
        """True when ``branch`` holds the mutex from now on; False when it has been put into the queue."""
        holder, queue = self._held.get(key, (None, None))
        if holder is None:
            self._held[key] = (branch, queue if queue is not None else deque())
            return True
        assert queue is not None
        queue.append(branch)
        return False

    def holder(self, key: Hashable) -> Branch | None:
        """The branch that holds the mutex."""
        return self._held.get(key, (None, None))[0]

    def leave(self, key: Hashable, branch: Branch, *, pass_on: bool) -> Branch | None:
        """``branch`` holds the mutex, or waits for it, no more; the next holder, which is to be woken.

        Without ``pass_on`` nobody gets it: all who wait are being ended.
        """
        holder, queue = self._held[key]
        if holder is not branch:
            queue.remove(branch)
            following = holder
            woken = None
        else:
            following = woken = queue.popleft() if queue and pass_on else None
        if following is None and not queue:
            del self._held[key]
        else:
            self._held[key] = (following, queue)
        return woken
