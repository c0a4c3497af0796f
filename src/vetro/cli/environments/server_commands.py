"""`vetro exec`, `vetro ssh`: commands in servers, with the streams and the terminal of the one who runs them here."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import quote

from vetro.cli.client import find
from vetro.cli.client.requests import Client, ClientError, Refused, Unreachable

#: Bytes that are sent at once, and seconds until a server that has enough of it is asked again.
PART, _PAUSE = 64 << 10, 0.1


#: Takes what a command writes.
Sink: TypeAlias = Callable[[bytes], object]


class ServerTarget:
    """A server of an environment; without a name the only one that there is."""

    def __init__(self, client: Client, name: str, server: str) -> None:
        environment = find.environment(client, name)
        self.client = client
        self.path = f"/environments/{environment['id']}"
        if not server:
            there = client.get(f"{self.path}/servers")["items"]
            if len(there) != 1:
                names = ", ".join(sorted(row["name"] for row in there))
                much, hint = ("several servers", f"name one: {names}") if there else ("no servers", None)
                raise Refused(409, f"environment '{environment['name']}' has {much}", hint)
            server = there[0]["id"]
        self.server = server

    def run(
        self,
        words: Sequence[str],
        stdout: Sink,
        stderr: Sink,
        *,
        terminal: os.terminal_size | None = None,
        feed: Callable[[Sender], None] | None = None,
    ) -> int:
        """The status that a command ended with. ``feed`` gives it input, in a thread of its own. Raises `ClientError`,
        also where the service has ended the command."""
        wanted = {
            "command": list(words),
            "terminal": None if terminal is None else _size(terminal),
            "input": feed is not None,
        }
        events = self.client.events(f"{self.path}/servers/{quote(self.server, safe='')}/commands", wanted)
        sender: Sender | None = None
        try:
            for kind, data in events:
                if kind == "begin" and feed is not None:
                    sender = Sender(self.client, f"{self.path}/commands/{data['id']}/input")
                    threading.Thread(target=sender.run, args=(feed,), daemon=True).start()
                elif kind in ("stdout", "stderr"):
                    (stdout if kind == "stdout" else stderr)(base64.b64decode(data["data"]))
                elif kind == "exit":
                    return int(data["code"])
                elif kind == "end":
                    raise Refused(409, f"the command was ended: {data['reason']}", None)
            raise Unreachable("the service went away before the command had ended")
        finally:
            events.close()
            if sender is not None:
                sender.finish()


class Sender:
    """Input for a command, as a file that is written to. What comes too late is dropped."""

    def __init__(self, client: Client, path: str) -> None:
        self._client = client
        self._path = path
        self._ended = False
        self._lock = threading.Lock()

    def run(self, feed: Callable[[Sender], None]) -> None:
        """Lets ``feed`` write, then says that no more follows."""
        try:
            feed(self)
        finally:
            self.send(end=True)

    def write(self, data: bytes | memoryview) -> int:
        """Gives the command input."""
        for at in range(0, len(data), PART):
            self.send(data=base64.b64encode(data[at : at + PART]).decode("ascii"))
        return len(data)

    def resize(self, size: os.terminal_size) -> None:
        """Says what size the terminal has now."""
        self.send(terminal=_size(size))

    def finish(self) -> None:
        """Sends nothing any more."""
        with self._lock:
            self._ended = True

    def send(self, **about: Any) -> None:
        """Sends it, as soon as the command takes it."""
        with self._lock:
            while not self._ended:
                try:
                    self._client.post(self._path, about)
                    return
                except ClientError as error:
                    if isinstance(error, Refused) and error.status == 429:
                        time.sleep(_PAUSE)
                        continue
                    self._ended = True  # what follows the command says why


def run(client: Client, name: str, server: str, words: Sequence[str], *, takes_input: bool, terminal: bool) -> int:
    """`vetro exec`: the status that the command ended with."""
    target = ServerTarget(client, name, server)
    if not terminal:
        return target.run(words, writer(1), writer(2), feed=_pass_on if takes_input else None)
    with _raw() as resized:
        feed = partial(_type, resized)
        return target.run(words, writer(1), writer(2), terminal=shutil.get_terminal_size(), feed=feed)


def _pass_on(sender: Sender) -> None:
    while data := os.read(_stdin(), PART):
        sender.write(data)


def _type(resized: threading.Event, sender: Sender) -> None:
    """What is typed here; the size follows the window."""

    def follow() -> None:
        while resized.wait():
            resized.clear()
            sender.resize(shutil.get_terminal_size())

    threading.Thread(target=follow, daemon=True).start()
    _pass_on(sender)


@contextmanager
def _raw() -> Iterator[threading.Event]:
    """The terminal hands over each key as it is pressed, Ctrl-C too; afterwards it is as before. The event is set when
    the window has another size."""
    number, resized = _stdin(), threading.Event()
    before = termios.tcgetattr(number)
    handler = signal.signal(signal.SIGWINCH, lambda *_: resized.set())
    try:
        tty.setraw(number, termios.TCSADRAIN)  # what was typed ahead is kept
        yield resized
    finally:
        signal.signal(signal.SIGWINCH, handler)
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def _stdin() -> int:
    return sys.stdin.fileno()


def writer(number: int) -> Sink:
    """Writes all that it gets to a descriptor."""

    def write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(number, view) :]

    return write


def _size(size: os.terminal_size) -> dict[str, int]:
    return {"columns": max(1, min(size.columns, 1000)), "rows": max(1, min(size.lines, 1000))}
