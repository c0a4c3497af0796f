"""`Outbox`: hands plans over to a channel, and acknowledges answers, in the order in which they were asked for.

One thread does it for all plans of an environment. What waits when it looks is handed over together: a channel that
keeps its messages in a file writes them down once for all (`SendsBatches`), and nobody is told before that is done.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from vetro.clouds.interface import CloudError
from vetro.clouds.messages import Channel, Message
from vetro.data_classes import dataclass

log = logging.getLogger(__name__)

#: Messages that are handed over together at most: others who use the file wait that long.
MOST_IN_BATCH = 256
#: Seconds that closing waits for a channel that does not take what it gets.
_PATIENCE = 5.0


@runtime_checkable
class SendsBatches(Protocol):
    """A channel that can write down several messages at once."""

    def batch(self) -> AbstractContextManager[None]:
        """All that is sent and acknowledged in the block is written down at its end; nothing of it when that fails."""
        ...  # pragma: no cover - protocol


@dataclass(frozen=True, slots=True)
class _Item:
    queue: str
    #: Makes the message; the text is the id of a message to acknowledge instead.
    what: Callable[[], Message | None] | str
    done: Callable[[Exception | None], None]


class Outbox:
    """Sends to ``channel`` from a thread of its own, which is started by the first message."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._batches = channel if isinstance(channel, SendsBatches) else None
        self._lock = threading.Condition()
        self._items: deque[_Item] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False

    def send(self, queue: str, make: Callable[[], Message | None], done: Callable[[Exception | None], None]) -> None:
        """Sends what ``make`` gives, nothing where it gives None; ``done`` is told on the thread how that ended."""
        self._put(_Item(queue, make, done))

    def acknowledge(self, queue: str, id: str) -> None:
        """Acknowledges an answer; later, together with others, where the channel can do that.

        One that is lost with this process comes again and is acknowledged by whoever gets it.
        """
        if self._batches is None:
            self._channel.acknowledge(queue, id)
        else:
            self._put(_Item(queue, id, _log))

    def close(self) -> None:
        """Hands over what is left and ends the thread. A channel that takes nothing is given up after a while."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE)

    def _put(self, item: _Item) -> None:
        with self._lock:
            if not self._closed:
                self._items.append(item)
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="vetro agent plans", daemon=True)
                    self._thread.start()
                elif len(self._items) == 1:
                    self._lock.notify_all()
                return
        item.done(CloudError("the effects host was closed"))

    def _run(self) -> None:
        most = 1 if self._batches is None else MOST_IN_BATCH
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._items or self._closed)
                items = [self._items.popleft() for _ in range(min(most, len(self._items)))]
            if not items:
                return
            self._hand_over(items)

    def _hand_over(self, items: list[_Item]) -> None:
        ends: list[tuple[_Item, Exception | None]] = []
        try:
            with contextlib.nullcontext() if self._batches is None else self._batches.batch():
                for item in items:
                    ends.append((item, self._one(item)))
        except Exception as error:  # what was written down together is not
            ends = [(item, error) for item in items]
        for item, end in ends:
            item.done(end)

    def _one(self, item: _Item) -> Exception | None:
        try:
            if isinstance(item.what, str):
                self._channel.acknowledge(item.queue, item.what)
                return None
            message = item.what()
            if message is not None:
                self._channel.send(item.queue, message)
        except Exception as error:
            return error
        return None


def _log(error: Exception | None) -> None:
    if error is not None:
        log.warning("an answer of an agent was not acknowledged and comes again: %s", error)
