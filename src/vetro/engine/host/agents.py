"""Effects ``agent.*``: plans to the agents of one environment and their answers (AGENT.md 2, 6, 7).

A plan carries its id, so it may be sent again: channels and agents drop doubles. The agent's answer stays in its queue
until the worker says that it is in the journal; only then it is acknowledged. However many calls wait, they need one
thread that sends, one that looks at the clock, and one for each queue on which answers come. `agent_watch` looks after
those that wait: time that is over, agents that do not come, servers that ended.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Protocol

from vetro.clouds.messages import Channel, Message
from vetro.data_classes import dataclass
from vetro.engine.host.agent_watch import AgentWatch, Call, Done, Servers, Unwatched
from vetro.engine.host.answer import Abandoned, BadRequest, Handler, Request
from vetro.engine.host.file_parts import FileParts
from vetro.engine.host.outbox import Outbox
from vetro.engine.host.script_output import ScriptOutput, is_piece
from vetro.library.broker_names import answers_exchange
from vetro.muranopl.runtime.effects import EffectError

log = logging.getLogger(__name__)

#: How names of queues begin on which agents answer.
RESULTS = "-execution-results-"
#: Seconds an adopted call waits at least: its answer may lie in the queue although its time is over.
LEAST_WAIT = 10.0
#: Queues that one host listens to at the same time: each has a thread.
MOST_LISTENERS = 256
#: Answers to one plan, of whoever says so, that are kept until it is known who was asked.
MOST_EARLY = 8
#: Seconds of one look into a queue; between two of them a receiver sees that it is to end.
_LOOK = 1.0


class Signer(Protocol):
    """`vetro.agent.signing.SigningKey`."""

    def sign(self, queue: str, body: str) -> bytes:
        """The signature of a plan for one queue."""
        ...  # pragma: no cover - protocol

    def public_pem(self) -> str:
        """The public key that agents check with."""
        ...  # pragma: no cover - protocol


@dataclass(slots=True, eq=False)
class _Plan:
    """A plan whose answer is awaited, or has come and is not in the journal yet."""

    calls: list[Call] = field(default_factory=list)
    message: Message | None = None
    #: What came before the call was adopted that says whom it asks.
    early: list[Message] = field(default_factory=list)


class Agents:
    """Performs the effects that reach agents."""

    def __init__(
        self,
        channel: Channel,
        signer: Signer | None = None,
        clock: Callable[[], float] = time.time,
        servers: Servers | None = None,
        *,
        may_drop: Callable[[], bool] = lambda: True,
        own: Iterable[str] | None = None,
        files: FileParts | None = None,
    ) -> None:
        """``may_drop``: whether answers that nobody asked for may be acknowledged (`vetro.engine.host.heartbeat`).

        ``own``: ids of plans; answers to others, which are not of this host either, stay in their queues, and are given
        back as soon as another host listens. None: a task has the environment for itself, and whatever it did not ask
        for is nobody's.
        """
        self._may_drop = may_drop
        self._own = None if own is None else set(own)
        #: By queue: receipts of what is not this host's.
        self._foreign: dict[str, list[str]] = {}
        #: Only channels that give a message to one receiver can take it back.
        self._return: Callable[[str, str], bool] | None = getattr(channel, "give_back", None)
        self._files = files or FileParts()
        self._watch = AgentWatch(servers or Unwatched(), self._ended)
        self._channel = channel
        #: A channel that several environments share says how queues of this one are called.
        self._prefix = str(getattr(channel, "results", RESULTS))
        self._signer = signer
        self._clock = clock
        self._outbox = Outbox(channel)
        self._lock = threading.Lock()
        self._plans: dict[str, _Plan] = {}
        self._expected: set[str] = set()
        self._listeners: dict[str, threading.Thread] = {}
        self._wanted: set[str] = set()
        self._users: dict[str, int] = {}
        self._closed = threading.Event()
        self._refused = False

    def handlers(self) -> dict[str, Handler]:
        """Kind to handler, for those who can wait."""
        return {
            "agent.key": lambda request: None if self._signer is None else self._signer.public_pem(),
            "agent.listen": self.listen,
            "agent.send": lambda request: _waited(self.send, request),
            "agent.call": lambda request: _waited(self.call, request),
        }

    def starters(self) -> dict[str, Callable[[Request, Done], None]]:
        """Kind to what begins an effect and returns at once; the end is told on another thread."""
        return {"agent.send": self.send, "agent.call": self.call}

    def expect(self, ids: Iterable[str]) -> None:
        """Answers to these plans are kept until somebody calls for them: their effects will be adopted."""
        with self._lock:
            self._expected.update(ids)

    # -- the effects ---------------------------------------------------------------------------------------------------

    def listen(self, request: Request) -> None:
        """``agent.listen``."""
        queue = self._results(request, "queue")
        with self._lock:
            if request.args.get("on"):
                self._start(queue)
                self._wanted.add(queue)
            else:
                self._wanted.discard(queue)

    def send(self, request: Request, done: Done) -> None:
        """``agent.send``. Raises `BadRequest`."""
        queue, make = self._plan(request, self._results(request, "listener"))
        self._outbox.send(queue, make, lambda error: done(None, error))

    def call(self, request: Request, done: Done) -> None:
        """``agent.call``. Raises `BadRequest`."""
        id, listener, timeout = request.text("id"), self._results(request, "listener"), request.number("timeout")
        left, now = timeout, self._clock()
        if request.adopt:  # only here does the clock count, which may have been set since
            left = max(min(request.begun + timeout - now, timeout), min(timeout, LEAST_WAIT))
        queue, make = self._plan(request, listener, now + left)
        end = time.monotonic() + left
        server = queue.rpartition("-h")[2]
        output = ScriptOutput(server, lambda piece: request.progress({"output": piece}))
        call = Call(id, request, queue, listener, timeout, end, done, output)
        with self._lock:
            self._start(listener)
            plan = self._plans.setdefault(id, _Plan())
            if self._own is not None:
                self._own.add(id)
            self._expected.discard(id)
            plan.calls.append(call)
            self._users[listener] = self._users.get(listener, 0) + 1
            came = plan.message or next((one for one in plan.early if _may_answer(call, one)), None)
            plan.message = came
            early, plan.early = plan.early, []
        request.when_abandoned(lambda: self._ended(call, None, Abandoned(f"effect {request.key} was abandoned")))
        for other in early:
            if other is not came:
                self._refuse(listener, other)
        if came is not None:
            self._answered(call, came)
            return
        self._watch.add(call)
        self._outbox.send(queue, lambda: None if call.over else make(), lambda error: self._sent(call, error))

    def _sent(self, call: Call, error: Exception | None) -> None:
        if error is not None:
            self._ended(call, None, error)

    def _plan(self, request: Request, listener: str, until: float | None = None) -> tuple[str, Callable[[], Message]]:
        queue, id, plan = request.text("queue"), request.text("id"), request.args.get("plan")
        if not isinstance(plan, dict):
            raise BadRequest(f"argument 'plan' of effect '{request.kind}' must be a mapping")
        self._files.check(request.args)
        login = request.args.get("login") is True

        def make() -> Message:
            body = json.dumps(self._files.plan(request.args))
            signature = None if self._signer is None else self._signer.sign(queue, body)
            # Nobody hears what the scripts of a plan write whose answer is not waited for.
            return Message(id, body, signature, listener, until, login, until is not None)

        return queue, make

    def _results(self, request: Request, name: str) -> str:
        """A queue on which agents answer; a task may not listen to anything else. Raises `BadRequest`."""
        queue = request.text(name)
        if not queue.startswith(self._prefix):
            raise BadRequest(
                f"argument '{name}' of effect '{request.kind}' must name a queue '{self._prefix}…', not '{queue}'"
            )
        return queue

    # -- ends of calls -------------------------------------------------------------------------------------------------

    def _ended(self, call: Call, answer: Any, error: BaseException | None) -> None:
        """The call waits no more; only its first end counts."""
        with self._lock:
            if call.over:
                return
            call.over = True
            self._users[call.listener] -= 1
            plan = self._plans.get(call.id)
            if plan is not None:
                plan.calls.remove(call)
                if not plan.calls and (plan.message is None or error is not None):
                    del self._plans[call.id]
        self._watch.remove(call)
        call.output.end()
        call.done(answer, error)

    def _answered(self, call: Call, message: Message) -> None:
        call.request.when_stored.append(lambda: self._stored(call, message.receipt))
        try:
            answer = {"result": self._files.keep(call.request.args, json.loads(message.body))}
        except (ValueError, RecursionError, EffectError, OSError) as error:
            self._ended(call, None, error)
        else:
            self._ended(call, answer, None)

    def _stored(self, call: Call, message: str) -> None:
        self._outbox.acknowledge(call.listener, message)
        with self._lock:
            self._plans.pop(call.id, None)

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
            # Who shares a queue looks at what comes as long as it comes here.
            if not self._closed.is_set() and (queue in self._wanted or self._users.get(queue) or self._own is not None):
                return True
            self._listeners.pop(queue, None)
            return False

    def _receive(self, queue: str) -> None:
        looked = time.monotonic()
        while self._goes_on(queue):
            try:
                if time.monotonic() - looked >= _LOOK:
                    looked = time.monotonic()
                    self._give_back(queue)
                message = self._channel.receive(queue, _LOOK)
                if message is not None:
                    self._take(queue, message)
            except Exception:
                # A broker that is away comes back; calls end by their own time until then.
                self._closed.wait(_LOOK)

    def _give_back(self, queue: str) -> None:
        """What is not this host's, if another one listens: a broker gives each message to one of them only."""
        foreign = self._foreign.get(queue)
        while foreign and self._return is not None and self._return(queue, foreign[0]):
            del foreign[0]

    def _take(self, queue: str, message: Message) -> None:
        body = _body_of(message)
        if is_piece(body):
            self._heard(queue, message, body)
            return
        id = _plan_of(message, body)
        with self._lock:
            if self._closed.is_set():  # it stays in its queue
                return
            plan = self._plans.get(id)
            if plan is None and id in self._expected:
                plan = self._plans[id] = _Plan()
            calls = list(plan.calls) if plan is not None else []
            answered = [call for call in calls if _may_answer(call, message)]
            if plan is not None and not calls and plan.message is None and len(plan.early) < MOST_EARLY:
                plan.early.append(message)
                return
            if plan is not None and answered:
                plan.message = message
        if plan is not None and not answered:
            self._refuse(queue, message)
            return
        if plan is None:
            # Nobody asks: the answer to a plan that was only sent, one that came too late, or one stored already.
            # Without a lease that is the successor's business.
            self._drop(queue, message, id)
            return
        for call in answered:
            self._answered(call, message)

    def _heard(self, queue: str, message: Message, body: Mapping[str, Any]) -> None:
        """A piece of what a script writes: for those who wait for the answer of its plan, if anybody does."""
        with self._lock:
            plan = self._plans.get(str(body.get("PlanID")))
            calls = [call for call in plan.calls if _may_answer(call, message)] if plan is not None else []
        for call in calls:
            call.output.take(body)
        self._drop(queue, message, str(body.get("PlanID")))

    def _refuse(self, queue: str, message: Message) -> None:
        """Drops an answer of a server that was not asked, or a second one. The log hears of the first."""
        level = logging.DEBUG if self._refused else logging.WARNING
        self._refused = True
        why = "another server was asked, or it was answered before"
        log.log(level, "an answer to plan %.100r in queue '%s' was dropped: %s", message.id, queue, why)
        self._drop(queue, message, _plan_of(message, _body_of(message)))

    def _drop(self, queue: str, message: Message, plan: str) -> None:
        """What nobody waits for is not delivered again, if that is for this host to say."""
        if self._own is not None and plan not in self._own:
            self._foreign.setdefault(queue, []).append(message.receipt)
        elif self._may_drop():
            self._outbox.acknowledge(queue, message.receipt)

    def end_receiving(self) -> None:
        """From now on answers stay in their queues; plans are still sent."""
        with self._lock:
            self._closed.set()

    def close(self) -> None:
        """Ends the threads; answers that are not in the journal stay in their queues."""
        self.end_receiving()
        self._outbox.close()
        self._channel.close()
        self._watch.close()
        with self._lock:
            threads = list(self._listeners.values())
            waiting = [call for plan in self._plans.values() for call in plan.calls]
        for call in waiting:
            self._ended(call, None, Abandoned("the host was closed"))
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(2 * _LOOK)


def _waited(begin: Callable[[Request, Done], None], request: Request) -> Any:
    """Waits for the end of an effect; its answer. Raises its error."""
    ended = threading.Event()
    ends: list[tuple[Any, BaseException | None]] = []

    def done(answer: Any, error: BaseException | None) -> None:
        ends.append((answer, error))
        ended.set()

    begin(request, done)
    ended.wait()
    answer, error = ends[0]
    if error is not None:
        raise error
    return answer


def _may_answer(call: Call, message: Message) -> bool:
    """Whether an answer was said where the server that was asked, and no other one, says it.

    Servers without a login of their own share the default exchange: which of them it was, nobody knows.
    """
    if message.exchange is None:
        return True
    return message.exchange == (answers_exchange(call.queue) if call.request.args.get("login") is True else "")


def _body_of(message: Message) -> Any:
    """What a message says; None for what cannot be understood."""
    try:
        return json.loads(message.body)
    except (ValueError, RecursionError):
        return None


def _plan_of(message: Message, body: Any) -> str:
    """The id of the plan that a message answers; '' for what cannot be understood, which nobody asks for."""
    if not isinstance(body, dict):
        return ""
    source = body.get("SourceID")
    return source if isinstance(source, str) else message.id
