"""Speaks frames for an `EffectsHost` (`vetro.engine.task.messages`): in its own process, or on a thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

from vetro.engine.effect_kinds import Answer, answer_of
from vetro.engine.host.answer import Request, describe
from vetro.engine.host.heartbeat import Heartbeat, moment
from vetro.engine.host.performer import EffectsHost
from vetro.frames import Decoder, FrameError, encode, read


class Service:
    """Serves one worker over the socket ``fd`` until it is told to finish, or the worker has gone.

    ``heartbeat``: what its worker ordered before both stood still for longer than a lease is not begun any more.
    """

    def __init__(self, fd: int, host: EffectsHost, heartbeat: Heartbeat | None = None) -> None:
        self._fd = fd
        self._host = host
        self._heartbeat = heartbeat
        self._begun = moment()
        self._lock = threading.Lock()
        self._decoder = Decoder()

    def run(self) -> bool:
        """Serves; True when the worker said that it is over, False when it has gone."""
        self._host.tell_waits(lambda found: self._send({"t": "progress", "key": "", "waits": found}))
        while True:
            try:
                messages = read(self._fd, self._decoder)
            except (OSError, FrameError):
                return False
            if messages is None:
                return False
            for message in messages:
                if message["t"] == "finish":
                    return True
                if self._heartbeat is not None and message["t"] == "perform" and not self._heartbeat.lives(self._begun):
                    return False
                self._take(message)

    def _take(self, message: Mapping[str, Any]) -> None:
        kind = message["t"]
        if kind == "perform":
            key, what = message["key"], message["kind"]
            request = Request(key, what, message["args"], bool(message.get("adopt")))
            if message.get("begun"):
                request.begun = message["begun"]
            request.progress = lambda news: self._send({"t": "progress", "key": key, "kind": what, **news})
            self._host.begin(request, self._ignore if answer_of(what) is Answer.NONE else self._answer)
        elif kind == "stored":
            self._host.stored(message["key"])
        elif kind == "abandon":
            self._host.abandon(message["key"])
        elif kind == "begin":
            self._host.expect(message["expect"])

    def _ignore(self, key: str, answer: Any, error: dict[str, Any] | None) -> None:
        self._host.stored(key)
        if error is not None:
            self._send({"t": "progress", "key": key, "error": error})

    def _answer(self, key: str, answer: Any, error: dict[str, Any] | None) -> None:
        message: dict[str, Any] = {"t": "answer", "key": key}
        message.update({"answer": answer} if error is None else {"error": error})
        self._send(message)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            data = memoryview(encode(message))
        except (TypeError, ValueError, FrameError, RecursionError) as error:
            data = memoryview(encode({"t": "answer", "key": message["key"], "error": describe(error)}))
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._fd, data) :]
            except OSError:
                pass  # the worker has gone; the reader notices
