"""`ask`: what a package says, from a task process that can change nothing: forms, schemas, checks, static methods.
`Conversation`: the same with a process that stays and answers more than one question.

No journal, no effects host, no database. The effects that such a task may ask for are answered here, in the caller's
thread: who asks, the time, chance, secrets, and pauses. Everything else is refused. Whatever the task does, the caller
gets a result or an error within the time it gave, and a moment: a process that goes on is killed.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, cast

from vetro.clouds.interface import NotAvailable
from vetro.diagnostics import Text, decode_messages
from vetro.engine.effect_kinds import Answer, answer_of
from vetro.engine.host.answer import Handler, Request, describe
from vetro.engine.host.simple_effects import Small
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.perform import BadTask
from vetro.engine.task.process import Exit, TaskProcess, TaskProcessEnded
from vetro.engine.task.task import LASTING, Task
from vetro.frames import FrameError
from vetro.muranopl.declarations.tree import Position
from vetro.yaql.errors import VetroError

if TYPE_CHECKING:
    from vetro.engine.host.encryption import SecretCipher

#: When the time is over the task is told to stop, so that a loop ends with its place in the package; this part of the
#: time later, and so many seconds at most, the process is killed.
LAST_SHARE, LAST_SECONDS = 0.2, 1.0
#: Seconds a process may take to say how it ended after its pipe closed.
_LAST_BREATH = 2.0
#: Seconds between two looks at whether anybody waits for the answer.
_LOOK = 0.5
_NOBODY: Mapping[str, None] = {"id": None, "name": None, "domain": None}

Note = Callable[[str, Mapping[str, Any]], None]


class SecretReader(Protocol):
    """Opens sealed secrets (`vetro.engine.host.encryption.SecretCipher`)."""

    def decrypt(self, sealed: str) -> str:
        """The text. Raises `NoSuchSecret`."""
        ...  # pragma: no cover - protocol


class AskFailed(VetroError):
    """A task that was asked has failed; ``error`` is what `Outcome.error` would be, ``kind``, ``code``, ``hint`` too.

    See `vetro.engine.failure.describe` for what ``error`` holds.
    """

    kind = "error"
    code = "ENG340"

    def __init__(self, error: Mapping[str, Any]) -> None:
        self.error = error
        error = decode_messages(error)
        super().__init__(error.get("message") or Text("the task failed"))
        self.kind = str(error.get("kind") or AskFailed.kind)  # type: ignore[misc]
        self.code = str(error.get("code") or AskFailed.code)  # type: ignore[misc]
        self.hint = error.get("hint") or None
        place = error.get("position")
        #: Where in a package it happened; None when that is not known.
        self.position = Position(**place) if isinstance(place, Mapping) else None


class AskTimeout(AskFailed):
    """No result came in time; the process was killed.

    ``position``: where in a package it was then, if it could say so.
    """

    kind = "limit-exceeded"
    code = "ENG341"


def ask(
    task: Task,
    *,
    launcher: Launcher,
    timeout: float = 30.0,
    identities: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
    secrets: SecretReader | None = None,
    on_note: Note = lambda kind, args: None,
) -> Any:
    """The result of ``task``, plain data: what `Outcome.result` would be (`Task.kind` says what that is).

    ``timeout``: seconds from when there is a process; starting the launcher's zygote, once, comes before.
    ``identities``: ``{caller|environment: {user|project: {id, name, domain}}}``, null fields by default. ``secrets``
    gives the secrets that packages may read; without it they get an error that they can catch. ``on_note(kind, args)``
    gets reports, log lines and warnings as they come. Many threads may ask one launcher at the same time.

    Raises `AskFailed` when the task fails, `AskTimeout` when it takes too long, `BadTask` for kinds with lasting
    effects, `LauncherError` when no process can be started.
    """
    if task.kind in LASTING:
        raise BadTask(
            Text("a task of kind '{kind}' cannot be asked, what it does lasts: run it with a journal", kind=task.kind)
        )
    nobody = {of: {"user": _NOBODY, "project": _NOBODY} for of in ("caller", "environment")}
    small = Small(identities or nobody, cast("SecretCipher | None", secrets))
    for attempt in (1, 2):
        with launcher.start() as process:
            try:
                return _Asking(process, small, on_note, timeout).result(task)
            except TaskProcessEnded:
                ended = process.wait(_LAST_BREATH)
            except FrameError as error:
                raise AskFailed({"kind": "error", "code": error.code, "message": error.message, "names": []}) from None
        lost = ended is not None and ended.status is None and ended.signal is None
        if not lost or attempt == 2:  # a process whose zygote died is no fault of the task, and nothing was done
            break
    raise AskFailed(_death(ended, task))


class Conversation:
    """A task process that answers questions (kind ``questions``) until `close`; so that what it has read stays warm.

    ``task``: its budget is that of the whole conversation. Raises what `ask` raises. Use it from one thread at a time.
    """

    def __init__(
        self,
        task: Task,
        *,
        launcher: Launcher,
        timeout: float = 30.0,
        identities: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
        on_note: Note = lambda kind, args: None,
        handlers: Mapping[str, Handler] | None = None,
        over: Callable[[], bool] | None = None,
    ) -> None:
        """``handlers`` perform effects that it may ask for before the first question. ``over``: whether nobody waits
        for an answer any more, asked again and again while one is waited for.
        """
        nobody = {of: {"user": _NOBODY, "project": _NOBODY} for of in ("caller", "environment")}
        self._task = task
        self._process = launcher.start()
        self._asking = _Asking(self._process, Small(identities or nobody, None), on_note, timeout, over)
        #: Whether it can be asked; not any more once it failed or took too long.
        self.alive = True
        #: Questions that were asked.
        self.asked = 0
        self._key = ""
        with self._ending():
            self._asking.extend(timeout, handlers or {})
            self._asking.send(task)
            self._key, _ = self._asking.next_question()

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(
        self, question: Mapping[str, Any], *, timeout: float = 30.0, handlers: Mapping[str, Handler] | None = None
    ) -> Any:
        """The answer. ``handlers`` perform effects that answering this question may ask for, by kind.

        A question that fails, raising `AskFailed`, leaves the conversation as it was; when it does not end, `alive`
        is False afterwards.
        """
        if not self.alive:
            message = "the task process answers no more"
            raise AskFailed({"kind": "error", "code": TaskProcessEnded.code, "message": message, "names": []})
        self.asked += 1
        with self._ending():
            self._asking.extend(timeout, handlers or {})
            self._process.send({"t": "answer", "key": self._key, "answer": dict(question)})
            self._key, told = self._asking.next_question()
        if told.get("error") is not None:
            raise AskFailed(told["error"])
        return told.get("answer")

    def close(self) -> None:
        """Ends the process."""
        self.alive = False
        self._process.close()

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """What keeps a process from going on ends it."""
        try:
            yield
        except TaskProcessEnded:
            ended = self._process.wait(_LAST_BREATH)
            self.close()
            raise AskFailed(_death(ended, self._task)) from None
        except FrameError as error:
            self.close()
            raise AskFailed({"kind": "error", "code": error.code, "message": error.message, "names": []}) from None
        except BaseException:
            self.close()
            raise


class _Asking:
    """One process and the time it has."""

    def __init__(
        self,
        process: TaskProcess,
        small: Small,
        on_note: Note,
        timeout: float,
        over: Callable[[], bool] | None = None,
    ) -> None:
        self._process = process
        self._over = over
        self._small = small.handlers()
        self._handlers = self._small
        self._on_note = on_note
        self._timeout = timeout
        self._until = time.monotonic() + timeout
        #: Whether the task was told to stop when its time was over; None: it is not told.
        self._stopped: bool | None = None
        #: Pauses of the task: (when they end, key).
        self._sleeping: list[tuple[float, str]] = []

    def send(self, task: Task) -> None:
        """Gives the process its task. Raises `AskFailed` for one that is no JSON."""
        try:
            self._process.send({"t": "task", "task": task.as_json()})
        except (TypeError, ValueError) as error:  # infinite numbers, dates
            told = {"kind": "bad-argument", "code": BadTask.code, "message": f"the task is no JSON: {error}"}
            raise AskFailed({**told, "names": []}) from None

    def extend(self, timeout: float, handlers: Mapping[str, Handler]) -> None:
        """Gives it time for another question, and who performs the effects of that one."""
        self._timeout, self._until = timeout, time.monotonic() + timeout
        self._handlers = {**self._small, **handlers}

    def next_question(self) -> tuple[str, Mapping[str, Any]]:
        """Drives the process until it wants the next question: the key to answer, and what it says to the one before.

        Raises `AskFailed`, `TaskProcessEnded`, `FrameError`.
        """
        while True:
            message = self._next()
            kind = message["t"]
            if kind == "failed":
                raise AskFailed(message.get("error") or {})
            if kind == "effect":
                key, args = str(message.get("key")), message.get("args")
                if message.get("kind") == "question":
                    return key, args if isinstance(args, dict) else {}
                self._effect(key, str(message.get("kind")), args)

    def result(self, task: Task) -> Any:
        """Drives the process to its last frame. Raises `AskFailed`, `TaskProcessEnded`, `FrameError`."""
        self._stopped = False
        self.send(task)
        while True:
            message = self._next()
            kind = message["t"]
            if kind == "done":
                return message.get("result")
            if kind == "failed":
                error = message.get("error") or {}
                raise AskTimeout(_late(self._timeout, error)) if self._stopped else AskFailed(error)
            if kind == "effect":
                self._effect(str(message.get("key")), str(message.get("kind")), message.get("args"))

    def _next(self) -> dict[str, Any]:
        """The next message; ends the pauses that are over meanwhile."""
        while True:
            until = min([self._until, *(end for end, _ in self._sleeping)])
            if self._over is not None:
                until = min(until, time.monotonic() + _LOOK)
                if self._over():
                    why = "nobody waits for the answer any more"
                    raise AskFailed({"kind": "cancelled", "code": "ENG314", "message": why, "names": []})
            message = self._process.receive(max(until - time.monotonic(), 0.0))
            now = time.monotonic()
            if now >= self._until:
                self._stop(now)
            for item in sorted(item for item in self._sleeping if item[0] <= now):
                self._sleeping.remove(item)
                self._process.send({"t": "answer", "key": item[1], "answer": None})
            if message is not None:
                return message

    def _stop(self, now: float) -> None:
        """The time is over: tells the task, if it is to say where it is. Raises `AskTimeout` when it was told."""
        if self._stopped is not False:
            raise AskTimeout(_late(self._timeout, {}))
        self._stopped = True
        self._until = now + min(self._timeout * LAST_SHARE, LAST_SECONDS)
        self._sleeping.clear()
        self._process.send({"t": "cancel", "reason": "its time is over"})

    def _effect(self, key: str, kind: str, args: Any) -> None:
        request = Request(key, kind, args if isinstance(args, dict) else {})
        if answer_of(kind) is Answer.NONE:
            self._on_note(kind, request.args)
            return
        try:
            if kind == "sleep":
                self._sleeping.append((time.monotonic() + max(request.number("seconds"), 0.0), key))
                return
            handler = self._handlers.get(kind)
            if handler is None:
                raise NotAvailable(
                    Text("nothing outside is touched here: effect '{kind}' needs a deployment or an action", kind=kind)
                )
            message = {"t": "answer", "key": key, "answer": handler(request)}
        except Exception as error:
            message = {"t": "answer", "key": key, "error": describe(error)}
        self._process.send(message)


def _late(timeout: float, stopped: Mapping[str, Any]) -> dict[str, Any]:
    """``stopped``: how the task ended that was told to stop."""
    places = {name: stopped[name] for name in ("position", "frames") if stopped.get(name)}
    return {
        **places,
        "kind": AskTimeout.kind,
        "code": AskTimeout.code,
        "message": f"no result came within {timeout:g} seconds",
        "hint": "look for a loop that never ends, or give it more time",
        "names": [],
    }


def _death(ended: Exit | None, task: Task) -> dict[str, Any]:
    """How a process ended that said nothing."""
    if ended is not None and ended.signal == signal.SIGXCPU:
        message = f"the task used up its {task.budget.cpu_seconds:g} seconds of processor time"
        return {"kind": "limit-exceeded", "code": "ENG317", "message": message, "names": []}
    how = "nobody knows how it ended" if ended is None else ended.reason
    return {
        "kind": "limit-exceeded",
        "code": "ENG313",
        "message": f"the task process ended by itself: {how}",
        "names": [],
    }
