"""Environments as earlier versions kept them: a folder each, with JSON files and a journal in SQLite. Read only.

::

    environments/<name>/environment.json    id, name, how servers are made, packages by name, version and digest
                        packages/           the archives, named by their SHA-256
                        model-<n>.json      the object model after task n
                        tasks/<n>/          task.json, outcome.json; without the second one it was interrupted
                        journal.db          the journal of its tasks
                        reports.jsonl       status lines of tasks without journal

Whoever has such a folder may have it from somebody else. So `answer` runs behind the walls of tasks
(`vetro.server.sandboxed_answers`): JSON, SQLite and pipes in there take memory and time of a process that is
ended. What it gives back is as much as the service takes from anybody, and `OldTask.loads` believes nothing of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import sqlite3
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.engine.worker.journal import Ended, Note, RecordedEffect
from vetro.model.environment import Environment as Model
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.packages.errors import PackageError
from vetro.packages.regular import read_regular
from vetro.server.environments import limits
from vetro.server.errors import Invalid

#: Newest version of the layout.
_FORMAT = 1
_JOURNAL_FORMAT = 1
#: Bytes of one file that is no archive, and of one task with its journal.
LARGEST: Final = 4 * limits.LARGEST_MODEL
#: Seconds that reading a folder may take.
SECONDS = 60.0
_LARGEST_JOURNAL: Final = 4 * LARGEST
_WAL: Final = 0x377F0682 >> 1
_ID = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


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
    entries: Sequence[RecordedEffect]
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

    def dumps(self) -> bytes:
        """As JSON. Raises `Invalid` where it is too large or nested too deeply."""
        what = f"task {self.number}"
        value = _plain(self)
        limits.check_depth(value, what)
        with deep_calls():
            text = json.dumps(value, separators=(",", ":")).encode()
        if len(text) > LARGEST:
            raise Invalid(f"{what} with its journal has {len(text):,} bytes, {LARGEST:,} at most")
        limits.check_parts(text, what)
        return text

    @classmethod
    def loads(cls, data: bytes) -> OldTask:
        """From what `dumps` gave. Raises `Invalid`; `TypeError` and `ValueError` for what it cannot have given."""
        if len(data) > LARGEST:
            raise Invalid(f"a task has {len(data):,} bytes")
        limits.check_parts(data, "a task")
        value = json.loads(data)
        journal = value.pop("journal")
        if journal is not None:
            ended = journal.pop("ended")
            entries = [RecordedEffect(**entry) for entry in journal.pop("entries")]
            notes = [Note(**note) for note in journal.pop("notes")]
            journal = OldJournal(
                **journal, ended=None if ended is None else Ended(**ended), entries=entries, notes=notes
            )
        return cls(**value, journal=journal)


def _plain(value: Any) -> Any:
    """A record as a mapping; what its values hold is plain data already."""
    if isinstance(value, list) and value and dataclasses.is_dataclass(value[0]):
        return [_plain(one) for one in value]
    if not dataclasses.is_dataclass(value):
        return value
    return {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}


def answer(folder: Path) -> tuple[dict[str, Any], list[bytes]]:
    """(head, blobs) of an environment: what environment.json says, with the ``numbers`` of the models; the models,
    compressed, then the tasks (`OldTask.loads`), oldest first. Raises `Invalid`."""
    old = _OldEnvironment(folder)
    models, tasks = old.models(), old.tasks()
    head = {"id": old.id, "name": old.name, "created": old.created, "packages": old.packages, "settings": old.settings}
    return {**head, "numbers": list(models)}, [*models.values(), *tasks]


class _OldEnvironment:
    """One environment. Raises `Invalid` for a folder whose environment.json cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        head = _mapping(path / "environment.json")
        if not isinstance(head.get("format"), int) or head["format"] > _FORMAT:
            raise Invalid(f"{path} was written by a newer Vetro", hint="use that version for it")
        try:
            self.id, self.created = str(head["id"]), float(head["created"])
            self.name = limits.name_of(head["name"], "no name", "Environment")
            self.packages = [{key: str(entry[key]) for key in ("name", "version", "digest")}
                             for entry in head["packages"]]  # fmt: skip
            if not _ID.fullmatch(self.id) or not all(_DIGEST.fullmatch(entry["digest"]) for entry in self.packages):
                raise ValueError
        except (KeyError, TypeError, ValueError, Invalid):
            raise Invalid(f"{path / 'environment.json'} is damaged", hint="restore it from a backup") from None
        self.settings = {key: str(head[key]) for key in ("driver", "script", "region") if head.get(key)}

    def models(self) -> dict[int, bytes]:
        """The models by number, as compressed JSON; damaged ones are left out. Raises `Invalid` where none is left,
        and for one that is too large."""
        found = {}
        for path in self.path.glob("model-*.json"):
            if re.fullmatch(r"\d{1,18}", path.stem[6:]):
                with contextlib.suppress(_Damaged):
                    found[int(path.stem[6:])] = _mapping(path)
        if not found:
            raise Invalid(f"environment '{self.name}' has no model", hint="restore model-0.json from a backup")
        newest = max(found)
        if found[newest].get("Objects") is None:  # it was emptied, and can be filled again
            found[newest] = {**found[newest], "Objects": Model.new(self.name, self.id).model["Objects"]}
        packed = {}
        for number, model in sorted(found.items()):
            limits.check_model(model, f"model-{number}.json")
            with deep_calls():
                text = json.dumps(model, ensure_ascii=False, separators=(",", ":"))
            packed[number] = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        return packed

    def tasks(self) -> list[bytes]:
        """All tasks, oldest first, with what is in the journal and the file of reports."""
        folder = self.path / "tasks"
        names = [p.name for p in folder.iterdir()] if folder.is_dir() else []
        journals, reports = self._journals(), self._reports()
        found = []
        for number in sorted(int(name) for name in names if re.fullmatch(r"\d{1,18}", name)):
            place = folder / str(number)
            if not (place / "task.json").exists():
                continue
            task, outcome = _perhaps(place / "task.json"), _perhaps(place / "outcome.json")
            journal = journals.get(str((task or {}).get("id") or f"{self.id}-{number}"))
            lines = reports.get(number, []) if journal is None else []
            finished = (place / "outcome.json").exists()
            found.append(OldTask(number, task, outcome, finished, journal, lines).dumps())
        return found

    def _reports(self) -> dict[int, list[dict[str, Any]]]:
        found: dict[int, dict[Any, dict[str, Any]]] = {}
        try:
            lines = _bytes(self.path / "reports.jsonl").decode("utf-8", "surrogatepass").splitlines()
        except (OSError, UnicodeDecodeError, PackageError):
            return {}
        for line in lines:
            with contextlib.suppress(ValueError, RecursionError):  # a line that a crash cut off
                entry = json.loads(line)
                if isinstance(entry, dict) and isinstance(entry.get("task"), int):
                    found.setdefault(entry["task"], {}).setdefault(entry.get("key"), entry)
        return {number: list(entries.values()) for number, entries in found.items()}

    def _journals(self) -> dict[str, OldJournal]:
        try:
            data = _database(self.path / "journal.db")
        except FileNotFoundError:
            return {}
        try:
            with contextlib.closing(sqlite3.connect(":memory:")) as connection:
                connection.deserialize(data)
                connection.execute("PRAGMA trusted_schema=OFF")
                connection.execute("PRAGMA temp_store=MEMORY")
                if connection.execute("PRAGMA user_version").fetchone()[0] != _JOURNAL_FORMAT:
                    return {}
                return {journal.task["id"]: journal for journal in _journals(connection)}
        except (sqlite3.DatabaseError, ValueError, KeyError, TypeError):  # a damaged one hides no environment
            return {}


