"""`StateFile`: one SQLite file in WAL mode that several threads and processes share.

A transaction is all or nothing also when its process is killed.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vetro.clouds.interface import CloudError

#: Milliseconds for which others are waited for who write, and for those who read when the journal is emptied.
_BUSY_MS, _PURGE_MS = 60_000, 2_000


class StateUnusable(CloudError):
    """The file with the cloud's state cannot be used; the message says why and what to do."""

    code = "CLD127"


class StateFile:
    """A connection that threads share. Statements of several threads are made one after the other."""

    #: What is said of a file that cannot be used.
    _purpose = ""
    #: Statements that make its tables, with semicolons between them.
    _schema = ""
    #: Changes with the schema; a file with a higher number belongs to a later Vetro.
    _version = 1
    #: Statements that bring a file of a version to the next one.
    _upgrades: Mapping[int, str] = {}
    #: Further settings of the connection.
    _pragmas: tuple[str, ...] = ()
    #: Whether a file of an earlier version is written anew, without its free pages.
    _compact = False

    def __init__(self, path: Path | None, content: bytes = b"") -> None:
        """Opens or makes the file. None: it is in memory only, and begins with ``content`` (`snapshot`).

        Raises `StateUnusable`.
        """
        self.path = path
        self._lock = threading.RLock()
        self._depth = 0
        try:
            if path is not None and not path.exists():
                path.touch(0o600)  # templates and plans hold passwords; SQLite gives its other files the same mode
            self._connection = sqlite3.connect(
                ":memory:" if path is None else path,
                timeout=_BUSY_MS / 1000,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                if content:
                    self._connection.deserialize(content)
                self._prepare()
            except BaseException:
                self._connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise StateUnusable(f"{path} cannot be used {self._purpose}: {error}") from None

    def _prepare(self) -> None:
        run = self._connection.execute
        run("PRAGMA journal_mode = WAL")
        # A killed process loses nothing; a power cut at most the last moments, unless the settings say otherwise.
        run("PRAGMA synchronous = NORMAL")
        run("PRAGMA secure_delete = ON")  # passwords that were dropped would stay in free pages
        for pragma in self._pragmas:
            run(f"PRAGMA {pragma}")
        with self.transaction():
            found = run("PRAGMA user_version").fetchone()[0]
            if found > self._version:
                raise StateUnusable(f"{self.path} was written by a later version of Vetro; use that version")
            if found == 0:
                for statement in self._schema.split(";"):
                    run(statement)
            for version in range(found, self._version) if found else ():
                for statement in self._upgrades[version].split(";"):
                    run(statement)
            if found != self._version:
                run(f"PRAGMA user_version = {self._version}")
        if self._compact and 0 < found < self._version:
            with contextlib.suppress(sqlite3.OperationalError):  # others are at work: what is free is used up by and by
                run("VACUUM")
                self.purge()

    def _ended(self) -> None:
        """Called when the outermost transaction has ended, with the lock held."""

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements of the block or none. What a block within a block did is undone with it, too."""
        with self._lock:
            outer, name = self._depth == 0, f"inner{self._depth}"
            self._connection.execute("BEGIN IMMEDIATE" if outer else f"SAVEPOINT {name}")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK" if outer else f"ROLLBACK TO {name}")
                raise
            else:
                self._connection.execute("COMMIT" if outer else f"RELEASE {name}")
            finally:
                self._depth -= 1
                if outer:
                    self._ended()

    def begin(self) -> None:
        """Begins a transaction that `commit` ends, for work that is collected; the lock is held meanwhile."""
        self._lock.acquire()
        try:
            if self._depth == 0:
                self._connection.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._lock.release()
            raise
        self._depth += 1

    def commit(self) -> None:
        """Ends what `begin` began. When it cannot be written, nothing of it was done."""
        self._end("COMMIT")

    def rollback(self) -> None:
        """Undoes what was done since the outermost `begin`, and ends what `begin` began."""
        self._end("ROLLBACK")

    def _end(self, how: str) -> None:
        try:
            self._depth -= 1
            if self._depth == 0:
                try:
                    self._connection.execute(how)
                finally:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    self._ended()
        finally:
            self._lock.release()

    def run(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> int:
        """Makes one statement; the number of rows it changed."""
        with self._lock:
            return self._connection.execute(sql, values).rowcount

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Makes one statement for each row of values."""
        with self._lock:
            self._connection.executemany(sql, rows)

    def rows(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that a query finds."""
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> tuple[Any, ...] | None:
        """The first row that a query finds."""
        with self._lock:
            found: tuple[Any, ...] | None = self._connection.execute(sql, values).fetchone()
            return found

    def purge(self) -> None:
        """Empties the journal beside the file, which has what was there before. While others read from it, it is left
        to the next one, or to who closes the file last."""
        with self._lock:
            self._connection.execute(f"PRAGMA busy_timeout = {_PURGE_MS}")
            try:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self._connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")

    def snapshot(self) -> bytes:
        """All of it, for another one in memory. Not of files: these are in a mode that only files have."""
        with self._lock:
            return self._connection.serialize()

    def close(self) -> None:
        """Closes the file. Doing it twice is fine."""
        with self._lock:
            self._connection.close()
