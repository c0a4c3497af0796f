"""Environments as earlier versions kept them: a folder each, with JSON files and a journal in SQLite. Read only.

::

    environments/<name>/environment.json    id, name, how servers are made, packages by name, version and digest
                        packages/           the archives, named by their SHA-256
                        model-<n>.json      the object model after task n
                        tasks/<n>/          task.json, outcome.json; without the second one it was interrupted
                        journal.db          the journal of its tasks
                        reports.jsonl       status lines of tasks without journal
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vetro.engine.worker.journal import Ended, Entry, Note
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.server.errors import Invalid

#: Newest version of the layout.
_FORMAT = 1
_JOURNAL_FORMAT = 1


@dataclass
class OldJournal:
    """The journal of one task, in the order in which it was written."""

    task: dict[str, Any]
    engine: str
    begun: float
    attempts: int
    deaths: int
    cancelled: str | None
    model: Mapping[str, Any] | None
    model_at: float | None
    ended: Ended | None
    entries: Sequence[Entry]
    notes: Sequence[Note]


@dataclass
class OldTask:
    """One task. ``task`` or ``outcome`` is None where the file is missing or damaged."""

    number: int
    task: dict[str, Any] | None
    outcome: dict[str, Any] | None
    finished: bool
    journal: OldJournal | None = None
    reports: list[dict[str, Any]] = field(default_factory=list)


class OldEnvironment:
    """One environment. Raises `Invalid` for a folder whose environment.json cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        head = _mapping(path / "environment.json")
        if not isinstance(head.get("format"), int) or head["format"] > _FORMAT:
            raise Invalid(f"{path} was written by a newer Vetro", hint="use that version for it")
        try:
            self.id, self.name, self.created = str(head["id"]), str(head["name"]), float(head["created"])
            self.packages = [{key: str(entry[key]) for key in ("name", "version", "digest")}
                             for entry in head["packages"]]  # fmt: skip
        except (KeyError, TypeError, ValueError):
            raise Invalid(f"{path / 'environment.json'} is damaged", hint="restore it from a backup") from None
        self.settings = {key: head[key] for key in ("driver", "script", "region", "settings") if head.get(key)}

    def archive(self, digest: str) -> bytes:
        """The archive of a package. Raises `OSError`."""
        return (self.path / "packages" / f"{digest}.zip").read_bytes()

    def models(self) -> dict[int, dict[str, Any]]:
        """The models by number; damaged ones are left out. Raises `Invalid` where none is left."""
        found = {}
        for path in self.path.glob("model-*.json"):
            if path.stem[6:].isdigit():
                with contextlib.suppress(Invalid):
                    found[int(path.stem[6:])] = _mapping(path)
        if not found:
            raise Invalid(f"environment '{self.name}' has no model", hint="restore model-0.json from a backup")
        return dict(sorted(found.items()))

    def tasks(self) -> list[OldTask]:
        """All tasks, oldest first, with what is in the journal and the file of reports."""
        folder = self.path / "tasks"
        numbers = sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit()) if folder.is_dir() else []
        journals, reports = self._journals(), self._reports()
        found = []
        for number in numbers:
            place = folder / str(number)
            if not (place / "task.json").exists():
                continue
            task, outcome = _perhaps(place / "task.json"), _perhaps(place / "outcome.json")
            journal = journals.get(str((task or {}).get("id") or f"{self.id}-{number}"))
            lines = reports.get(number, []) if journal is None else []
            found.append(OldTask(number, task, outcome, (place / "outcome.json").exists(), journal, lines))
        return found

    def _reports(self) -> dict[int, list[dict[str, Any]]]:
        found: dict[int, dict[Any, dict[str, Any]]] = {}
        try:
            lines = (self.path / "reports.jsonl").read_bytes().decode("utf-8", "surrogatepass").splitlines()
        except (OSError, UnicodeDecodeError):
            return {}
        for line in lines:
            with contextlib.suppress(ValueError, RecursionError):  # a line that a crash cut off
                entry = json.loads(line)
                if isinstance(entry, dict) and isinstance(entry.get("task"), int):
                    found.setdefault(entry["task"], {}).setdefault(entry.get("key"), entry)
        return {number: list(entries.values()) for number, entries in found.items()}

    def _journals(self) -> dict[str, OldJournal]:
        path = self.path / "journal.db"
        if not path.exists():
            return {}
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=20)) as connection:
                if connection.execute("PRAGMA user_version").fetchone()[0] != _JOURNAL_FORMAT:
                    return {}
                return {journal.task["id"]: journal for journal in _journals(connection)}
        except (sqlite3.DatabaseError, ValueError, KeyError, TypeError):  # a damaged one hides no environment
            return {}

    @contextlib.contextmanager
    def locked(self) -> Iterator[bool]:
        """Whether no command of the earlier version works on it; none does during the block."""
        with open(self.path / "lock", "a", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True


def _journals(connection: sqlite3.Connection) -> Iterator[OldJournal]:
    heads = connection.execute(
        "SELECT task, begin, engine, begun, attempts, deaths, cancelled, model, model_at, ended FROM tasks"
    ).fetchall()
    for id, begin, engine, begun, attempts, deaths, cancelled, model, model_at, ended in heads:
        end = _value(ended)
        effects = connection.execute(
            "SELECT key, kind, digest, about, begun, place, answer, error, ended FROM effects WHERE task=?"
            " ORDER BY number",
            (id,),
        )
        notes = connection.execute("SELECT key, kind, args, digest, at FROM notes WHERE task=? ORDER BY number", (id,))
        yield OldJournal(
            {**_value(begin), "id": id},
            *(engine, begun, attempts, deaths, cancelled, _value(model), model_at),
            None if end is None else Ended(**end),
            [
                Entry(
                    key, kind, digest, _value(about), at, place, answer=_value(answer), error=_value(error), ended=end
                )
                for key, kind, digest, about, at, place, answer, error, end in effects
            ],
            [Note(key, kind, _value(args), digest, at) for key, kind, args, digest, at in notes],
        )


def _value(text: str | None) -> Any:
    if text is None:
        return None
    with deep_calls():
        return json.loads(text)


def _mapping(path: Path) -> dict[str, Any]:
    try:
        with deep_calls():
            data = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    except (OSError, ValueError, RecursionError) as error:
        raise Invalid(f"{path} is damaged: {error}", hint="restore it from a backup") from None
    if not isinstance(data, dict):
        raise Invalid(f"{path} is damaged: it holds no mapping", hint="restore it from a backup")
    return data


def _perhaps(path: Path) -> dict[str, Any] | None:
    try:
        return _mapping(path)
    except Invalid:
        return None
