"""Journals as JSON lines: to send an environment to a server, or to read what happened without SQLite.

A line ``{"journal": 1, "task": {...}, "engine", "begun", ...}`` begins a task; then follow lines with ``intent``,
``result`` and ``note``, and at last ``model`` and ``ended``. What is read back continues a task as the file did.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vetro.engine.journal import Ended, Entry, Journal, JournalDamaged, Note, Progress
from vetro.engine.journal_sqlite import SqliteJournal
from vetro.muranopl.stacks import deep_calls

#: Number of the form of the lines.
FORMAT = 1


def lines(journal: Journal) -> Iterator[str]:
    """The lines of one task, each with its line feed. Raises `NoSuchTask`."""
    progress = asdict(journal.progress())
    ended = progress.pop("ended")
    yield _line({"journal": FORMAT, **progress})
    entries = journal.entries()
    for entry in entries:
        yield _line({"intent": [entry.key, entry.kind, entry.digest, entry.about, entry.begun]})
    for entry in sorted((e for e in entries if not e.open), key=lambda e: e.place or 0):
        yield _line({"result": [entry.key, entry.answer, entry.error, entry.ended]})
    for note in journal.notes():
        yield _line({"note": [note.key, note.kind, note.args, note.digest, note.at]})
    model = journal.model()
    if model is not None:
        yield _line({"model": model})
    if ended is not None:
        yield _line({"ended": ended})


def read_lines(text: Iterable[str], path: str | Path) -> list[str]:
    """Adds the tasks of these lines to the journal in the file ``path``; their ids.

    Raises `JournalDamaged` for lines that are none, and `OtherTask` for a task that the file has already. Nothing of
    the task with the mistake, or after it, is kept then.
    """
    tasks: list[str] = []
    journal: SqliteJournal | None = None
    number = 0
    try:
        for number, line in enumerate(text, 1):
            with deep_calls():
                data = json.loads(line)
            if "journal" in data:
                _finish(journal)
                journal = _begin(data, path)
                tasks.append(journal.task)
            elif journal is None:
                raise JournalDamaged("the first line of a journal must say which task it is about")
            else:
                _add(journal, data, number)
        _finish(journal)
        journal = None
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise JournalDamaged(f"line {number} of the journal cannot be read: {error}") from error
    finally:
        if journal is not None:
            journal.close()
    return tasks


def _line(data: Mapping[str, Any]) -> str:
    with deep_calls():
        return json.dumps(data, separators=(",", ":")) + "\n"


def _begin(data: dict[str, Any], path: str | Path) -> SqliteJournal:
    if data.pop("journal") != FORMAT:
        raise JournalDamaged("the lines were written by a newer version")
    progress = Progress(**data)
    journal = SqliteJournal(path, progress.task["id"])
    try:
        journal.restore(progress)
    except BaseException:
        journal.close()
        raise
    return journal


def _add(journal: SqliteJournal, data: Mapping[str, Any], number: int) -> None:
    ((kind, value),) = data.items()
    if kind == "intent":
        journal.intent(Entry(*value))
    elif kind == "result":
        journal.result(*value)
    elif kind == "note":
        journal.note(Note(*value))
    elif kind == "model":
        journal.checkpoint(value, 0.0)
    elif kind == "ended":
        journal.end(Ended(**value))
    else:
        raise JournalDamaged(f"line {number} of the journal is of an unknown sort '{kind}'")


def _finish(journal: SqliteJournal | None) -> None:
    if journal is not None:
        journal.commit()
        journal.close()
