"""Clients of PostgreSQL as applications have them: one that writes all the time, one that reads, one that looks who is
the primary."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

import psycopg

#: Rows and questions a second; seconds between two looks.
PER_SECOND, LOOK = 50, 0.05


def connect(hosts: str | Sequence[str], user: str, password: str, **more: Any) -> psycopg.Connection[Any]:
    """A connection to the database 'app'; with several hosts to the one that can be written to."""
    host = hosts if isinstance(hosts, str) else ",".join(hosts)
    if not isinstance(hosts, str):
        more.setdefault("target_session_attrs", "read-write")
    return psycopg.connect(
        host=host, user=user, password=password, dbname="app", connect_timeout=2, autocommit=True, **more
    )


def ask(hosts: str | Sequence[str], user: str, password: str, query: str, patience: float = 30) -> Any:
    """The rows of an answer. A server that does not listen yet is asked again; refused logins are not."""
    end = time.monotonic() + patience
    while True:
        try:
            with connect(hosts, user, password) as connection:
                done = connection.execute(query)
                return done.fetchall() if done.description else None
        except psycopg.OperationalError as error:
            if time.monotonic() > end or "authentication failed" in str(error):
                raise
            time.sleep(0.2)


class _Loop(ABC):
    """Does something again and again beside the test, until the block ends."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    @abstractmethod
    def run(self) -> None:
        """Until `stop` is set."""

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop.set()
        self.thread.join(60)


class Writer(_Loop):
    """Writes a number a row, fifty a second, into the table 'rows'; connects again when it has to."""

    def __init__(self, hosts: Sequence[str], login: Callable[[], tuple[str, str]], number: int = 0) -> None:
        super().__init__()
        self.hosts, self.login, self.number = hosts, login, number
        #: When each row was confirmed, by number.
        self.written: dict[int, float] = {}

    def run(self) -> None:
        connection: psycopg.Connection[Any] | None = None
        number = self.number
        while not self.stop.is_set():
            begun = time.monotonic()
            try:
                if connection is None:
                    connection = connect(self.hosts, *self.login(), options="-c statement_timeout=60000")
                number += 1
                connection.execute("INSERT INTO rows VALUES (%s)", (number,))
                self.written[number] = time.monotonic()
            except psycopg.Error:
                if connection is not None:
                    with suppress(psycopg.Error):
                        connection.close()
                connection = None
                self.stop.wait(0.05)
            self.stop.wait(max(0.0, begun + 1 / PER_SECOND - time.monotonic()))
        if connection is not None:
            connection.close()

    def pause(self, since: float | None = None) -> float:
        """The longest time without a row that was confirmed; from a moment on, or from the first row on."""
        times = sorted(at for at in self.written.values() if since is None or at > since)
        times = [*([] if since is None else [since]), *times, time.monotonic()]
        return max(later - earlier for earlier, later in pairwise(times))

    def lost(self, hosts: Sequence[str]) -> set[int]:
        """Rows that were confirmed and are not there."""
        there = {row[0] for row in ask(hosts, *self.login(), "SELECT number FROM rows")}
        return set(self.written) - there


class Reader(_Loop):
    """Asks fifty times a second, each time with a new connection; counts what is refused."""

    def __init__(self, host: str, login: Callable[[], tuple[str, str]]) -> None:
        super().__init__()
        self.host, self.login = host, login
        self.answered, self.refused = 0, list[str]()

    def run(self) -> None:
        while not self.stop.is_set():
            begun = time.monotonic()
            try:
                with connect(self.host, *self.login()) as connection:
                    connection.execute("SELECT 1")
                self.answered += 1
            except psycopg.Error as error:
                self.refused.append(str(error))
            self.stop.wait(max(0.0, begun + 1 / PER_SECOND - time.monotonic()))


class Looker(_Loop):
    """Asks one server every 50 ms whether it takes writes."""

    def __init__(self, host: str, user: str, password: str) -> None:
        super().__init__()
        self.host, self.login = host, (user, password)
        #: Of each answer when it was asked for, when it came, and whether the server is a primary.
        self.answers: list[tuple[float, float, bool]] = []

    def run(self) -> None:
        connection: psycopg.Connection[Any] | None = None
        while not self.stop.is_set():
            begun = time.monotonic()
            try:
                connection = connection or connect(self.host, *self.login)
                row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
                self.answers.append((begun, time.monotonic(), row == (False,)))
            except psycopg.Error:
                if connection is not None:
                    with suppress(psycopg.Error):
                        connection.close()
                connection = None
            self.stop.wait(max(0.0, begun + LOOK - time.monotonic()))
        if connection is not None:
            connection.close()


def primaries(lookers: Sequence[Looker]) -> list[str]:
    """The servers that were the primary, one after the other. Raises `AssertionError` where two were at once."""
    periods: list[tuple[float, float, str]] = []
    for one in lookers:
        since: float | None = None
        last = 0.0
        for asked, came, primary in [*one.answers, (float("inf"), float("inf"), False)]:
            if since is not None and (not primary or asked - last > 2):
                periods.append((since, last, one.host))
                since = None
            if primary:
                since, last = came if since is None else since, asked
    periods.sort()
    for (_, end, earlier), (begin, _, later) in pairwise(periods):
        assert end <= begin or earlier == later, f"{earlier} and {later} were primaries at the same time"
    return [host for _, _, host in periods]
