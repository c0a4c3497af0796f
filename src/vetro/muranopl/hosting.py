"""How a session reaches its `Effects`: which effects let other branches go on, and in which order they are answered."""

from __future__ import annotations

from typing import Any, Final

from vetro.muranopl.scheduler import Scheduler

#: Kinds that are answered at once: the branch goes on, no other one gets a turn. A run and its replay must agree on it.
QUICK: Final = frozenset({"report", "log", "track", "identity", "execution", "agent.listen", "clock", "entropy"})


class EffectsHost:
    """The effects of one session.

    Besides ``perform`` the implementation may have: ``threads`` (False: its answers are there at once, no thread is
    needed), ``rank(key)`` (answers are delivered in this order) and ``delivered(key)`` (called when the branch has got
    its answer).
    """

    def __init__(self, effects: Any) -> None:
        self.effects = effects
        self._threads = bool(getattr(effects, "threads", True))
        self._rank = getattr(effects, "rank", None)
        self._delivered = getattr(effects, "delivered", None)

    @property
    def in_order(self) -> bool:
        """Whether the host says in which order its answers are delivered."""
        return self._rank is not None

    def perform(self, scheduler: Scheduler, key: str, kind: str, args: dict[str, Any]) -> Any:
        """Performs one effect; raises what the host raises."""
        rank = 0.0 if self._rank is None else self._rank(key)
        try:
            return scheduler.perform(
                lambda: self.effects.perform(key, kind, args),
                waits=kind not in QUICK,
                rank=rank,
                threads=self._threads,
            )
        finally:
            if self._delivered is not None:
                self._delivered(key)
