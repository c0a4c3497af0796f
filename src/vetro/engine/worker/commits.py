"""`Commits`: when what was written is committed, and what is let out after that."""

from __future__ import annotations

from collections.abc import Callable

#: Seconds after which what nobody waits for is committed: results that only were read, and notes. A task that reports
#: ten times in a row costs one commit.
SOON = 0.02
#: The same for the beginning of a process, which who looks at the task is told: it is committed with the first effect
#: of a task that does not compute first.
BEGIN = 1.0


class Commits:
    """``commit`` makes what was written durable; ``now`` is a monotonic clock."""

    def __init__(self, commit: Callable[[], None], now: Callable[[], float]) -> None:
        self._commit = commit
        self._now = now
        #: What is let out after the next commit, in this order.
        self._then: list[Callable[[], None]] = []
        #: When the next commit is made at the latest; None: nothing needs one.
        self._by: float | None = None
        #: Whether something waits for the next commit: it is made in this turn of the loop.
        self.awaited = False

    def after(self, action: Callable[[], None]) -> None:
        """Does something after the next commit, which is made in this turn."""
        self._then.append(action)
        self.awaited = True

    def after_soon(self, action: Callable[[], None]) -> None:
        """Does something after the next commit, which need not be made at once."""
        self._then.append(action)
        self.soon()

    def soon(self) -> None:
        """Nothing waits for what was written: it is committed with the next commit, or after `SOON` seconds."""
        self._within(SOON)

    def begun(self) -> None:
        """The same for the beginning of a process: `BEGIN`."""
        self._within(BEGIN)

    def _within(self, seconds: float) -> None:
        by = self._now() + seconds
        self._by = by if self._by is None else min(self._by, by)

    def wait(self, now: float) -> float | None:
        """Seconds until a commit is due; None while none is. Negative ones have passed."""
        return None if self._by is None else self._by - now

    def due(self) -> bool:
        """Whether to commit now."""
        return self.awaited or (self._by is not None and self._now() >= self._by)

    def commit(self) -> None:
        """Commits, then lets out what waited for it. Raises `LeaseLost`."""
        self._commit()
        self.let_out()

    def let_out(self) -> None:
        """What waited for the commit that was just made."""
        self._by, self.awaited = None, False
        then, self._then = self._then, []
        for action in then:
            action()
