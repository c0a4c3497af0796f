"""Wake-ups: datagrams to sockets in a folder between processes of one machine, and what PostgreSQL tells of others.

One that is lost costs a second.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from collections import deque
from pathlib import Path

from vetro.server.tasks import notifications

#: Names of sockets: of workers, and of those who wait for the end of a task (their id follows).
WORKER, WAITER = "worker-", "wait-"


def folder(data: Path) -> Path:
    """Where the sockets are; made when it is missing."""
    path = data / "run"
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


class Inbox:
    """A socket ``name`` in ``place``; a context manager that removes it.

    With ``channel`` (`vetro.server.tasks.notifications`) messages of PostgreSQL arrive here, too: all, or those whose
    text is ``only``.
    """

    def __init__(self, place: Path, name: str, channel: str = "", only: str = "") -> None:
        self._path = place / name
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setblocking(False)
        with _Short(place) as short:
            self._socket.bind(f"{short}/{name}")
        self._only = only
        self._told: deque[str] = deque()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock, self._open = threading.Lock(), True
        self._unsubscribe = notifications.subscribe(channel, self._hear) if channel else None

    def _hear(self, message: str) -> None:
        if not self._only or message in ("", self._only):
            with self._lock:
                if self._open:
                    self._told.append(message)
                    os.eventfd_write(self._bell, 1)

    def wait(self, seconds: float) -> list[str]:
        """The messages that came; none after ``seconds``."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        poll.register(self._bell, select.POLLIN)
        found = []
        if poll.poll(max(seconds, 0.0) * 1000):
            try:
                while True:
                    found.append(self._socket.recv(256).decode("utf-8", "replace"))
            except BlockingIOError:
                pass
            try:
                os.eventfd_read(self._bell)
            except BlockingIOError:
                pass
            while self._told:
                found.append(self._told.popleft())
        return found

    def close(self) -> None:
        """Removes the socket."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        with self._lock:
            self._open = False
        os.close(self._bell)
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> Inbox:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def send(place: Path, prefix: str, message: str) -> int:
    """Sends to every socket whose name begins with ``prefix``; how many took it. Those of the dead are removed."""
    try:
        names = [name for name in os.listdir(place) if name.startswith(prefix)]
    except FileNotFoundError:
        return 0
    if not names:
        return 0
    taken = 0
    with _Short(place) as short, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        for name in names:
            try:
                sender.sendto(message.encode(), f"{short}/{name}")
                taken += 1
            except ConnectionRefusedError:
                (place / name).unlink(missing_ok=True)
            except OSError:  # full: it is awake; or gone
                pass
    return taken


def tidy(place: Path) -> None:
    """Removes the sockets of processes that were killed: where nobody sends to them, nothing else does."""
    with _Short(place) as short:
        for name in os.listdir(place):
            if name.startswith((WORKER, WAITER)):
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
                    try:
                        probe.connect(f"{short}/{name}")
                    except ConnectionRefusedError:
                        (place / name).unlink(missing_ok=True)
                    except OSError:  # gone meanwhile
                        pass


class _Short:
    """A short name of a folder: addresses of sockets have at most 108 characters."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __enter__(self) -> str:
        self._fd = os.open(self._place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._fd}"

    def __exit__(self, *error: object) -> None:
        os.close(self._fd)
