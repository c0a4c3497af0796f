"""`HostEffects`: effects of a task that is asked (`Conversation`), performed by an effects host.

There is no journal: an answer that has come is dropped at the agent's end, and what nobody waits for any more is
forgotten. The host begins with the first effect.
"""

from __future__ import annotations

import select
import threading
import time
from collections import deque
from collections.abc import Collection
from typing import Any

from vetro.clouds.interface import NotAvailable
from vetro.engine.host.answer import Abandoned, BadRequest, Handler, Request
from vetro.engine.task.pipe_effects import answer
from vetro.engine.worker.ports import HostPort, HostUnavailable
from vetro.engine.worker.stream import Stream

#: Queries of effect ``network`` that only read.
_READING = frozenset({"dns", "external_of_router", "external_of_network", "networks", "subnets", "ports", "extensions"})
#: Seconds between two looks at whether somebody ends it.
_LOOK = 0.2


class HostEffects:
    """``seconds``: what one effect takes at most. ``plans`` collects the ids of plans for agents. `end` may be called
    from any thread; everything else from one."""

    def __init__(self, host: HostPort, seconds: float, plans: deque[str]) -> None:
        self._host = host
        self._seconds = seconds
        self._plans = plans
        self._stream: Stream | None = None
        self._count = 0
        self._over = threading.Event()
        #: Why the host itself could perform nothing.
        self.trouble = ""
        #: Queues of the agents that answered.
        self.reached: set[str] = set()

    @property
    def ended(self) -> bool:
        """Whether somebody ended it."""
        return self._over.is_set()

    def handlers(self, kinds: Collection[str]) -> dict[str, Handler]:
        """These kinds, performed by the host."""
        return dict.fromkeys(kinds, self._perform)

    def end(self) -> None:
        """What waits raises `Abandoned`, and nothing more is begun."""
        self._over.set()

    def close(self) -> None:
        """Ends the host."""
        if self._stream is not None:
            self._stream.close()
        self._host.stop()

    def _perform(self, request: Request) -> Any:
        args = dict(request.args)
        if request.kind == "network" and args.get("query") not in _READING:
            raise NotAvailable("here networks can only be read")
        if request.kind == "agent.call":
            args["timeout"] = min(max(request.number("timeout"), 0.0), self._seconds)
            self._plans.append(request.text("id"))
        try:
            found = self._asked(request, args)
        except HostUnavailable as error:
            self.trouble = error.message
            raise
        if request.kind == "agent.call" and "result" in found:
            self.reached.add(request.text("queue"))
        return found

    def _asked(self, request: Request, args: dict[str, Any]) -> Any:
        self._check(request)
        if self._stream is None:
            self._host.start()
            self._stream = Stream(self._host.fileno())
            self._stream.send({"t": "begin", "expect": []})
        stream, until = self._stream, time.monotonic() + self._seconds + 2 * _LOOK
        self._count += 1
        key = str(self._count)
        told = {"key": key, "kind": request.kind, "args": args, "adopt": False, "begun": time.time()}
        stream.send({"t": "perform", **told})
        while True:
            for message in stream.receive():
                if message["t"] == "answer" and message["key"] == key:
                    stream.send({"t": "stored", "key": key})
                    return answer(message)
            if stream.closed:
                raise HostUnavailable("the effects host has ended")
            left = until - time.monotonic()
            if left <= 0 or self._over.is_set():
                stream.send({"t": "abandon", "key": key})
                self._check(request)
                raise BadRequest(f"effect '{request.kind}' did not end within {self._seconds:g} seconds")
            poll = select.poll()
            poll.register(stream, select.POLLIN | (select.POLLOUT if stream.writing else 0))
            poll.poll(min(left, _LOOK) * 1000)
            if stream.writing:
                stream.flush()

    def _check(self, request: Request) -> None:
        if self._over.is_set():
            raise Abandoned(f"effect {request.key} was abandoned")
