"""Effects ``stack.*``, ``server.power``, ``network``, ``metadef``: a cloud for one environment (CORE_LIBRARY.md 3)."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

from vetro.clouds.interface import (
    Cloud,
    CloudError,
    Conflict,
    NotAvailable,
    Owner,
    Power,
    PowerAction,
    StackChange,
    StackState,
    StaleStack,
    Taken,
)
from vetro.engine.host.answer import BadRequest, Handler, Request, is_unicode
from vetro.engine.host.waits import conflict_text, turn_text

#: Seconds before a stack that another operation holds is tried again, and how often.
CONFLICT_PAUSES = (3.0, 6.0, 12.0, 24.0)
#: How many states of a stack's outputs are remembered.
_REMEMBERED = 4
#: Servers that are started or stopped at once for one effect.
_TOGETHER = 8
#: States of servers that do not run and can be started; states in which there is nothing to do.
_OFF = frozenset({"SHUTOFF", "ERROR"})
_DONE: Mapping[str, Collection[str]] = {"start": ("ACTIVE",), "stop": ("SHUTOFF",)}
#: Seconds for which a list of servers says what is to be started: one step follows the other.
_FRESH = 5.0

Stack = tuple[str, str]


class _Turns:
    """Lets operations on one stack happen one after the other, each after the result of the one before is stored.

    With that the cloud is never more than one step ahead of the journal: a push that has to be adopted finds the stack
    in the state before it or in the one it makes, never in one that a later push has made.
    """

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._queues: dict[Stack, deque[str]] = {}
        self._of: dict[str, Stack] = {}

    def queue(self, stack: Stack, key: str) -> None:
        with self._lock:
            self._queues.setdefault(stack, deque()).append(key)
            self._of[key] = stack

    def wait(self, stack: Stack, request: Request) -> None:
        request.when_abandoned(self._wake)
        request.waits = ("turn", turn_text(stack[1]), "")
        with self._lock:
            self._lock.wait_for(lambda: request.abandoned.is_set() or self._queues[stack][0] == request.key)
        request.waits = None
        request.check()

    def _wake(self) -> None:
        with self._lock:
            self._lock.notify_all()

    def done(self, key: str) -> None:
        with self._lock:
            stack = self._of.pop(key, None)
            if stack is not None:
                line = self._queues[stack]
                line.remove(key)
                if not line:
                    del self._queues[stack]
            self._lock.notify_all()


class StackEffects:
    """Handlers of the effects that a cloud performs."""

    def __init__(
        self, cloud: Cloud, owner: Owner, pauses: tuple[float, ...] = CONFLICT_PAUSES, together: int = _TOGETHER
    ) -> None:
        """``together``: servers that are started or stopped at once for one effect; one: without threads."""
        self._cloud = cloud
        self._owner = owner
        self._pauses = pauses
        self._together = together
        self._turns = _Turns()
        self._outputs: dict[Stack, dict[str, Mapping[str, Any]]] = {}
        self._listed: tuple[float, Mapping[str, str]] = (-_FRESH, {})

    def handlers(self) -> dict[str, Handler]:
        """Kind to handler."""
        return {
            "stack.read": self.read,
            "stack.push": self.push,
            "stack.delete": self.delete,
            "server.power": self.power,
            "network": self.network,
            "metadef": self.metadef,
        }

    def arrived(self, request: Request) -> None:
        """Called in the order in which effects arrive, before their handlers run on threads."""
        if request.kind in ("stack.read", "stack.push", "stack.delete"):
            self._turns.queue(_stack(request), request.key)
            # An error is an answer, too, that of arguments that are none: the turn ends when it is stored.
            request.when_stored.append(lambda: self._turns.done(request.key))

    def abandoned(self, request: Request) -> None:
        """Nobody waits any more, so nothing will be stored: the next one may go on."""
        self._turns.done(request.key)

    def _in_turn(self, request: Request, work: Callable[[Stack], Any]) -> Any:
        stack = _stack(request)
        self._turns.wait(stack, request)
        return self.patiently(request, lambda: work(stack))

    def patiently(self, request: Request, work: Callable[[], Any]) -> Any:
        """Repeats what meets another operation on the same stack."""
        for pause in self._pauses:
            try:
                return work()
            except Taken:
                raise
            except Conflict as error:
                request.waits = ("stack", conflict_text(error.message), "")
                request.abandoned.wait(pause)
                request.waits = None
                request.check()
        return work()

    # -- the effects ---------------------------------------------------------------------------------------------------

    def read(self, request: Request) -> Any:
        """``stack.read``."""
        settled = bool(request.args.get("wait"))

        def work(stack: Stack) -> Any:
            found = self._cloud.read_stack(self._owner, *stack, settled=settled)
            if found is None:
                return None
            self._remember(stack, found)
            return {
                "template": _plain(found.template),
                "parameters": _plain(found.parameters),
                "outputs": _plain(found.outputs),
                "digest": found.digest,
                "status": found.status,
            }

        return self._in_turn(request, work)

    def push(self, request: Request) -> Any:
        """``stack.push``."""
        args = request.args
        change = StackChange(request.text("digest"), args.get("base"), args.get("put") or (), args.get("drop") or ())
        _check(request, change)
        known = args.get("known")

        def work(stack: Stack) -> Any:
            try:
                state = self._cloud.push_stack(self._owner, *stack, change)
            except StaleStack:
                return {"stale": True}
            before = self._outputs.get(stack, {}).get(known) if isinstance(known, str) else None
            self._remember(stack, state)
            return _changed(before, state.outputs)

        return self._in_turn(request, work)

    def delete(self, request: Request) -> Any:
        """``stack.delete``."""

        def work(stack: Stack) -> None:
            self._cloud.delete_stack(self._owner, *stack)
            self._outputs.pop(stack, None)

        return self._in_turn(request, work)

    def power(self, request: Request) -> Any:
        """``server.power``: several servers beside each other. The answer has those that it failed for, and why, and
        those that are ``left``, since there was nothing to do; with ``off`` all but those that can be started."""
        wanted, servers = request.text("action"), request.args.get("servers")
        action: PowerAction | None = next((known for known in get_args(PowerAction) if known == wanted), None)
        if action is None:
            raise BadRequest(f"argument 'action' of effect '{request.kind}' must be start, stop or restart")
        if not isinstance(servers, list) or not all(isinstance(id, str) and is_unicode(id) for id in servers):
            raise BadRequest(f"argument 'servers' of effect '{request.kind}' must be a list of ids")
        cloud = self._cloud
        if not isinstance(cloud, Power):
            raise NotAvailable(f"servers of this cloud ({cloud.name}) cannot be started and stopped")

        only_off = request.args.get("off") is True
        states = self._states(_FRESH if only_off else 0.0)
        if only_off:
            left = [server for server in servers if states.get(server) not in _OFF]
        else:
            left = [server for server in servers if states.get(server) in _DONE.get(action, ())]

        def switch(server: str, action: PowerAction = action) -> str | None:
            if server in left and (only_off or action == "start"):
                return None
            try:
                self.patiently(request, lambda: cloud.power(self._owner, server, action))
            except CloudError as error:
                return error.message
            return None

        if self._together == 1:
            whys = [switch(server) for server in servers]
        else:
            with ThreadPoolExecutor(self._together, "vetro-power") as pool:
                whys = list(pool.map(switch, servers))
        failed = {server: why for server, why in zip(servers, whys, strict=True) if why is not None}
        return {"failed": failed, "left": [server for server in left if server not in failed]}

    def _states(self, age: float) -> Mapping[str, str]:
        """The servers of the environment by id, as they were so many seconds ago at most; nothing where the cloud does
        not say."""
        at, states = self._listed
        if time.monotonic() >= at + age:
            try:
                states = {server.id: server.status for server in self._cloud.servers(self._owner)}
            except CloudError:
                return {}
            self._listed = time.monotonic(), states
        return states

    def network(self, request: Request) -> Any:
        """``network``."""
        return _plain(self._cloud.network(self._owner, *_query(request)))

    def metadef(self, request: Request) -> Any:
        """``metadef``."""
        return _plain(self._cloud.metadef(self._owner, *_query(request)))

    def _remember(self, stack: Stack, state: StackState) -> None:
        known = self._outputs.setdefault(stack, {})
        known.pop(state.digest, None)
        known[state.digest] = dict(state.outputs)
        while len(known) > _REMEMBERED:
            del known[next(iter(known))]


def _stack(request: Request) -> Stack:
    return request.text("region", optional=True), request.text("name")


def _query(request: Request) -> tuple[str, str, dict[str, Any]]:
    """Region, name and arguments of a query: texts, and the version of addresses. Raises `BadRequest`."""
    args: dict[str, Any] = {}
    for name, value in request.args.items():
        if name == "version":
            if value not in (None, 4, 6):
                raise BadRequest(f"argument 'version' of effect '{request.kind}' must be 4 or 6")
            args[name] = value
        elif name not in ("region", "query"):
            args[name] = request.text(name) if value is not None else None
    return request.text("region", optional=True), request.text("query"), args


def _check(request: Request, change: StackChange) -> None:
    """Raises `BadRequest` when the parts of a difference are none."""
    for name, parts, size in (("put", change.put, 3), ("drop", change.drop, 2)):
        for part in parts if isinstance(parts, (list, tuple)) else (None,):
            texts = part[:2] if isinstance(part, (list, tuple)) and len(part) == size else (None,)
            if not all(isinstance(text, str) and is_unicode(text) for text in texts):
                raise BadRequest(f"argument '{name}' of effect '{request.kind}' must be a list of parts of a stack")
    if change.base is not None and not isinstance(change.base, str):
        raise BadRequest(f"argument 'base' of effect '{request.kind}' must be a digest or null")


def _changed(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> dict[str, Any]:
    if before is None:
        return {"outputs": _plain(now), "gone": [], "whole": True}
    missing = object()
    different = {key: _plain(value) for key, value in now.items() if before.get(key, missing) != value}
    return {"outputs": different, "gone": [key for key in before if key not in now], "whole": False}


def _plain(value: Any) -> Any:
    """Mappings and sequences of any class as dicts and lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
