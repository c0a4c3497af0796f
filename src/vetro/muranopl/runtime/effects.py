"""The one door through which a run reaches the outside world.

Everything a package causes outside of its own objects - a report, a log line, a sleep, a stack push - is one call
``perform(key, kind, args) -> answer`` with plain data in and out, so a run is a pure function of its start model, its
packages and the answers (decision 0009). The native classes of the standard library are facades over it.

``key`` is the place of the effect in the run: branch path and counter, for example ``0.2/17``. It is the same when the
run is repeated with the same answers, which is what replaying, recording and adopting rely on.

Kinds that the standard library uses are listed in `KINDS`; hosts add their own.
"""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import math
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from vetro.muranopl.runtime.exceptions import names_of
from vetro.yaql.errors import VetroError, kind_of
from vetro.yaql.values import check_depth, thaw

#: Kinds used by the standard library and what their answers are.
KINDS: Mapping[str, str] = {
    "report": "a status line {id, text, details, level, environment_id}; the host notes its time; no answer",
    "log": "a log line {logger, level, text}; the answer is ignored",
    "track": "statistics {event, instance, environment, instance_type, ...}; the answer is ignored",
    "identity": "{what: user|project, of: caller|environment}: the record of the identity service",
    "execution": "{event: start|finish}: an execution session begins or ends; the answer is ignored",
    "clock": "seconds since the epoch as a float",
    "sleep": "waits {seconds}; the answer is ignored",
    "entropy": "{bytes} random bytes as hexadecimal text",
    "secret": "{data}: the text behind a reference to the secret store (decryptData)",
    "stack.read": "{name, region, wait}: {template, parameters, outputs, digest, status} or null when there is no such"
    " stack; with wait it is settled first",
    "stack.push": "{name, region, base, digest, put, drop, known}: brings the stack to the state with this digest"
    " (`vetro.library.stackdata`): put [[section, key, value]] and drop [[section, key]] change the state with the"
    " digest base, null: they are the whole. Answer {outputs, gone, whole}: outputs that differ from those with the"
    " digest known (null: none), or all of them when whole; or {stale: true} when the stack is in neither state:"
    " nothing was done, send the whole. An error says the state and reason of a failed stack",
    "stack.delete": "{name, region}: deletes and waits; the answer is ignored",
    "server.power": "{action: start|stop|restart, servers, off}: waits until it is done;"
    " {failed: {id of a server: why}, left: [id of one for which there was nothing to do]}",
    "snapshot.make": "{name, still: stop servers before}: keeps the environment as it is; a list of"
    " {id, name, kind, method, standstill}. Only"
    " tasks without packages may ask for it, and for the two below",
    "snapshot.restore": "{name}: all as it was when it was kept, and nothing waits in queues; the answer is ignored",
    "snapshot.drop": "{name}: what is now stays, what was kept besides goes; the answer is ignored",
    "agent.listen": "{queue, on}: begins or ends listening for agents' answers; the answer is ignored",
    "agent.key": "{}: the public key (PEM, PKCS#1) with which agents check plans, or null: nothing is signed",
    "agent.send": "{queue, listener, id, plan}: hands a plan over and does not wait; the answer is ignored",
    "agent.call": "{queue, listener, id, plan, timeout, part}: {result: the agent's message} or {timeout: seconds};"
    " part: {send, offset, size} puts bytes of a file into the parameter data of the plan, {keep, offset} writes what"
    " the answer has as data to a file, and has their number there",
    "network": "{region, query, ...}: query is one of router {}, cidr {router, network, version}, dns {version},"
    " external_of_router {router}, external_of_network {network}, networks {}, subnets {}, ports {}, extensions {};"
    " the answer is an id, a text, null, or a list of records",
    "metadef": "{region, query: namespaces {resource_type} | objects {namespace}}: a list of records",
    "workflow": "{region, query: upload {definition} | run {name, timeout, inputs, params}}: the answer of the service",
}


class EffectError(VetroError):
    """An effect could not be performed."""

    kind = "error"
    code = "EFF100"


class UnknownEffect(EffectError):
    """The host does not know effects of this kind."""

    code = "EFF101"


class NotPlainData(EffectError):
    """Arguments or answer of an effect hold something else than null, booleans, numbers, text, lists, mappings."""

    kind = "bad-argument"
    code = "EFF102"


class EffectMismatch(EffectError):
    """A scripted run asked for another effect than the script holds at that place."""

    code = "EFF103"


