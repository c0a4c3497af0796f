"""The watcher's own process: it has clouds and opens connections; it has no database, and runs no package code.

From the worker: ``{"t": "config", "config": {"watch": true}}`` first; ``{"t": "cloud", "key", "settings"}``, which
`vetro.engine.host.config.cloud_of` takes; ``{"t": "put", "environment"}``; ``{"t": "drop", "ids"}``;
``{"t": "answers", …}`` (`Watch.answered`); ``{"t": "finish"}``. To it: ``{"t": "ready"}`` first;
``{"t": "changes", "environments"}`` (`Watch.changes`); ``{"t": "questions", "environments"}`` (`Watch.questions`);
``{"t": "metrics", "environments"}`` (`Watch.metrics`); ``{"t": "contents", "environments"}`` (`Watch.contents`);
``{"t": "alive", "made"}`` every few seconds: what was told before holds on. It ends when the worker has gone.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from vetro.clouds.interface import Cloud, Owner
from vetro.diagnostics import Text, encode_messages
from vetro.engine.host.config import cloud_of
from vetro.engine.watching.states import State
from vetro.engine.watching.watch import Watch
from vetro.frames import Decoder, FrameError, encode

#: Seconds between two looks for changes, and between two signs of life.
TELL, ALIVE = 1.0, 5.0
#: Environments in one message: states of them, and all that is in them.
_FRAME, _LISTED = 20, 4
_log = logging.getLogger("vetro.worker")


def serve(fd: int) -> None:
    """Watches what the worker names on the socket ``fd``, until it has gone."""
    asyncio.run(_Service(fd).run())


class _Service:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._decoder = Decoder()
        self._settings: dict[str, Mapping[str, Any]] = {}
        self._watch = Watch(self._open)
        self._out: deque[memoryview] = deque()
        self._begun, self._over = asyncio.Event(), asyncio.Event()

    def _open(self, key: str, owner: Owner) -> Cloud:
        return cloud_of(self._settings[key], owner)

    async def run(self) -> None:
        """Until the other end is closed."""
        loop = asyncio.get_running_loop()
        os.set_blocking(self._fd, False)
        loop.add_reader(self._fd, self._read)
        self._send({"t": "ready"})
        work = [loop.create_task(self._watch.run()), loop.create_task(self._tell())]
        over = loop.create_task(self._over.wait())
        await asyncio.wait([*work, over], return_when=asyncio.FIRST_COMPLETED)
        loop.remove_reader(self._fd)
        loop.remove_writer(self._fd)
        for task in (*work, over):
            task.cancel()
        await asyncio.gather(*work, over, return_exceptions=True)

    def _put(self, environment: Mapping[str, Any]) -> None:
        """One that cannot be watched holds nobody up, and nobody believes what was told of it."""
        try:
            self._watch.put(environment)
        except Exception:
            _log.exception("an environment cannot be watched")
            self._watch.drop([str(environment["id"])])
            why = encode_messages({"state": State.UNKNOWN.value, "text": Text("it cannot be watched")})
            components = [{"id": str(item["id"]), **why, "checks": []} for item in environment["components"]]
            told = {"id": environment["id"], "number": environment["number"], "components": components}
            self._send({"t": "changes", "environments": [told]})

    def _read(self) -> None:
        try:
            data = os.read(self._fd, 1 << 16)
            messages = self._decoder.feed(data)
        except (OSError, FrameError):
            data, messages = b"", []
        if not data:
            self._over.set()
        for message in messages:
            if message["t"] == "cloud":
                self._settings[str(message["key"])] = message["settings"]
            elif message["t"] == "put":
                self._put(message["environment"])
            elif message["t"] == "drop":
                self._watch.drop(message["ids"])
            elif message["t"] == "answers":
                self._watch.answered(message)
            elif message["t"] == "finish":
                self._over.set()
        if messages:
            self._begun.set()

    async def _tell(self) -> None:
        alive = 0.0
        await self._begun.wait()  # who waits for the first word takes nothing else
        while True:
            # While the worker does not read nothing is added: what changes meanwhile is told as it is then.
            changed = self._watch.changes() if not self._out else []
            for place in range(0, len(changed), _FRAME):
                self._send({"t": "changes", "environments": changed[place : place + _FRAME]})
            if not self._out and (questions := self._watch.questions()):
                self._send({"t": "questions", "environments": questions})
            measured = self._watch.metrics() if not self._out else []
            for place in range(0, len(measured), _FRAME):
                self._send({"t": "metrics", "environments": measured[place : place + _FRAME]})
            listed = self._watch.contents() if not self._out else []
            for place in range(0, len(listed), _LISTED):
                self._send({"t": "contents", "environments": listed[place : place + _LISTED]})
            if not self._out and time.monotonic() - alive >= ALIVE:
                alive = time.monotonic()
                self._send({"t": "alive", "made": self._watch.made})
            await asyncio.sleep(TELL)

    def _send(self, message: dict[str, Any]) -> None:
        """As soon as the worker reads: it may be writing, and nobody reads while it waits."""
        self._out.append(memoryview(encode(message)))
        self._write()

    def _write(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._out:
                rest = self._out[0][os.write(self._fd, self._out[0]) :]
                self._out[0] = rest
                if not rest:
                    self._out.popleft()
        except BlockingIOError:
            loop.add_writer(self._fd, self._write)
            return
        except OSError:
            self._out.clear()
            self._over.set()
        loop.remove_writer(self._fd)
