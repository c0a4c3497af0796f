"""`RecentCache`: what was found out lately, so that it is not found out again at once; `UntilCommit`: the same of what
the database said, as long as it says it."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from vetro.server.queries import own_connection

T = TypeVar("T")


def as_text(value: Any) -> int:
    """What plain data weigh: characters of them as JSON. In memory they take some times as many bytes."""
    return len(json.dumps(value, ensure_ascii=False))


class RecentCache:
    """The last values made, by key. Thread-safe; what two threads want at once may be made twice.

    At most ``most`` of them, and all together not heavier than ``heaviest`` as ``weigh`` tells: how large what packages
    say becomes is up to whoever writes them. What is heavier itself is not kept.
    """

    def __init__(self, most: int, heaviest: int = 0, weigh: Callable[[Any], int] = lambda value: 0) -> None:
        self._most = most
        self._heaviest = heaviest
        self._weigh = weigh
        self._weight = 0
        self._lock = threading.Lock()
        #: Value and weight.
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def known(self, key: Hashable) -> Any:
        """The value; None where it is not known."""
        with self._lock:
            return self._values[key][0] if key in self._values else None

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value, made now if it is not known."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                found: T = self._values[key][0]
                return found
        made = make()
        weight = self._weigh(made)
        with self._lock:
            if weight <= self._heaviest:
                self._weight += weight - self._values.pop(key, (None, 0))[1]
                self._values[key] = (made, weight)
            while len(self._values) > self._most or self._weight > self._heaviest:
                self._weight -= self._values.popitem(last=False)[1][1]
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
