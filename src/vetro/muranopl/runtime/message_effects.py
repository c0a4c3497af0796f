"""Outside effects that are messages: `Outside` without threads, whose answers come in the order they are received."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from vetro.muranopl.runtime.branches import Branch
from vetro.muranopl.runtime.outside import Outside


class PostedOutside(Outside):
    """Effects that were sent and not answered. ``receive`` waits for the next answer (`hosting.PostingEffects`)."""

    def __init__(self, receive: Callable[[], tuple[str, Callable[[], Any]] | None]) -> None:
        super().__init__()
        self._receive = receive
        self._sent: dict[str, tuple[Branch, Future[Any]]] = {}

    def __len__(self) -> int:
        return len(self._sent)

    def begin(self, branch: Branch, action: Callable[[], Any], rank: float, threads: bool) -> Future[Any]:
        """Sends ``action``, a `hosting.Posted`, for ``branch``."""
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
