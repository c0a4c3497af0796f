"""The database backend: Django's own, whose write transactions queue up before they begin.

SQLite lets one writer in at a time, and those that come too late sleep for up to a tenth of a second between attempts.
With several threads and processes that adds up: some wait for half a second while others go before them. Here threads
wait on a lock, and processes try a lock on a file beside the database every millisecond. SQLite's own lock still
decides: what begins a transaction without coming here (another program) is waited for as always.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

#: Seconds to wait for other writers, as SQLite's busy_timeout.
PATIENCE = 20.0
_PAUSE = 0.001
_lines: dict[str, _Line] = {}
_lines_lock = threading.Lock()


class _Line:
    """The writers of one database file that are in this process; one of them at a time also holds the file."""

    def __init__(self, path: str) -> None:
        self._path = f"{path}-writers"
        self._threads = threading.Lock()
        self._owner = 0
        self._file = -1

    def enter(self) -> None:
        """Waits for its turn. Raises `OperationalError` after `PATIENCE` seconds."""
        until = time.monotonic() + PATIENCE
        if not self._threads.acquire(timeout=PATIENCE):
            raise OperationalError("database is locked")
        try:
            if self._owner != os.getpid():  # a fork has the file of its parent, and would share its lock
                self._file, self._owner = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), os.getpid()
            while True:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise OperationalError("database is locked") from None
                    time.sleep(_PAUSE)
        except BaseException:
            self._threads.release()
            raise

    def leave(self) -> None:
        """Lets the next one in."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        self._threads.release()


class DatabaseWrapper(base.DatabaseWrapper):
    """See the module."""

    _line: _Line | None = None

    def get_new_connection(self, conn_params: Any) -> Any:
        """A connection. A file that it makes is for its owner only; SQLite gives its other files the same mode."""
        name = str(conn_params["database"])
        if not name.startswith(("file:", ":memory:")):
            # Never opened where it exists: closing a file drops the locks that SQLite has on it in this process.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return super().get_new_connection(conn_params)

    def _start_transaction_under_autocommit(self) -> None:
        name = str(self.settings_dict["NAME"])
        if ":memory:" in name or "mode=memory" in name:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
            return
        with _lines_lock:
            line = _lines.setdefault(name, _Line(name))
        line.enter()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            line.leave()
            raise
        self._line = line

    def _leave(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.leave()

    def _commit(self) -> Any:
        try:
            return super()._commit()  # type: ignore[misc]
        finally:
            # A commit that failed is rolled back next; the line is held until then.
            if self._line is not None and not self.connection.in_transaction:
                self._leave()

    def _rollback(self) -> Any:
        try:
            return super()._rollback()  # type: ignore[misc]
        finally:
            self._leave()

    def _close(self) -> Any:
        try:
            return super()._close()  # type: ignore[misc]
        finally:
            self._leave()
