"""How a session reaches its `Effects`: which effects let other branches go on, and in which order they are answered."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, Protocol, runtime_checkable

from vetro.muranopl.runtime.branches import Branch
from vetro.muranopl.runtime.outside import Outside
from vetro.muranopl.runtime.scheduler import Scheduler
from vetro.yaql.errors import Cancelled

#: Kinds that are answered at once: the branch goes on, no other one gets a turn. A run and its replay must agree on it.
QUICK: Final = frozenset(
    {
        *("report", "log", "track", "identity", "execution", "agent.listen", "agent.key"),
        *("clock", "entropy", "secret"),
    }
)


@runtime_checkable
class PostingEffects(Protocol):
    """Effects that are messages: they are sent, and their answers arrive later, one after the other.

    The order of the answers is the order in which branches go on; no thread and no clock has a say in it.
    """

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        """See `vetro.muranopl.runtime.effects.Effects.perform`: sends, and waits unless nobody waits for this kind."""
        ...  # pragma: no cover - protocol

    def waits(self, kind: str) -> bool:
        """Whether other branches go on while an effect of this kind is under way."""
        ...  # pragma: no cover - protocol

    def begin(self, key: str, kind: str, args: dict[str, Any]) -> None:
        """Sends the effect; `next_answer` gives its answer. Raises what the package shall see."""
        ...  # pragma: no cover - protocol

    def next_answer(self) -> tuple[str, Callable[[], Any]] | None:
        """Waits for an answer: the key, and a callable that returns the answer or raises. None: look at the run."""
        ...  # pragma: no cover - protocol


class EffectsHost:
    """The effects of one session.

    Besides ``perform`` the implementation may have: ``threads`` (False: its answers are there at once, no thread is
    needed), ``rank(key)`` (answers are delivered in this order) and ``delivered(key)`` (called when the branch has got
    its answer); or it is one of `PostingEffects`.
    """

    def __init__(self, effects: Any) -> None:
        self.effects = effects
        self._posting = effects if isinstance(effects, PostingEffects) else None
        self._threads = bool(getattr(effects, "threads", True))
        self._rank = getattr(effects, "rank", None)
        self._delivered = getattr(effects, "delivered", None)

    @property
    def in_order(self) -> bool:
        """Whether the host says in which order its answers are delivered."""
        return self._rank is not None

    def outside(self) -> Outside:
        """What keeps a scheduler's effects that are under way."""
        return Outside() if self._posting is None else PostedOutside(self._posting.next_answer)

    def perform(self, scheduler: Scheduler, key: str, kind: str, args: dict[str, Any]) -> Any:
        """Performs one effect; raises what the host raises."""
        if self._posting is not None:
            try:
                return scheduler.perform(Posted(self._posting, key, kind, args), waits=self._posting.waits(kind))
            except Cancelled:
                scheduler.rt.told()
                raise
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


class Posted:
    """One effect that can be performed at once (called), or sent now and answered later."""

    __slots__ = ("_effects", "args", "key", "kind")

    def __init__(self, effects: PostingEffects, key: str, kind: str, args: dict[str, Any]) -> None:
        self._effects = effects
        self.key = key
        self.kind = kind
        self.args = args

    def __call__(self) -> Any:
        """The answer. Raises what the host says."""
        return self._effects.perform(self.key, self.kind, self.args)

    def post(self) -> None:
        """Sends the effect."""
        self._effects.begin(self.key, self.kind, self.args)


class PostedOutside(Outside):
    """`Outside` without threads: effects that were sent and not answered. ``receive`` waits for the next answer."""

    def __init__(self, receive: Callable[[], tuple[str, Callable[[], Any]] | None]) -> None:
        super().__init__()
        self._receive = receive
        self._sent: dict[str, tuple[Branch, Future[Any]]] = {}

    def __len__(self) -> int:
        return len(self._sent)

    def begin(self, branch: Branch, action: Callable[[], Any], rank: float, threads: bool) -> Future[Any]:
        """Sends ``action``, a `Posted`, for ``branch``."""
        future: Future[Any] = Future()
        action.post()  # type: ignore[attr-defined]
        self._sent[action.key] = (branch, future)  # type: ignore[attr-defined]
        return future

    def take(self, timeout: float | None, in_order: bool) -> Branch | None:
        """The branch whose answer was received next; None when the run has to look at cancellation."""
        while self._sent:
            received = self._receive()
            if received is None:
                return None
            key, answer = received
            found = self._sent.pop(key, None)
            if found is None:
                continue  # the branch was ended meanwhile
            branch, future = found
            try:
                future.set_result(answer())
            except Exception as error:
                future.set_exception(error)
            return branch
        return None

    def pause(self, seconds: float) -> None:
        """Never: time passes by effects."""
        raise AssertionError("a run whose effects are messages has no clock of its own")

    def wake(self) -> None:
        """Nothing waits but the receiver, and what it receives wakes it."""

    def forget(self) -> None:
        """Nobody waits for what is under way any more."""
        super().forget()
        self._sent.clear()
