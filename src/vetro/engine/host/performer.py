"""`EffectsHost`: performs effects for one environment with a cloud and a channel to its agents.

It runs no package code, checks that arguments are of their kind, and acts only for its owner. `Service` (module
``frame_server``) speaks frames for it. It is also an `Effects` (`vetro.muranopl.runtime.effects`) for
sessions in this process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, runtime_checkable

from vetro.clouds.interface import Cloud, Owner, ShowsAgents, ShowsWaits
from vetro.clouds.messages import Channel
from vetro.engine.effect_kinds import Answer, answer_of
from vetro.engine.host.agent_watch import Unwatched
from vetro.engine.host.agents import Agents, Signer
from vetro.engine.host.answer import Abandoned, Effect, Handler, Request, describe
from vetro.engine.host.encryption import SecretCipher
from vetro.engine.host.file_parts import FileParts
from vetro.engine.host.heartbeat import Heartbeat
from vetro.engine.host.simple_effects import Small
from vetro.engine.host.snapshots import SnapshotEffects
from vetro.engine.host.stacks import CONFLICT_PAUSES, StackEffects
from vetro.engine.host.waits import LONG, WaitTeller, waits_of
from vetro.muranopl.runtime.effects import UnknownEffect
from vetro.yaql.errors import VetroError

#: Most effects that wait at the same time; threads are made when they are needed.
MOST_THREADS = 1024

Answered = Callable[[str, Any, "dict[str, Any] | None"], None]


class EffectsHost:
    """``effects`` are kinds that plug-ins add; they cannot replace the standard ones.

    Functions that installed extensions declare with ``@effect`` are performed, too; ``plugins`` limits them to these
    distributions. ``identities`` is ``{caller|environment: {user|project: record}}``, by default made of the owner.
    ``heartbeat`` is that of the task's lease, if its worker may stand still. ``own``: see `Agents`.
    ``snapshots``: whether effects `snapshot.*` are performed; they undo what other tasks did. ``files``: where files of
    people are.
    """

    def __init__(
        self,
        cloud: Cloud,
        channel: Channel,
        owner: Owner,
        *,
        signer: Signer | None = None,
        cipher: SecretCipher | None = None,
        identities: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
        effects: Mapping[str, Effect] | None = None,
        plugins: Collection[str] | None = None,
        on_note: Callable[[str, Mapping[str, Any]], None] = lambda kind, args: None,
        clock: Callable[[], float] = time.time,
        conflict_pauses: tuple[float, ...] = CONFLICT_PAUSES,
        heartbeat: Heartbeat | None = None,
        own: Iterable[str] | None = None,
        snapshots: bool = False,
        files: FileParts | None = None,
    ) -> None:
        self.cloud = cloud
        self.owner = owner
        self._agents = Agents(
            channel,
            signer,
            clock,
            _Seen(self, channel) if isinstance(cloud, Watchful) else _Heard(self, channel),
            may_drop=(lambda: True) if heartbeat is None else heartbeat.lives,
            own=own,
            files=files,
        )
        self._stacks = StackEffects(cloud, owner, conflict_pauses)
        small = Small(identities or _identities(owner), cipher, clock)
        self._handlers: dict[str, Handler] = {
            kind: (lambda request, effect=effect: effect.perform(request.args))  # type: ignore[misc]
            for kind, effect in (effects or {}).items()
        }
        kept = SnapshotEffects(cloud, channel, owner, self._stacks.patiently, allowed=snapshots)
        handlers = (small.handlers(), self._stacks.handlers(), kept.handlers(), self._agents.handlers())
        self._handlers.update({kind: handler for found in handlers for kind, handler in found.items()})
        self._starters = self._agents.starters()
        self._clock = clock
        self._on_note = on_note
        self._plugins = plugins
        self._pool = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="vetro-effect")
        self._lock = threading.Condition()
        self._teller: WaitTeller | None = None
        self._open: dict[str, Request] = {}
        self._running: set[str] = set()
        self._count = 0
        #: How many effects were begun and how many ends stored: it stands still when the task only waits.
        self._turns = 0

    # -- as a service --------------------------------------------------------------------------------------------------

    def tell_waits(self, tell: Callable[[list[dict[str, Any]]], None]) -> None:
        """From now on ``tell`` hears what effects wait for (`WaitTeller`)."""
        self._teller = WaitTeller(self.waits, tell)

    def waits(self) -> list[dict[str, Any]]:
        """What effects under way wait for that did so for `LONG` seconds: ``{kind, text, id, since}``, plain data."""
        now = self._clock()
        with self._lock:
            running = [self._open[key] for key in self._running if key in self._open]
        late = sorted((one for one in running if now - one.begun >= LONG), key=lambda one: one.begun)
        cloud = self.cloud.waits(self.owner) if late and isinstance(self.cloud, ShowsWaits) else ()
        return waits_of(late, cloud, self.cloud.name)

    def expect(self, ids: Iterable[str]) -> None:
        """Answers of agents to the plans with these ids are kept until their effects are adopted."""
        self._agents.expect(ids)

    def begin(self, request: Request, answered: Answered) -> None:
        """Performs an effect; ``answered(key, answer, error)`` is called with its end, maybe on another thread.

        Nothing is said of an effect that was abandoned.
        """
        with self._lock:
            self._open[request.key] = request
            self._running.add(request.key)
            self._turns += 1
        if self._teller is not None:
            self._teller.began()
        start = self._starters.get(request.kind)
        try:
            self._stacks.arrived(request)
            if start is not None:
                start(request, partial(self._ended, request, answered))
                return
        except VetroError as error:  # arguments that are none
            self._ran(request)
            answered(request.key, None, describe(error))
            return
        if answer_of(request.kind) is Answer.WAITS:
            self._pool.submit(self._perform, request, answered)
        else:
            self._perform(request, answered)

    def _perform(self, request: Request, answered: Answered) -> None:
        answer, failure = None, None
        try:
            answer = self._handle(request)
        except Abandoned:
            self._ran(request)
            return
        except Exception as error:
            failure = describe(error)
        self._ran(request)
        answered(request.key, answer, failure)

    def _ended(self, request: Request, answered: Answered, answer: Any, error: BaseException | None) -> None:
        self._ran(request)
        if not isinstance(error, Abandoned):
            answered(request.key, answer, None if error is None else describe(error))

    def _handle(self, request: Request) -> Any:
        handler = self._handlers.get(request.kind)
        if handler is None and request.kind.startswith("plugin:"):
            from vetro.packages.extensions.plugins import resolve_effect

            return resolve_effect(request.kind, self._plugins).perform(request.args)
        if handler is None:
            raise UnknownEffect(f"this host performs no effects of kind '{request.kind}'")
        return handler(request)

    def _ran(self, request: Request) -> None:
        with self._lock:
            self._running.discard(request.key)
            self._lock.notify_all()
        if self._teller is not None:
            self._teller.ended()

    def stored(self, key: str) -> None:
        """The answer of an effect is in the journal."""
        with self._lock:
            request = self._open.pop(key, None)
            self._turns += 1
        if request is not None:
            for action in request.when_stored:
                action()

    def abandon(self, key: str) -> None:
        """Nobody waits for an effect any more. What a cloud is doing for it goes on."""
        with self._lock:
            request = self._open.pop(key, None)
        if request is not None:
            request.abandon()
            self._stacks.abandoned(request)

    def close(self, grace: float = 0.0) -> None:
        """Ends everything; waits up to ``grace`` seconds for what is under way.

        Answers of agents are not taken any more: the task may go on elsewhere, and wait for them.
        """
        self._agents.end_receiving()
        if self._teller is not None:
            self._teller.close()
        with self._lock:
            keys = list(self._open)
        for key in keys:
            self.abandon(key)
        with self._lock:
            self._lock.wait_for(lambda: not self._running, grace)
        self._agents.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.cloud.close()

    def turn(self) -> int | None:
        """See `agent_watch.Servers.turn`: the task may make servers unless it only waits for agents."""
        with self._lock:
            waits = all(request.kind in self._starters for request in self._open.values())
            return self._turns if waits else None

    # -- in this process -----------------------------------------------------------------------------------------------

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        """See `vetro.muranopl.runtime.effects.Effects.perform`: for sessions without journal."""
        if answer_of(kind) is Answer.NONE and kind not in self._handlers:
            self._on_note(kind, args)
            return None
        with self._lock:
            self._count += 1
            request = Request(f"{key}#{self._count}", kind, args, begun=self._clock())
            self._open[request.key] = request  # closing the host ends what waits
        self._stacks.arrived(request)
        try:
            return self._handle(request)
        finally:
            with self._lock:
                self._open.pop(request.key, None)
            for action in request.when_stored:
                action()


@runtime_checkable
class Watchful(Protocol):
    """A cloud that sees the processes of its servers."""

    def why_silent(self, owner: Owner, queue: str) -> str | None:
        """Why the agent with this queue cannot answer; None while it may."""
        ...  # pragma: no cover - protocol

    def why_missing(self, owner: Owner, queue: str) -> str | None:
        """Why no server takes plans from this queue as things are; None when one does or will."""
        ...  # pragma: no cover - protocol


class _Heard(Unwatched):
    """What a channel and a cloud know of the agents of one environment."""

    def __init__(self, host: EffectsHost, channel: Channel) -> None:
        self._channel = channel
        self._owner = host.owner
        self._shows = host.cloud if isinstance(host.cloud, ShowsAgents) else None

    def connected(self, queue: str) -> bool | None:
        return self._channel.connected(queue)

    def console(self, queue: str, lines: int) -> tuple[str, str] | None:
        return None if self._shows is None else self._shows.console_of(self._owner, queue, lines)


class _Seen(_Heard):
    """What a host and its cloud know of the servers of one environment."""

    def __init__(self, host: EffectsHost, channel: Channel) -> None:
        super().__init__(host, channel)
        assert isinstance(host.cloud, Watchful)
        self._cloud = host.cloud
        self._turn = host.turn

    def turn(self) -> int | None:
        return self._turn()

    def why_silent(self, queue: str) -> str | None:
        return self._cloud.why_silent(self._owner, queue)

    def why_missing(self, queue: str) -> str | None:
        return self._cloud.why_missing(self._owner, queue)


def _identities(owner: Owner) -> dict[str, dict[str, dict[str, Any]]]:
    records = {
        "user": {"id": owner.user, "name": owner.user, "domain": "Default"},
        "project": {"id": owner.project, "name": owner.project, "domain": "Default"},
    }
    return {"caller": records, "environment": records}
