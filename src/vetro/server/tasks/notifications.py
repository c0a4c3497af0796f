"""What other processes do, as PostgreSQL tells it at their commits: one connection a process that listens for everybody
in it (STACK.md 2, 3).

Triggers of the database (migration ``dispatch.0002_notify``) send: `EVENTS` with ``project environment task``, `TASKS`
with the id of a task that may be claimed or is to be cancelled, `ENDED` with the id of one that has ended. A process
listens to those that somebody in it has asked for: each message costs every process that hears it. SQLite tells
nothing; nor does a pooler that shares connections between transactions. So whoever waits also looks from time to time:
`hearing` says how seldom will do.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections.abc import Callable
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections

EVENTS, TASKS, ENDED = ("vetro_events", "vetro_tasks", "vetro_ended")
#: Seconds without a message after which the connection is tried.
_ALIVE = 20.0
#: Seconds until a lost connection is made anew: at first, and at most.
_FIRST, _MOST = 0.2, 10.0
_log = logging.getLogger("vetro.listening")

Heard = Callable[[str], None]


def subscribe(channel: str, heard: Heard) -> Callable[[], None]:
    """Calls ``heard(payload)`` for each message of a channel, in a thread of ours: it must be quick and not raise.

    ``heard("")`` is called when messages may have been missed, so whenever the database begins to tell this process of
    the channel. The result ends it. On SQLite, and inside of a transaction (in which nothing of others is seen),
    nothing is ever heard.
    """
    if connections[DEFAULT_DB_ALIAS].vendor != "postgresql" or connection.in_atomic_block:
        return lambda: None
    with _lock:
        listener = _listeners.get(os.getpid())
        if listener is None:
            _listeners.clear()  # a fork has the listener of its parent, without its thread
            listener = _listeners[os.getpid()] = _Listener()
        key = listener.add(channel, heard)
        listener.start()
    return lambda: _leave(listener, key)


def tell(channel: str, payload: str) -> None:
    """Tells at the commit what no trigger tells; nothing on SQLite."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [channel, payload])


def hearing() -> bool:
    """Whether this process hears what happens right now; otherwise who waits has to look often."""
    listener = _listeners.get(os.getpid())
    return listener is not None and listener.up


_lock = threading.Lock()
_listeners: dict[int, _Listener] = {}


def _leave(listener: _Listener, key: object) -> None:
    """An HTTP process goes on listening for the next one who waits; others (and tests) let the connection go."""
    with _lock:
        idle = listener.remove(key) and not os.environ.get("VETRO_HTTP")
        if idle and _listeners.get(os.getpid()) is listener:
            del _listeners[os.getpid()]
    if idle:
        listener.stop()


class _Listener:
    """The connection and its thread."""

    def __init__(self) -> None:
        self.up = False
        self._heard: dict[object, tuple[str, Heard]] = {}
        #: Channels that somebody has asked for since the start, and those that the connection listens to.
        self._wanted: dict[str, None] = {}
        self._listens: set[str] = set()
        self._ending = False
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._work, name="vetro listening", daemon=True)

    def start(self) -> None:
        """Once somebody is there to be told that it hears."""
        if self._thread.ident is None:
            self._thread.start()

    def add(self, channel: str, heard: Heard) -> object:
        key = object()
        self._heard = {**self._heard, key: (channel, heard)}
        if channel not in self._wanted:
            self._wanted = {**self._wanted, channel: None}
            os.eventfd_write(self._bell, 1)
        return key

    def remove(self, key: object) -> bool:
        """Whether nobody is left."""
        self._heard = {other: value for other, value in self._heard.items() if other is not key}
        return not self._heard

    def stop(self) -> None:
        """Ends the thread and closes the connection."""
        self._ending = True
        os.eventfd_write(self._bell, 1)
        if threading.current_thread() is not self._thread:
            self._thread.join(5.0)
        if not self._thread.is_alive():
            os.close(self._bell)

    def _tell(self, channel: str | None, payload: str) -> None:
        for wanted, heard in list(self._heard.values()):
            if channel is None or channel == wanted:
                heard(payload)

    def _work(self) -> None:
        import psycopg

        pause = _FIRST
        while not self._ending:
            try:
                with _connect() as database:
                    # What comes while a statement is answered goes to handlers, and is gone where there are none.
                    database.add_notify_handler(lambda told: self._tell(told.channel, told.payload))
                    self._listens.clear()
                    self._ask(database)
                    pause = _FIRST
                    self._listen(database)
            except Exception as error:  # whatever it is: nobody would hear anything any more
                if not self._ending:
                    usual = isinstance(error, (psycopg.Error, OSError))
                    log = _log.error if not usual else _log.warning if self.up else _log.debug
                    log("the database does not tell what happens, it is asked instead: %s", type(error).__name__)
            if self.up:
                self.up = False
                self._tell(None, "")
            if not self._ending:
                select.select([self._bell], [], [], pause)
                self._hush()
                pause = min(pause * 2, _MOST)

    def _ask(self, database: Any) -> None:
        """Listens to what is wanted by now; those who wanted it may have missed something before."""
        new = [channel for channel in self._wanted if channel not in self._listens]
        for channel in new:
            database.execute(f"LISTEN {channel}")
        self._listens.update(new)
        self.up = True
        for channel in new:
            self._tell(channel, "")

    def _hush(self) -> None:
        """The bell was heard. What it rang for is written down elsewhere."""
        try:
            os.eventfd_read(self._bell)
        except BlockingIOError:
            pass

    def _listen(self, database: Any) -> None:
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        poll.register(database.pgconn.socket, select.POLLIN)
        tried = time.monotonic()
        while not self._ending:
            if not poll.poll(_ALIVE * 1000) or time.monotonic() - tried > _ALIVE:
                database.execute("SELECT 1")  # raises where the connection is gone and nobody said so
                tried = time.monotonic()
            self._hush()
            self._ask(database)
            database.pgconn.consume_input()
            while (message := database.pgconn.notifies()) is not None:
                self._tell(message.relname.decode(), message.extra.decode("utf-8", "replace"))


def _connect() -> Any:
    """A connection of its own: those of Django belong to a thread, or to the pool."""
    import psycopg

    wrapper = connections[DEFAULT_DB_ALIAS]
    wanted = {
        name: value
        for name, value in wrapper.get_connection_params().items()
        if name not in ("context", "cursor_factory", "prepare_threshold", "client_encoding")
    }
    return psycopg.connect(**{**wanted, "autocommit": True, "application_name": "vetro listening"})
