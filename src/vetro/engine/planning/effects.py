"""`RecorderEffects`: what a plan's run asks for, performed beside it on a recorder in memory, in one thread.

It answers as an effects host of a plan does (`vetro.engine.host.dry_run`): pauses end at once and the clock goes on by
as much, plug-ins answer nothing, agents answer what the recorder says. What it cannot know is asked `outside`: secrets.
Answers follow from the questions alone, so two runs of one plan are equal; time and chance are what they are told.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from vetro.clouds.interface import CloudError, Owner
from vetro.clouds.messages import Message
from vetro.clouds.stacks.cloud import StackCloud
from vetro.data_classes import dataclass
from vetro.engine.effect_kinds import Answer, answer_of
from vetro.engine.host.agents import RESULTS
from vetro.engine.host.answer import BadRequest, Request, describe
from vetro.engine.host.simple_effects import Small
from vetro.engine.host.stacks import StackEffects
from vetro.engine.task.pipe_effects import answer as opened
from vetro.engine.worker.journal import about
from vetro.muranopl.runtime.effects import UnknownEffect
from vetro.yaql.errors import Cancelled
from vetro.yaql.redact import Secrets

#: Lines of the log that are kept.
_LINES = 1000
#: Effects that are asked outside.
OUTSIDE = ("secret",)


@dataclass(frozen=True, slots=True)
class NotedEffect:
    """See `vetro.engine.planning.report.PerformedEffect`."""

    key: str
    kind: str
    about: Mapping[str, Any]


@dataclass(slots=True)
class _Call:
    """A plan that nobody has answered yet: its server may still be made."""

    request: Request
    listener: str


class RecorderEffects:
    """See `vetro.muranopl.runtime.hosting.PostingEffects`, and what `vetro.engine.task.perform` asks of a pipe.

    ``key``: the public key that servers are told. ``now``: seconds since the epoch when the run begins.
    """

    def __init__(
        self,
        cloud: StackCloud,
        owner: Owner,
        *,
        identities: Mapping[str, Any],
        key: str | None,
        seed: str,
        now: float,
        outside: Callable[[str, str, dict[str, Any]], Any],
    ) -> None:
        self._cloud, self._owner, self._key = cloud, owner, key
        self._channel = cloud.channel(owner)
        self._seed, self._now, self._outside = seed, now, outside
        self._stacks = StackEffects(cloud, owner, (), together=1)
        small = Small(identities, None, lambda: self._now)
        self._handlers = {
            "identity": small.identity,
            "workflow": small.workflow,
            "clock": lambda request: self._now,
            "entropy": self._entropy,
            "sleep": self._sleep,
            "agent.key": lambda request: self._key,
            "agent.send": self._send,
            **self._stacks.handlers(),
        }
        self._count = 0
        self._calls: deque[_Call] = deque()
        self._answers: deque[tuple[str, dict[str, Any]]] = deque()
        self._refused: str | None = None
        #: What was asked for, in order, as far as plans tell of it.
        self.asked: list[NotedEffect] = []
        #: What the run logs of its model.
        self.lines: list[dict[str, Any]] = []
        self.redaction: Secrets | None = None
        self.cancelled: str | None = None
        self.on_cancel: Callable[[str], None] = lambda reason: None
        self.on_checkpoint: Callable[[], None] = lambda: None

    # -- what the session calls ----------------------------------------------------------------------------------------

    def waits(self, kind: str) -> bool:
        """See `PipeEffects.waits`."""
        return answer_of(kind) is Answer.WAITS

    def begin(self, key: str, kind: str, args: dict[str, Any]) -> None:
        """See `PipeEffects.begin`: the answer is there at once, unless no server is there that could give it."""
        if self._refused is not None:
            raise Cancelled(self._refused)
        if answer_of(kind) is Answer.NONE:
            if kind == "log" and args.get("logger") == "model" and len(self.lines) < _LINES:
                self.lines.append(args)
            return
        if kind in ("agent.call", "sleep") or kind.startswith("plugin:"):
            self.asked.append(NotedEffect(key, kind, about(args)))
        request = Request(key, kind, args, begun=self._now)
        try:
            if kind == "agent.call":
                self._call(request)
                return
            self._answers.append((key, {"answer": self._perform(request)}))
        except Exception as error:
            self._answers.append((key, {"error": describe(error)}))
        self._hear()

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        """See `PipeEffects.perform`."""
        self.begin(key, kind, args)
        if answer_of(kind) is Answer.NONE:
            return None
        while True:
            for index, (of, message) in enumerate(self._answers):
                if of == key:
                    del self._answers[index]
                    return opened(message)
            self._give_up()

    def next_answer(self) -> tuple[str, Callable[[], Any]] | None:
        """See `PipeEffects.next_answer`."""
        if not self._answers:
            self._give_up()
        key, message = self._answers.popleft()
        return key, lambda: opened(message)

    # -- what the run around it calls ----------------------------------------------------------------------------------

    def look(self) -> None:
        """Nothing comes from outside."""

    def refuse(self, reason: str) -> None:
        """See `PipeEffects.refuse`."""
        self._refused = reason

    def allow(self) -> None:
        """See `PipeEffects.allow`."""
        self._refused = None

    def send(self, message: Mapping[str, Any]) -> None:
        """Nobody hears of it."""

    # -- the effects ---------------------------------------------------------------------------------------------------

    def _perform(self, request: Request) -> Any:
        if request.kind in OUTSIDE:
            return self._outside(request.key, request.kind, dict(request.args))
        if request.kind.startswith("plugin:"):
            return None
        handler = self._handlers.get(request.kind)
        if handler is None:
            raise UnknownEffect(f"this host performs no effects of kind '{request.kind}'")
        self._stacks.arrived(request)
        try:
            return handler(request)
        finally:
            for action in request.when_stored:
                action()

    def _entropy(self, request: Request) -> str:
        self._count += 1
        wanted, made = max(0, min(int(request.number("bytes")), 1 << 16)), ""
        while len(made) < 2 * wanted:
            made += hashlib.sha256(f"{self._seed} {self._count} {len(made)}".encode()).hexdigest()
        return made[: 2 * wanted]

    def _sleep(self, request: Request) -> None:
        seconds = request.args.get("seconds")
        if isinstance(seconds, (int, float)) and not isinstance(seconds, bool):
            self._now += max(float(seconds), 0.0)

    def _send(self, request: Request) -> None:
        self._post(request, self._listener(request))

    def _call(self, request: Request) -> None:
        call = _Call(request, self._listener(request))
        request.number("timeout")
        self._post(request, call.listener)
        self._calls.append(call)
        self._hear()

    def _post(self, request: Request, listener: str) -> None:
        plan = request.args.get("plan")
        if not isinstance(plan, dict):
            raise BadRequest(f"argument 'plan' of effect '{request.kind}' must be a mapping")
        message = Message(request.text("id"), json.dumps(plan), None, listener)
        self._channel.send(request.text("queue"), message)

    def _listener(self, request: Request) -> str:
        queue = request.text("listener")
        prefix = str(getattr(self._channel, "results", RESULTS))
        if not queue.startswith(prefix):
            raise BadRequest(
                f"argument 'listener' of effect '{request.kind}' must name a queue '{prefix}…', not '{queue}'"
            )
        return queue

    def _hear(self) -> None:
        """Takes the answers of agents that are there."""
        for listener in dict.fromkeys(call.listener for call in self._calls):
            while (message := self._channel.receive(listener, 0.0)) is not None:
                self._channel.acknowledge(listener, message.receipt)
                self._heard(message)

    def _heard(self, message: Message) -> None:
        """An answer; to a plan that was only sent nobody listens."""
        body = json.loads(message.body)
        id = str(body.get("SourceID") or message.id)
        for call in [one for one in self._calls if one.request.text("id") == id]:
            self._calls.remove(call)
            self._answers.append((call.request.key, {"answer": {"result": body}}))

    def _give_up(self) -> None:
        """Nobody is left who could make the servers whose agents are waited for."""
        call = self._calls.popleft()
        queue, timeout = call.request.text("queue"), call.request.number("timeout")
        silent = self._cloud.why_silent(self._owner, queue)
        if silent is not None:
            failed = describe(CloudError(f"the agent does not answer: {silent}"))
            self._answers.append((call.request.key, {"error": failed}))
            return
        why = self._cloud.why_missing(self._owner, queue)
        told = {"timeout": timeout} if why is None else {"timeout": timeout, "why": why}
        self._answers.append((call.request.key, {"answer": told}))