class EffectFailed(EffectError):
    """A recorded effect had failed; repeating it fails with the recorded text."""

    code = "EFF104"


@runtime_checkable
class Effects(Protocol):
    """What a session needs of its host."""

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        """Performs the effect and returns its answer. Both are plain data. Raises what the package shall see."""
        ...  # pragma: no cover - protocol


def plain(value: Any) -> Any:
    """``value`` as plain JSON data; keys that are no text become what JSON makes of them (ports of Docker packages).

    Raises `NotPlainData` for what JSON does not know, `NestingTooDeep`.
    """
    check_depth(value)  # lists that hold each other twice would fill the memory
    data = thaw(value)
    stack = [data]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if any(key.__class__ is not str for key in item):
                _name_keys(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif item is not None and not isinstance(item, (str, int, float, bool)):
            raise NotPlainData(f"an effect's data may not hold {type(item).__name__} values")
    return data


def _name_keys(mapping: dict[Any, Any]) -> None:
    """Makes all keys text, in place and in order. Of two that become the same the last one wins, as in JSON."""
    entries = list(mapping.items())
    mapping.clear()
    for key, value in entries:
        if key is None or isinstance(key, (bool, int, float)):
            key = json.dumps(key)
        elif not isinstance(key, str):
            raise NotPlainData(f"keys of an effect's data must be text, not {type(key).__name__}")
        mapping[str(key)] = value


def digest(args: Mapping[str, Any]) -> str:
    """A stable digest of an effect's arguments, for comparing a run with its record."""
    text = json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


# -- in this process --------------------------------------------------------------------------------------------------


Handler = Callable[[dict[str, Any]], Any]

#: Who runs things where there is no identity service.
_LOCAL_IDENTITY = {"id": "local", "name": "local", "domain": "Default"}


class InProcessEffects:
    """Performs effects with handlers in this process: for notebooks, tests and `vetro run`.

    ``handlers`` maps kinds to callables taking the arguments; they replace or add to the defaults, which keep reports
    in `reports`, send log lines to Python's `logging` (channel ``applications.<name>``), and use the real clock. With
    no cloud there are no stacks: reading finds none, deleting does nothing, pushing one with resources is refused.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        on_report: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.reports: list[dict[str, Any]] = []
        self.tracked: list[dict[str, Any]] = []
        self._on_report = on_report
        self._clock = clock
        self._handlers: dict[str, Handler] = {
            "report": self._report,
            "log": _log,
            "track": self.tracked.append,
            "identity": lambda args: dict(_LOCAL_IDENTITY),
            "execution": lambda args: None,
            "agent.listen": lambda args: None,
            "clock": lambda args: clock(),
            "sleep": lambda args: sleep(float(args["seconds"])),
            "entropy": lambda args: secrets.token_hex(int(args["bytes"])),
            "stack.read": lambda args: None,
            "stack.push": _no_cloud,
            "network": _nothing_there,
            "metadef": lambda args: [],
            "agent.key": lambda args: None,
            "stack.delete": lambda args: None,
        }
        self._handlers.update(handlers or {})

    def register(self, kind: str, handler: Handler) -> None:
        """Adds or replaces the handler of one kind."""
        self._handlers[kind] = handler

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        """See `Effects.perform`. Raises `UnknownEffect` for a kind without handler."""
        handler = self._handlers.get(kind)
        if handler is None:
            raise UnknownEffect(f"this host performs no effects of kind '{kind}'")
        return handler(args)

    def _report(self, args: dict[str, Any]) -> None:
        args = {**args, "timestamp": self._clock()}
        self.reports.append(args)
        if self._on_report is not None:
            self._on_report(args)


def _log(args: dict[str, Any]) -> None:
    level = logging.getLevelNamesMapping().get(str(args["level"]).upper(), logging.DEBUG - 5)
    logging.getLogger(f"applications.{args['logger']}").log(level, "%s", args["text"])


def _no_cloud(args: dict[str, Any]) -> Any:
    raise EffectError(f"no cloud is configured, stack '{args.get('name')}' cannot be created")


def _nothing_there(args: dict[str, Any]) -> Any:
    """A network service that has nothing and makes nothing."""
    return [] if args["query"] in ("networks", "subnets", "ports", "extensions", "dns") else None


# -- recording and replaying -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """One performed effect: what was asked, and the answer or the error (kind and text)."""

    key: str
    kind: str
    args: dict[str, Any] = field(default_factory=dict)
    answer: Any = None
    error: tuple[str, str] | None = None
    #: Names under which package code can catch the error.
    names: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """A mapping that `from_json` reads back."""
        data: dict[str, Any] = {"key": self.key, "kind": self.kind, "args": self.args, "answer": self.answer}
        if self.error is not None:
            data["error"] = list(self.error)
            data["names"] = list(self.names)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EffectRecord:
        """The record written by `as_json`."""
        error = data.get("error")
        return cls(
            data["key"],
            data["kind"],
            data.get("args", {}),
            data.get("answer"),
            tuple(error) if error else None,
            tuple(data.get("names", ())),
        )


class RecordingEffects:
    """Passes everything on to ``inner`` and keeps `records` in the order in which answers were delivered."""

    def __init__(self, inner: Effects) -> None:
        self.inner = inner
        self.records: list[EffectRecord] = []
        self._delivered = 0
        self._lock = threading.Lock()
        self.threads = bool(getattr(inner, "threads", True))
        if hasattr(inner, "rank"):
            self.rank = inner.rank

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        """See `Effects.perform`; a failure is recorded and raised again."""
        asked = copy.deepcopy(args)
        try:
            answer = self.inner.perform(key, kind, args)
        except Exception as error:
            self._add(EffectRecord(key, kind, asked, None, (kind_of(error), str(error)), names_of(error)))
            raise
        self._add(EffectRecord(key, kind, asked, copy.deepcopy(answer)))
        return answer

    def _add(self, record: EffectRecord) -> None:
        with self._lock:
            self.records.append(record)

    def delivered(self, key: str) -> None:
        """The session's word that the answer was handed over: effects on threads may end in another order."""
        with self._lock:
            for index in range(self._delivered, len(self.records)):
                if self.records[index].key == key:
                    self.records.insert(self._delivered, self.records.pop(index))
                    self._delivered += 1
                    break
        passed_on = getattr(self.inner, "delivered", None)
        if passed_on is not None:
            passed_on(key)


class ScriptedEffects:
    """Answers from a script and touches nothing: the host for replays and tests.

    ``records`` are matched by key; kind and arguments must be those of the record, else `EffectMismatch` is raised. An
    effect without a record is answered by ``answers[kind]``: a list is used up one item an effect, a callable gets the
    arguments, anything else is the answer each time. What neither holds is an `EffectMismatch`. `performed` lists
    what was asked. Branches get their answers in the order of the records, so a replay runs as the recorded run did.
    """

    threads = False

    def __init__(
        self, records: Iterable[EffectRecord] = (), *, answers: Mapping[str, Any] | None = None, strict: bool = True
    ) -> None:
        self._records = {record.key: record for record in records}
        self._ranks = {key: float(index) for index, key in enumerate(self._records)}
        self._answers = {kind: list(a) if isinstance(a, list) else a for kind, a in (answers or {}).items()}
        self._strict = strict
        self.performed: list[EffectRecord] = []

    def rank(self, key: str) -> float:
        """Place of the record of ``key``; effects without record come after all others."""
        return self._ranks.get(key, math.inf)

    @property
    def unused(self) -> list[EffectRecord]:
        """Records that were not asked for, yet."""
        asked = {record.key for record in self.performed}
        return [record for key, record in self._records.items() if key not in asked]

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        """See `Effects.perform`."""
        record = self._records.get(key)
        if record is None:
            answer = self._answer(key, kind, args)
        else:
            if record.kind != kind or (self._strict and digest(record.args) != digest(args)):
                raise EffectMismatch(f"effect {key} was '{record.kind}' when recorded and is another '{kind}' now")
            if record.error is not None:
                self.performed.append(record)
                failed = EffectFailed(record.error[1])
                failed.aliases = record.names  # type: ignore[misc]
                failed.kind = record.error[0]  # type: ignore[misc]
                raise failed
            answer = copy.deepcopy(record.answer)
        self.performed.append(EffectRecord(key, kind, copy.deepcopy(args), answer))
        return answer

    def _answer(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        if kind not in self._answers:
            raise EffectMismatch(f"the script has no answer for effect {key} of kind '{kind}'")
        answer = self._answers[kind]
        if callable(answer):
            return answer(args)
        if isinstance(answer, list):
            if not answer:
                raise EffectMismatch(f"the script's answers for effects of kind '{kind}' are used up at {key}")
            return answer.pop(0)
        return copy.deepcopy(answer)
