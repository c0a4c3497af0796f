"""`FileJournal`: the journal of a task in an SQLite file, which may hold the journals of many tasks.

Write-ahead logging with ``synchronous=FULL``: a commit is one append and one fsync, a killed process leaves a file that
opens as of its last commit, and readers (`vetro env log`) never wait. The size is that of the effects and notes plus
one model: a checkpoint replaces the one before.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vetro.engine.worker.journal import (
    Ended,
    JournalError,
    NoSuchTask,
    Note,
    NotOpen,
    OtherEngine,
    OtherTask,
    Progress,
    RecordedEffect,
)
from vetro.muranopl.runtime.stacks import deep_calls


class JournalDamaged(JournalError):
    """The file is no journal, was written by a newer version, or is damaged."""


#: Number of the tables' form, in ``user_version`` of the file.
FORMAT = 1
#: Seconds a write waits for another process that writes into the same file.
_PATIENCE = 30.0

_TABLES = """
CREATE TABLE IF NOT EXISTS tasks (task TEXT PRIMARY KEY, begin TEXT NOT NULL, engine TEXT NOT NULL,
  begun REAL NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, deaths INTEGER NOT NULL DEFAULT 0, cancelled TEXT,
  model TEXT, model_at REAL, ended TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS effects (number INTEGER PRIMARY KEY, task TEXT NOT NULL, key TEXT NOT NULL,
  kind TEXT NOT NULL, digest TEXT NOT NULL, about TEXT NOT NULL, begun REAL NOT NULL, place INTEGER, answer TEXT,
  error TEXT, ended REAL, UNIQUE (task, key));
CREATE TABLE IF NOT EXISTS notes (number INTEGER PRIMARY KEY, task TEXT NOT NULL, key TEXT NOT NULL,
  kind TEXT NOT NULL, digest TEXT NOT NULL, args TEXT NOT NULL, at REAL NOT NULL, UNIQUE (task, key));
"""


def _text(value: Any) -> str:
    with deep_calls():
        return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _value(text: str | None) -> Any:
    if text is None:
        return None
    with deep_calls():
        return json.loads(text)


def _connect(path: Path) -> sqlite3.Connection:
    try:
        if not path.exists():
            path.touch(0o600)  # plans and templates hold passwords; SQLite gives its other files the same mode
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.OperationalError) as error:
        raise JournalDamaged(f"journal {path} cannot be opened: {error}") from error
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > FORMAT:
            raise JournalDamaged(
                f"journal {path} has format {version}, this engine writes {FORMAT}", "use the engine that wrote it"
            )
        if version == 0:
            connection.executescript(_TABLES)
            connection.execute(f"PRAGMA user_version={FORMAT}")
    except sqlite3.DatabaseError as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError):
            raise JournalDamaged(f"journal {path} cannot be opened: {error}") from error
        raise JournalDamaged(f"{path} is no journal: {error}") from error
    except BaseException:
        connection.close()
        raise
    return connection


class FileJournal:
    """See `vetro.engine.worker.journal.Journal`. ``task`` is the id of the task; the file is made when it is missing.

    Raises `JournalDamaged` for a file that is no journal.
    """

    def __init__(self, path: str | Path, task: str) -> None:
        self.path = Path(path)
        self.task = task
        self.written = 0
        self._db = _connect(self.path)
        self._collecting = False
        row = self._db.execute("SELECT max(place) FROM effects WHERE task=?", (task,)).fetchone()
        self._places = row[0] or 0

    # -- writing -------------------------------------------------------------------------------------------------------

    def _write(self, statement: str, *values: Any) -> int:
        if not self._collecting:
            self._db.execute("BEGIN IMMEDIATE")
            self._collecting = True
        self.written += sum(len(value) for value in values if isinstance(value, str))
        return self._db.execute(statement, values).rowcount

    def begin(self, task: Mapping[str, Any], engine: str, at: float) -> Progress:
        """See `Journal.begin`."""
        wanted = _text(task)
        try:
            found = self.progress()
        except NoSuchTask:
            self._write(
                "INSERT INTO tasks (task, begin, engine, begun) VALUES (?, ?, ?, ?)", self.task, wanted, engine, at
            )
            return self.progress()
        if _value(wanted) != found.task:
            raise OtherTask(f"journal {self.path} holds another task with the id '{self.task}'")
        if found.engine != engine and found.ended is None:
            raise OtherEngine(f"task '{self.task}' was begun by engine {found.engine}, this is {engine}")
        return found

    def restore(self, progress: Progress) -> None:
        """Writes a task as it was in another journal, without its effects. Raises `OtherTask` when it is here."""
        try:
            self.progress()
        except NoSuchTask:
            self._write(
                "INSERT INTO tasks (task, begin, engine, begun, attempts, deaths, cancelled)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                *(self.task, _text(progress.task), progress.engine, progress.begun),
                *(progress.attempts, progress.deaths, progress.cancelled),
            )
            return
        raise OtherTask(f"journal {self.path} holds a task with the id '{self.task}' already")

    def attempt(self, *, died: bool = False) -> None:
        """See `Journal.attempt`."""
        column = "deaths" if died else "attempts"
        self._write(f"UPDATE tasks SET {column} = {column} + 1 WHERE task=?", self.task)

    def cancel(self, reason: str) -> None:
        """See `Journal.cancel`."""
        self._write("UPDATE tasks SET cancelled=? WHERE task=? AND cancelled IS NULL", reason, self.task)

    def intent(self, entry: RecordedEffect) -> None:
        """See `Journal.intent`."""
        self._write(
            "INSERT INTO effects (task, key, kind, digest, about, begun) VALUES (?, ?, ?, ?, ?, ?)",
            *(self.task, entry.key, entry.kind, entry.digest, _text(entry.about), entry.begun),
        )

    def result(self, key: str, answer: Any, error: Mapping[str, Any] | None, at: float) -> int:
        """See `Journal.result`. Raises `NotOpen`."""
        changed = self._write(
            "UPDATE effects SET place=?, answer=?, error=?, ended=? WHERE task=? AND key=? AND place IS NULL",
            *(self._places + 1, _text(answer), None if error is None else _text(error), at, self.task, key),
        )
        if not changed:
            raise NotOpen(f"task '{self.task}' has no effect {key} that waits for its result")
        self._places += 1
        return self._places

    def forget(self, key: str) -> None:
        """See `Journal.forget`."""
        if not self._write("DELETE FROM effects WHERE task=? AND key=? AND place IS NULL", self.task, key):
            raise NotOpen(f"task '{self.task}' has no effect {key} that waits for its result")

    def note(self, note: Note) -> None:
        """See `Journal.note`."""
        self._write(
            "INSERT OR IGNORE INTO notes (task, key, kind, digest, args, at) VALUES (?, ?, ?, ?, ?, ?)",
            *(self.task, note.key, note.kind, note.digest, _text(note.args), note.at),
        )

    def checkpoint(self, model: Mapping[str, Any], at: float) -> None:
        """See `Journal.checkpoint`."""
        self._write("UPDATE tasks SET model=?, model_at=? WHERE task=?", _text(model), at, self.task)

    def end(self, ended: Ended) -> None:
        """See `Journal.end`."""
        data = {"state": ended.state, "result": ended.result, "error": ended.error, "at": ended.at}
        self._write("UPDATE tasks SET ended=? WHERE task=?", _text(data), self.task)

    def reopen(self, begun: float) -> None:
        """See `Journal.reopen`."""
        self._write("UPDATE tasks SET ended=NULL, begun=? WHERE task=?", begun, self.task)

    def commit(self) -> None:
        """See `Journal.commit`."""
        if self._collecting:
            self._db.execute("COMMIT")
            self._collecting = False

    # -- reading -------------------------------------------------------------------------------------------------------

    def progress(self) -> Progress:
        """See `Journal.progress`."""
        row = self._db.execute(
            "SELECT begin, engine, begun, attempts, deaths, cancelled, ended FROM tasks WHERE task=?", (self.task,)
        ).fetchone()
        if row is None:
            raise NoSuchTask(f"journal {self.path} holds no task '{self.task}'")
        begin, engine, begun, attempts, deaths, cancelled, ended = row
        over = None if ended is None else Ended(**_value(ended))
        return Progress(_value(begin), engine, begun, attempts, deaths, cancelled, over)

    def _entries(self) -> Iterator[RecordedEffect]:
        rows = self._db.execute(
            "SELECT key, kind, digest, about, begun, place, answer, error, ended FROM effects WHERE task=?"
            " ORDER BY number",
            (self.task,),
        )
        for key, kind, digest, about, begun, place, answer, error, ended in rows:
            yield RecordedEffect(
                *(key, kind, digest, _value(about), begun, place),
                answer=_value(answer),
                error=_value(error),
                ended=ended,
            )

    def entries(self) -> Sequence[RecordedEffect]:
        """See `Journal.entries`."""
        return list(self._entries())

    def notes(self, *kinds: str) -> Sequence[Note]:
        """See `Journal.notes`."""
        where = f" AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""
        rows = self._db.execute(
            f"SELECT key, kind, args, digest, at FROM notes WHERE task=?{where} ORDER BY number", (self.task, *kinds)
        )
        return [Note(key, kind, _value(args), digest, at) for key, kind, args, digest, at in rows]

    def model(self) -> Mapping[str, Any] | None:
        """See `Journal.model`."""
        row = self._db.execute("SELECT model FROM tasks WHERE task=?", (self.task,)).fetchone()
        found: Mapping[str, Any] | None = _value(row[0]) if row is not None else None
        return found

    def close(self) -> None:
        """See `Journal.close`."""
        if self._collecting:
            self._db.execute("ROLLBACK")
            self._collecting = False
        self._db.close()

    def __enter__(self) -> FileJournal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