def _database(path: Path) -> bytes:
    """A database as it was committed, with what its write-ahead log has: SQLite cannot open one that may not be locked.
    Raises `FileNotFoundError`, and `Invalid` for what is no file."""
    try:
        data = bytearray(_bytes(path, _LARGEST_JOURNAL))
    except PackageError as error:
        raise Invalid(error.message) from None
    with contextlib.suppress(FileNotFoundError, PackageError):
        for pages, size in _commits(_bytes(path.with_name(f"{path.name}-wal"))):
            for offset, page in pages.items():
                data.extend(bytes(max(offset - len(data), 0)))
                data[offset : offset + len(page)] = page
            del data[size:]
    data[18:20] = b"\1\1"  # a log is not looked for any more
    return bytes(data)


def _commits(log: bytes) -> Iterator[tuple[dict[int, bytes], int]]:
    """(pages by their offsets, size of the database) of each transaction of a log of SQLite, as its documentation of
    file formats says; the first frame that is not sound ends it."""
    if len(log) < 32:
        return
    magic, _, page_size, _, *salt = struct.unpack(">6I", log[:24])
    order = ">" if magic & 1 else "<"
    if magic >> 1 != _WAL or not 512 <= page_size <= 65536:
        return
    sums = _sums(log[:24], order, (0, 0))
    if sums != struct.unpack(">2I", log[24:32]):
        return
    pages: dict[int, bytes] = {}
    for begin in range(32, len(log) - page_size - 23, 24 + page_size):
        number, size, *words = struct.unpack(">6I", log[begin : begin + 24])
        page = log[begin + 24 : begin + 24 + page_size]
        sums = _sums(log[begin : begin + 8] + page, order, sums)
        if words != [*salt, *sums] or not 0 < number * page_size <= _LARGEST_JOURNAL:
            return
        pages[(number - 1) * page_size] = page
        if size:
            yield pages, size * page_size
            pages = {}


def _sums(data: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    for even, odd in struct.iter_unpack(f"{order}2I", data):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


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
                RecordedEffect(
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


class _Damaged(Invalid):
    """A file that is not what it should be."""


def _bytes(path: Path, largest: int = LARGEST) -> bytes:
    if path.is_symlink():
        raise PackageError(f"{path}: this is a link, not a file")
    return read_regular(path, largest)


def _mapping(path: Path) -> dict[str, Any]:
    try:
        data = _bytes(path)
        limits.check_parts(data, path.name)
        with deep_calls():
            value = json.loads(data.decode("utf-8", "surrogatepass"))
        if not isinstance(value, dict):
            raise ValueError("it holds no mapping")
        limits.check_depth(value, path.name)
    except PackageError as error:
        raise Invalid(error.message) from None
    except (OSError, ValueError, RecursionError) as error:
        raise _Damaged(f"{path} is damaged: {error}", hint="restore it from a backup") from None
    return value


def _perhaps(path: Path) -> dict[str, Any] | None:
    try:
        return _mapping(path)
    except _Damaged:
        return None
