"""`Remembered`: what was found out lately, so that it is not found out again at once; `UntilCommit`: the same of what
the database said, as long as it says it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from vetro.server.queries import own_connection

T = TypeVar("T")


class Remembered:
    """The last values made, by key. Thread-safe; what two threads want at once may be made twice."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value, made now if it is not known."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                found: T = self._values[key]
                return found
        made = make()
        with self._lock:
            self._values[key] = made
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return made


class UntilCommit:
    """Values made from what SQLite holds, up to ``most`` for each thread; all are made anew after any change.

    SQLite tells a connection whether others have committed since it was asked last, and how many rows it has changed
    itself: asking that takes a fifth of the time of a query over some tables. Nothing is remembered on other
    databases, and within a transaction, which may be rolled back.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._local = threading.local()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value, made now if it is not known. ``make`` only reads. Raises `django.db.Error`."""
        connection = own_connection()
        if connection is None or connection.in_transaction:
            return make()
        # Asked before the value is made: what is committed meanwhile shows the next time.
        stamp = (connection.execute("PRAGMA data_version").fetchone()[0], connection.total_changes)
        local = self._local
        if getattr(local, "connection", None) is not connection or local.stamp != stamp:
            local.connection, local.stamp, local.values = connection, stamp, {}
        values: dict[Hashable, Any] = local.values
        if key in values:
            found: T = values[key]
            return found
        made = make()
        if len(values) >= self._most:
            values.clear()
        values[key] = made
        return made
