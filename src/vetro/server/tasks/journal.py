"""`DbJournal`: the journal of a task in the service's database (`vetro.engine.worker.journal.Journal`).

What a worker writes is collected and committed in one transaction, which first renews the worker's lease: without it
nothing is written. Reports and log lines become rows for people, and events for those who watch, in the same
transaction, each once. Contents are encrypted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Max

from vetro.engine.worker.journal import (
    Ended,
    NoSuchTask,
    Note,
    NotOpen,
    OtherEngine,
    OtherTask,
    Progress,
    RecordedEffect,
)
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.server.queries import delete_in_batches, insert_rows
from vetro.server.secrets.encryption import Ciphertext, dumps
from vetro.server.tasks import reports
from vetro.server.tasks.log_space import LogSpace
from vetro.server.tasks.models import JournalEntry, JournalNote, JournalTask, Task

#: Bytes of a checkpoint, as it is stored, up to which it is kept for the end of the task.
_REMEMBERED = 64 << 10
#: Rows that one statement deletes.
_DROPPED = 1000
_ENTRIES, _NOTES = JournalEntry._meta.db_table, JournalNote._meta.db_table
_OF_ENTRY = ("task_id", "key", "kind", "digest", "about", "begun", "place", "result", "ended")
_OF_NOTE = ("task_id", "key", "kind", "args", "digest", "at")
_UPDATE_RESULT = (
    f'UPDATE "{JournalEntry._meta.db_table}" SET "place"=%s, "result"=%s, "ended"=%s WHERE "task_id"=%s AND "key"=%s'
)
#: Renews the lease and changes columns of the task's row; raises `LeaseLost`.
Hold = Callable[..., None]


def no_lease(**changes: Any) -> None:
    """For those who need none: tests, decisions about tasks that nobody runs, and who takes over an old folder."""


class DbJournal:
    """``hold`` is called first in each transaction (`vetro.server.tasks.claim.Lease.hold`). ``row``: the task's, read
    with its journal (`with_journal`); then neither is asked for again."""

    def __init__(self, task: str, hold: Hold = no_lease, row: Task | None = None) -> None:
        self.task = task
        self.written = 0
        self._hold = hold
        self._space = LogSpace(task, row)
        #: Its row as it was read, until something is committed.
        self._found: JournalTask | None = (
            JournalTask.objects.filter(task_id=task).defer("model").first()
            if row is None
            else getattr(row, "journal", None)
        )
        self._exists = self._found is not None
        self._places = 0
        self._open: dict[str, None] = {}
        self._noted: set[str] = set()
        #: The newest checkpoint that is committed, where it is small.
        self._model: Mapping[str, Any] | None = None
        if self._exists:
            last = JournalEntry.objects.filter(task_id=task).aggregate(Max("place"))["place__max"]
            self._places = last or 0
            self._open = dict.fromkeys(_keys(JournalEntry.objects.filter(task_id=task, place=None)))
            self._noted = set(_keys(JournalNote.objects.filter(task_id=task)))
        self._forget_all()

    def _forget_all(self) -> None:
        """Nothing is collected."""
        self._head: dict[str, Any] = {}
        self._new: dict[str, RecordedEffect] = {}
        self._results: dict[str, RecordedEffect] = {}
        self._dropped: list[str] = []
        self._notes: list[Note] = []

    # -- writing -------------------------------------------------------------------------------------------------------

    def begin(self, task: Mapping[str, Any], engine: str, at: float) -> Progress:
        """See `Journal.begin`. Folders of packages differ from machine to machine: they are not compared."""
        wanted = _digest(task)
        found = self._found or self._row()
        if found is None:
            self._head = {"digest": wanted, "engine": engine, "begun": at, **self._head}
            return Progress(task, engine, at)
        progress = self._progress(found, task)
        if found.digest != wanted:
            raise OtherTask(f"the database holds another task with the id '{self.task}'")
        if found.engine != engine and progress.ended is None:
            raise OtherEngine(f"task '{self.task}' was begun by engine {found.engine}, this is {engine}")
        return progress

    def _row(self) -> JournalTask | None:
        return JournalTask.objects.filter(task_id=self.task).defer("model").first() if self._exists else None

    def attempt(self, *, died: bool = False) -> None:
        """See `Journal.attempt`."""
        column = "deaths" if died else "attempts"
        self._head[f"+{column}"] = self._head.get(f"+{column}", 0) + 1

    def cancel(self, reason: str) -> None:
        """See `Journal.cancel`."""
        self._head.setdefault("?cancelled", reason)

    def intent(self, entry: RecordedEffect) -> None:
        """See `Journal.intent`."""
        self._new[entry.key] = entry
        self._open[entry.key] = None

    def result(self, key: str, answer: Any, error: Mapping[str, Any] | None, at: float) -> int:
        """See `Journal.result`. Raises `NotOpen`."""
        self._check_open(key)
        self._places += 1
        empty = RecordedEffect(key, "", "", {}, 0.0)
        done = replace(self._new.get(key, empty), place=self._places, answer=answer, error=error, ended=at)
        (self._new if key in self._new else self._results)[key] = done
        del self._open[key]
        return self._places

    def forget(self, key: str) -> None:
        """See `Journal.forget`."""
        self._check_open(key)
        del self._open[key]
        if self._new.pop(key, None) is None:
            self._dropped.append(key)

    def _check_open(self, key: str) -> None:
        if key not in self._open:
            raise NotOpen(f"task '{self.task}' has no effect {key} that waits for its result")

    def note(self, note: Note) -> None:
        """See `Journal.note`."""
        if note.key not in self._noted:
            self._noted.add(note.key)
            self._notes.append(note)

    def checkpoint(self, model: Mapping[str, Any], at: float) -> None:
        """See `Journal.checkpoint`."""
        self._head.update(model=model, model_at=at)

    def end(self, ended: Ended) -> None:
        """See `Journal.end`."""
        self._head["ended"] = asdict(ended)

    def reopen(self, begun: float) -> None:
        """See `Journal.reopen`."""
        self._head.update(ended=None, begun=begun)

    def commit(self) -> None:
        """See `Journal.commit`. Raises `LeaseLost`, and what the database raises: then nothing was written."""
        if not (self._head or self._new or self._results or self._dropped or self._notes):
            return
        with transaction.atomic():
            changes: dict[str, Any] = reports.flags(self._notes)
            notes, size = self._space.kept(self._notes)  # where this fails, all of them are looked at once more
            if size:
                changes["log_bytes"] = F("log_bytes") + size
            self._hold(**changes)
            self._write(self._head, notes)
            reports.store(self.task, notes, self._space.owner)
        self._exists, self._found = True, None
        self._forget_all()

    def end_with(self, row: Task, events: list[reports.NewEvent]) -> None:
        """Writes what is not committed yet inside the transaction that ends the task, whose locked ``row`` the caller
        saves; ``events`` get those of its reports. `commit` does it where that transaction fails.

        Nobody goes on with the task, so only what others read of a journal is written: neither the end and the model,
        which stand elsewhere then, nor notes that are reports.
        """
        for name in reports.flags(self._notes):
            setattr(row, name, True)
        notes, size = self._space.kept(self._notes)
        row.log_bytes += size
        read = [note for note in notes if note.kind not in reports.KINDS]
        if read or self._new or self._results or self._dropped:
            self._write({name: value for name, value in self._head.items() if name not in ("model", "model_at")}, read)
        reports.store(self.task, notes, self._space.owner, events)

    def _write(self, head: Mapping[str, Any], notes: Sequence[Note]) -> None:
        self._write_head(dict(head))
        if self._dropped:
            JournalEntry.objects.filter(task_id=self.task, key__in=map(_kept, self._dropped), place=None).delete()
        self._write_results()
        insert_rows(_ENTRIES, _OF_ENTRY, [self._entry(entry) for entry in self._new.values()])
        insert_rows(_NOTES, _OF_NOTE, [self._note(note) for note in notes], new=True)

    def _write_head(self, head: dict[str, Any]) -> None:
        if head.get("model") is not None:
            model = head["model"]
            head["model"] = self._sealed(model)
            self._model = model if len(head["model"]) < _REMEMBERED else None
        counts = {name: head.pop(f"+{name}", 0) for name in ("attempts", "deaths")}
        cancelled = head.pop("?cancelled", None)
        if not self._exists:
            JournalTask.objects.create(task_id=self.task, cancelled=cancelled, **counts, **head)
            return
        mine = JournalTask.objects.filter(task_id=self.task)
        if cancelled is not None:
            mine.filter(cancelled=None).update(cancelled=cancelled)
        changes = {**head, **{name: F(name) + count for name, count in counts.items() if count}}
        if changes:
            mine.update(**changes)

    def _write_results(self) -> None:
        """The results of effects whose rows are there, as one statement for all of them."""
        if not self._results:
            return
        rows = [[*self._result(entry), self.task, _kept(key)] for key, entry in self._results.items()]
        with connection.cursor() as cursor:
            cursor.executemany(_UPDATE_RESULT, rows)

    def _sealed(self, value: Any) -> Ciphertext:
        """A value as it is stored."""
        found = dumps(value)
        self.written += len(found)
        return found

    def _entry(self, entry: RecordedEffect) -> Sequence[Any]:
        """The values of `_OF_ENTRY`."""
        head = [self.task, _kept(entry.key), _kept(entry.kind), entry.digest, self._sealed(entry.about), entry.begun]
        return [*head, *(self._result(entry) if entry.place is not None else (None, None, None))]

    def _result(self, entry: RecordedEffect) -> Sequence[Any]:
        """Place, result and end."""
        return [entry.place, self._sealed({"answer": entry.answer, "error": entry.error}), entry.ended]

    def _note(self, note: Note) -> Sequence[Any]:
        """The values of `_OF_NOTE`."""
        return [self.task, _kept(note.key), _kept(note.kind), self._sealed(note.args), note.digest, note.at]

    # -- reading -------------------------------------------------------------------------------------------------------

    def progress(self) -> Progress:
        """See `Journal.progress`."""
        found = self._found or self._row()
        if found is None:
            raise NoSuchTask(f"the database holds no journal of a task '{self.task}'")
        return self._progress(found, Task.objects.only("spec").get(id=self.task).spec)

    def _progress(self, found: JournalTask, task: Any) -> Progress:
        over = None if found.ended is None else Ended(**found.ended)
        return Progress(task, found.engine, found.begun, found.attempts, found.deaths, found.cancelled, over)

    def entries(self) -> Sequence[RecordedEffect]:
        """See `Journal.entries`; with what is not committed yet."""
        found: dict[str, RecordedEffect] = {}
        for row in JournalEntry.objects.filter(task_id=self.task).order_by("id") if self._exists else ():
            result = row.result or {}
            key = _given(row.key)
            found[key] = RecordedEffect(
                *(key, _given(row.kind), row.digest, row.about or {}, row.begun, row.place),
                answer=result.get("answer"),
                error=result.get("error"),
                ended=row.ended,
            )
        for key in self._dropped:
            found.pop(key, None)
        for key, done in self._results.items():
            found[key] = replace(found[key], place=done.place, answer=done.answer, error=done.error, ended=done.ended)
        return [*found.values(), *self._new.values()]

    def notes(self, *kinds: str) -> Sequence[Note]:
        """See `Journal.notes`."""
        rows: Any = ()
        if self._exists:
            rows = JournalNote.objects.filter(task_id=self.task).order_by("id")
            rows = rows.filter(kind__in=[_kept(kind) for kind in kinds]) if kinds else rows
        found = [Note(_given(row.key), _given(row.kind), row.args, row.digest, row.at) for row in rows]
        return [*found, *(note for note in self._notes if not kinds or note.kind in kinds)]

    def model(self) -> Mapping[str, Any] | None:
        """See `Journal.model`."""
        model: Any = self._head.get("model") or self._model
        if model is None:
            model = JournalTask.objects.filter(task_id=self.task).values_list("model", flat=True).first()
        found: Mapping[str, Any] | None = model
        return found

    def close(self) -> None:
        """See `Journal.close`."""
        self._model = None
        self._forget_all()


def with_journal(task_id: str) -> Task:
    """A task and what `DbJournal` wants of its journal, by one statement. Raises `ObjectDoesNotExist`."""
    return Task.objects.select_related("journal").defer("journal__model").get(id=task_id)


def with_new_journal(task_id: str, hold: Hold) -> Task:
    """The same of a task that did nothing outside and is to begin again: its journal is dropped, unless a person was
    to decide. Raises what ``hold`` raises."""
    with transaction.atomic():
        hold()
        found = JournalTask.objects.filter(task_id=task_id).only("ended").first()
        ended: Any = None if found is None else found.ended
        if ended is None or ended["state"] != Task.NEEDS_PERSON:
            drop([task_id])
    return with_journal(task_id)


def drop(task_ids: Sequence[str]) -> None:
    """Removes the journals of these tasks, a few rows at a time, so that others get in between; their reports stay."""
    for table in (JournalEntry, JournalNote):
        delete_in_batches(table.objects.filter(task_id__in=task_ids).order_by("pk"), _DROPPED)
    # Last: as long as it is there, the rest is looked for again.
    JournalTask.objects.filter(task_id__in=task_ids).delete()


def _keys(rows: Any) -> list[str]:
    return [_given(key) for key in rows.values_list("key", flat=True)]


def _kept(text: str) -> str:
    """A key or kind as it is stored: a task process makes them up, and databases do not take every character."""
    return json.dumps(text)[1:-1]


def _given(text: str) -> str:
    found: str = json.loads(f'"{text}"')
    return found


def _digest(task: Mapping[str, Any]) -> str:
    told = {name: value for name, value in task.items() if name not in ("packages", "engine")}
    with deep_calls():
        text = json.dumps(told, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
