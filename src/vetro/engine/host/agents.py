"""Effects ``agent.*``: plans to the agents of one environment and their answers (AGENT.md 2, 6, 7).

A plan carries its id, so it may be sent again: channels and agents drop doubles. The agent's answer stays in its queue
until the worker says that it is in the journal; only then it is acknowledged.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from vetro.clouds.interface import Channel, CloudError, Message
from vetro.engine.host.answers import BadRequest, Handler, Request

#: How names of queues begin on which agents answer.
RESULTS = "-execution-results-"
#: Seconds an adopted call waits at least: its answer may lie in the queue although its time is over.
LEAST_WAIT = 10.0
#: Queues that one host listens to at the same time: each has a thread.
MOST_LISTENERS = 256
#: Seconds of one look into a queue; between two of them a receiver sees that it is to end.
_LOOK = 1.0
#: Seconds between two looks at the server of an agent that does not answer.
_GLANCE = 2.0


class Signer(Protocol):
    """`vetro.agent.signing.SigningKey`."""

    def sign(self, queue: str, body: str) -> bytes:
        """The signature of a plan for one queue."""
        ...  # pragma: no cover - protocol

    def public_pem(self) -> str:
        """The public key that agents check with."""
        ...  # pragma: no cover - protocol


@dataclass(slots=True, eq=False)
class _Waiter:
    """A call whose answer is awaited, or has come and is not in the journal yet."""

    event: threading.Event = field(default_factory=threading.Event)
    message: Message | None = None


class Agents:
    """Handlers of the effects that reach agents. Each listener queue has one thread that receives."""

    def __init__(
        self,
        channel: Channel,
        signer: Signer | None = None,
        clock: Callable[[], float] = time.time,
        why_silent: Callable[[str], str | None] = lambda queue: None,
    ) -> None:
        """``why_silent`` tells of an agent's queue why nobody can answer on it, None while somebody may."""
        self._why_silent = why_silent
        self._channel = channel
        self._signer = signer
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: dict[str, _Waiter] = {}
        self._expected: set[str] = set()
        self._listeners: dict[str, threading.Thread] = {}
        self._wanted: set[str] = set()
        self._users: dict[str, int] = {}
        self._closed = threading.Event()

    def handlers(self) -> dict[str, Handler]:
        """Kind to handler."""
        return {
            "agent.key": lambda request: None if self._signer is None else self._signer.public_pem(),
            "agent.listen": self.listen,
            "agent.send": self.send,
            "agent.call": self.call,
        }

    def expect(self, ids: Iterable[str]) -> None:
        """Answers to these plans are kept until somebody calls for them: their effects will be adopted."""
        with self._lock:
            self._expected.update(ids)

    # -- the effects ---------------------------------------------------------------------------------------------------

    def listen(self, request: Request) -> None:
        """``agent.listen``."""
        queue = _results(request, "queue")
        with self._lock:
            if request.args.get("on"):
                self._start(queue)
                self._wanted.add(queue)
            else:
                self._wanted.discard(queue)

    def send(self, request: Request) -> None:
        """``agent.send``."""
        self._hand_over(request, _results(request, "listener"))

    def call(self, request: Request) -> Any:
        """``agent.call``."""
        id, listener, timeout = request.text("id"), _results(request, "listener"), request.number("timeout")
        with self._lock:
            self._start(listener)
            waiter = self._calls.setdefault(id, _Waiter())
            self._expected.discard(id)
            self._users[listener] = self._users.get(listener, 0) + 1
        request.when_abandoned(waiter.event.set)
        try:
            self._hand_over(request, listener)
            until = request.begun + timeout
            if request.adopt:
                until = max(until, self._clock() + min(timeout, LEAST_WAIT))
            self._await(waiter, request.text("queue"), until)
        except BaseException:
            self._forget(id)
            raise
        finally:
            with self._lock:
                self._users[listener] -= 1
        with self._lock:
            message = waiter.message
        if message is None:
            self._forget(id)
            request.check()
            return {"timeout": timeout}
        request.when_stored.append(lambda: self._stored(listener, id, message.id))
        request.check()
        return {"result": json.loads(message.body)}

    def _await(self, waiter: _Waiter, queue: str, until: float) -> None:
        """Waits for the answer. Raises `CloudError` when the server has ended, seen twice: it may be rebooting."""
        end = time.monotonic() + max(until - self._clock(), 0.0)
        suspected = False
        while not waiter.event.wait(min(max(end - time.monotonic(), 0.0), _GLANCE)):
            if time.monotonic() >= end:
                return
            why = self._why_silent(queue)
            if why is not None and suspected:
                raise CloudError(f"the agent does not answer: {why}")
            suspected = why is not None

    def _hand_over(self, request: Request, listener: str) -> None:
        queue, id, plan = request.text("queue"), request.text("id"), request.args.get("plan")
        if not isinstance(plan, dict):
            raise BadRequest(f"argument 'plan' of effect '{request.kind}' must be a mapping")
        body = json.dumps(plan)
        signature = None if self._signer is None else self._signer.sign(queue, body)
        self._channel.send(queue, Message(id, body, signature, listener))

    def _stored(self, queue: str, id: str, message: str) -> None:
        self._channel.acknowledge(queue, message)
        self._forget(id)

    def _forget(self, id: str) -> None:
        with self._lock:
            self._calls.pop(id, None)

    # -- receiving -----------------------------------------------------------------------------------------------------

    def _start(self, queue: str) -> None:
        """Starts the thread of a queue unless it runs. The lock is held. Raises `BadRequest` for one too many."""
        if queue not in self._listeners and not self._closed.is_set():
            if len(self._listeners) >= MOST_LISTENERS:
                raise BadRequest(f"more than {MOST_LISTENERS} queues cannot be listened to: '{queue}' is one too many")
            thread = threading.Thread(target=self._receive, args=(queue,), name=f"agent answers {queue}", daemon=True)
            self._listeners[queue] = thread
            thread.start()

    def _goes_on(self, queue: str) -> bool:
        with self._lock:
            if not self._closed.is_set() and (queue in self._wanted or self._users.get(queue)):
                return True
            self._listeners.pop(queue, None)
            return False

    def _receive(self, queue: str) -> None:
        while self._goes_on(queue):
            try:
                message = self._channel.receive(queue, _LOOK)
                if message is not None:
                    self._take(queue, message)
            except Exception:
                # A broker that is away comes back; calls end by their own time until then.
                self._closed.wait(_LOOK)

    def _take(self, queue: str, message: Message) -> None:
        id = _plan_of(message)
        with self._lock:
            waiter = self._calls.get(id)
            if waiter is None and id in self._expected:
                waiter = self._calls[id] = _Waiter()
            if waiter is not None:
                waiter.message = message
                waiter.event.set()
                return
        # Nobody asks: the answer to a plan that was only sent, one that came too late, or one stored already.
        self._channel.acknowledge(queue, message.id)

    def close(self) -> None:
        """Ends the threads; answers that are not in the journal stay in their queues."""
        self._closed.set()
        self._channel.close()
        with self._lock:
            threads = list(self._listeners.values())
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(2 * _LOOK)


def _results(request: Request, name: str) -> str:
    """A queue on which agents answer; a task may not listen to anything else."""
    queue = request.text(name)
    if not queue.startswith(RESULTS):
        raise BadRequest(f"argument '{name}' of effect '{request.kind}' must name a queue '{RESULTS}…', not '{queue}'")
    return queue


def _plan_of(message: Message) -> str:
    """The id of the plan that a message answers; '' for what cannot be understood, which nobody asks for."""
    try:
        body = json.loads(message.body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(body, dict):
        return ""
    source = body.get("SourceID")
    return source if isinstance(source, str) else message.id
