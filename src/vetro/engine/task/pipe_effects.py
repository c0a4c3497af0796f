"""`PipeEffects`: the task process's side of its pipe. Effects go out, answers, cancellation and questions come in.

One thread, no clock. What is read is kept in the order in which it arrived; branches go on in that order, so a run is a
function of its task and of the answers. Nothing here blocks in writing while the other side waits for us to read: what
arrives meanwhile is taken in.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from vetro.diagnostics import Text, decode_messages
from vetro.engine.effect_kinds import Answer, answer_of
from vetro.frames import Decoder, encode
from vetro.muranopl.runtime.effects import EffectFailed, NotPlainData
from vetro.yaql.errors import Cancelled
from vetro.yaql.redact import Secrets

_READ = 1 << 18
#: Texts of one frame.
_TEXTS = 256


class Disconnected(BaseException):
    """The other end of the pipe is closed: nobody waits for this task any more."""


class PipeEffects:
    """See `vetro.muranopl.runtime.hosting.PostingEffects`. ``fd``: our end of a socket pair; it is made non-blocking.

    ``on_cancel(reason)`` is called when the task is cancelled; every effect that begins later, and every one that
    waits, raises `Cancelled`. ``on_checkpoint()`` is called when a checkpoint was asked for and all branches wait.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        os.set_blocking(fd, False)
        self._decoder = Decoder()
        self._control: deque[dict[str, Any]] = deque()
        self._answers: deque[tuple[str, dict[str, Any]]] = deque()
        self._wanted = False
        self._cancelled: str | None = None
        self._refused: str | None = None
        #: The secrets of the session, as soon as there is one.
        self.redaction: Secrets | None = None
        self.on_cancel: Callable[[str], None] = lambda reason: None
        self.on_checkpoint: Callable[[], None] = lambda: None

    # -- what the session calls ----------------------------------------------------------------------------------------

    def waits(self, kind: str) -> bool:
        """Whether other branches go on while an effect of this kind is under way."""
        return answer_of(kind) is Answer.WAITS

    def begin(self, key: str, kind: str, args: dict[str, Any]) -> None:
        """Sends an effect. Raises `Cancelled`, and `NotPlainData` for what JSON cannot say."""
        self._check()
        try:
            self.send({"t": "effect", "key": key, "kind": kind, "args": args})
        except ValueError as error:  # infinite numbers
            raise NotPlainData(
                Text("the arguments of an effect '{kind}' are no JSON: {error}", kind=kind, error=error)
            ) from None

    def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
        """Sends an effect and waits for its answer, if anybody waits for answers of that kind."""
        self.begin(key, kind, args)
        wanted = answer_of(kind)
        if wanted is Answer.NONE:
            return None
        seen = len(self._answers)
        while True:
            for index in range(seen, len(self._answers)):
                if self._answers[index][0] == key:
                    message = self._answers[index][1]
                    del self._answers[index]
                    return answer(message)
            seen = len(self._answers)
            self._check()
            if wanted is not Answer.WAITS or not self._checkpoint():
                self._wait()

    def next_answer(self) -> tuple[str, Callable[[], Any]] | None:
        """The answer that arrived first among those not delivered; None when the task was cancelled meanwhile."""
        while not self._answers:
            if self._cancelled is not None:
                return None
            if not self._checkpoint():
                self._wait()
        key, message = self._answers.popleft()
        return key, lambda: answer(message)

    # -- what the task process calls -----------------------------------------------------------------------------------

    def look(self) -> None:
        """Takes in what has arrived, without waiting."""
        while self._ready(select.POLLIN, 0):
            self._read()

    def refuse(self, reason: str) -> None:
        """From now on every effect raises `Cancelled`: the run has ended, or is not to touch anything."""
        self._refused = reason

    def allow(self) -> None:
        """Takes `refuse` back, unless the task was cancelled."""
        self._refused = None

    @property
    def cancelled(self) -> str | None:
        """Why the task was cancelled; None when it was not."""
        return self._cancelled

    def first(self) -> dict[str, Any]:
        """Waits for the message that says what to do. Answers and the like cannot come before it."""
        while not self._control:
            self._wait()
        return self._control.popleft()

    def send(self, message: dict[str, Any]) -> None:
        """Writes one frame; takes in what arrives meanwhile. Raises `FrameError` when it is too large.

        What the run has found to be secret is sent before it: the worker keeps it from messages of the host.
        """
        while self.redaction is not None and self.redaction.fresh:
            texts, self.redaction.fresh[:] = self.redaction.fresh[:_TEXTS], self.redaction.fresh[_TEXTS:]
            self._write({"t": "secrets", "texts": texts})
        self._write(message)

    def _write(self, message: dict[str, Any]) -> None:
        view = memoryview(encode(message))
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:
                if self._ready(select.POLLIN | select.POLLOUT, None) & select.POLLIN:
                    self._read()
            except OSError as error:
                raise Disconnected from error

    # -- the pipe ------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        reason = self._cancelled if self._cancelled is not None else self._refused
        if reason is not None:
            raise Cancelled(reason)

    def _checkpoint(self) -> bool:
        """Sends a checkpoint that was asked for. True: what was waited for may have arrived while it was written."""
        if not self._wanted:
            return False
        self._wanted = False
        self.on_checkpoint()
        return True

    def _ready(self, events: int, timeout: float | None) -> int:
        poll = select.poll()
        poll.register(self._fd, events)
        found = poll.poll(timeout)
        return found[0][1] if found else 0

    def _wait(self) -> None:
        """Returns when something was read."""
        self._ready(select.POLLIN, None)
        self._read()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _READ)
        except BlockingIOError:
            return
        except OSError as error:
            raise Disconnected from error
        if not data:
            raise Disconnected
        for message in self._decoder.feed(data):
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        kind = message["t"]
        if kind == "answer":
            self._answers.append((message["key"], message))
        elif kind == "checkpoint":
            self._wanted = True
        elif kind == "cancel":
            if self._cancelled is None:
                self._cancelled = str(message.get("reason") or "the task was cancelled")
                self.on_cancel(self._cancelled)
        else:
            self._control.append(message)


def answer(message: Mapping[str, Any]) -> Any:
    """The answer in a message. Raises the error in it, which package code catches under its names."""
    error = message.get("error")
    if error is None:
        return message.get("answer")
    error = decode_messages(error)
    if error.get("kind") == Cancelled.kind:
        raise Cancelled(str(error.get("message")))
    failed = EffectFailed(str(error.get("message")))
    failed.aliases = tuple(error.get("names") or ())  # type: ignore[misc]
    failed.kind = str(error.get("kind") or EffectFailed.kind)  # type: ignore[misc]
    if error.get("code"):
        failed.code = str(error["code"])  # type: ignore[misc]
    if error.get("hint"):
        failed.hint = str(error["hint"])
    raise failed
