"""The journal in the database keeps what was committed, as the one in a file does; only who has the lease writes."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DataError, connection

from vetro.engine.worker.decisions import resolve
from vetro.engine.worker.journal import Ended, NoSuchTask, Note, NotOpen, OtherEngine, OtherTask, RecordedEffect
from vetro.engine.worker.ports import LeaseLost
from vetro.server.tasks import log_space
from vetro.server.tasks.claim import claim
from vetro.server.tasks.journal import DbJournal
from vetro.server.tasks.models import Event, JournalEntry, Report, Task
from vetro.server.tasks.release import release

SPEC = {"id": "t", "model": {"a": [1, None]}, "packages": ["/here/x.zip"]}
pytestmark = [pytest.mark.database, pytest.mark.django_db]


def entry(number: int) -> RecordedEffect:
    return RecordedEffect(f"0/{number}", "clock", f"digest {number}", {"n": number}, float(number))


def fresh(id: str = "t") -> DbJournal:
    Task.objects.create(id=id, project_id="p", user_id="u", kind="deploy", spec={**SPEC, "id": id})
    journal = DbJournal(id)
    journal.begin({**SPEC, "id": id}, "1.0", 5.0)
    return journal


def filled(together: bool = True) -> DbJournal:
    """With everything in it; committed once, or after each write."""
    journal = fresh()
    writes: list[Any] = [
        *[lambda number=number: journal.intent(entry(number)) for number in (1, 2, 3)],
        lambda: journal.result("0/2", {"x": "\ud800\0"}, None, 8.0),
        lambda: journal.result("0/1", None, {"kind": "error", "message": "no", "names": ["A"]}, 9.0),
        lambda: journal.note(Note("0/4", "report", {"text": "hello"}, "d", 7.0)),
        lambda: journal.checkpoint({"Objects": {"deep": True}}, 9.5),
        lambda: journal.attempt(),
        lambda: journal.attempt(died=True),
        lambda: journal.cancel("enough"),
        lambda: journal.cancel("again"),
    ]
    for write in writes:
        write()
        if not together:
            journal.commit()
    journal.commit()
    return journal


@pytest.mark.parametrize("together", [True, False])
def test_what_was_committed_is_read_back(together: bool) -> None:
    filled(together).close()
    journal = DbJournal("t")
    progress = journal.progress()
    assert (progress.task, progress.engine, progress.begun) == (SPEC, "1.0", 5.0)
    assert (progress.attempts, progress.deaths, progress.cancelled, progress.ended) == (1, 1, "enough", None)
    one, two, three = journal.entries()
    assert (two.answer, two.place, two.ended) == ({"x": "\ud800\0"}, 1, 8.0)
    assert (one.error, one.place) == ({"kind": "error", "message": "no", "names": ["A"]}, 2)
    assert three.open
    assert three.about == {"n": 3}
    assert journal.notes("report") == journal.notes() == [Note("0/4", "report", {"text": "hello"}, "d", 7.0)]
    assert journal.notes("log") == []
    assert journal.model() == {"Objects": {"deep": True}}
    assert journal.result("0/3", 1, None, 1.0) == 3


def test_reading_sees_what_is_not_committed_yet() -> None:
    journal = filled()
    journal.result("0/3", 5, None, 9.0)
    journal.intent(entry(5))
    journal.result("0/5", 6, None, 9.0)
    journal.intent(entry(6))
    journal.note(Note("0/7", "log", {}, "d", 7.0))
    assert [(e.key, e.place, e.answer) for e in journal.entries()][2:] == [
        ("0/3", 3, 5), ("0/5", 4, 6), ("0/6", None, None)
    ]  # fmt: skip
    assert [note.key for note in journal.notes()] == ["0/4", "0/7"]
    before = journal.entries()
    journal.commit()
    assert DbJournal("t").entries() == before
    journal.intent(entry(9))
    journal.close()
    assert [e.key for e in DbJournal("t").entries()] == [e.key for e in before]


def test_a_task_begins_once() -> None:
    journal = fresh()
    journal.commit()
    journal = DbJournal("t")
    assert journal.begin(SPEC, "1.0", 99.0).begun == 5.0
    assert journal.begin({**SPEC, "packages": ["/there/x.zip"]}, "1.0", 99.0).begun == 5.0
    with pytest.raises(OtherTask):
        journal.begin({**SPEC, "model": {}}, "1.0", 99.0)
    with pytest.raises(OtherEngine) as caught:
        journal.begin(SPEC, "2.0", 99.0)
    assert "retry" in str(caught.value.hint)
    journal.end(Ended("done", 3))
    journal.commit()
    ended = journal.begin(SPEC, "2.0", 99.0).ended
    assert ended is not None
    assert (ended.state, ended.result) == ("done", 3)
    journal.reopen(8.0)
    journal.commit()
    assert DbJournal("t").progress().ended is None
    with pytest.raises(NoSuchTask):
        DbJournal("other").progress()


def test_results_are_written_once() -> None:
    journal = filled()
    for key in ("0/2", "0/99"):
        with pytest.raises(NotOpen):
            journal.result(key, 1, None, 1.0)
        with pytest.raises(NotOpen):
            journal.forget(key)
    journal.forget("0/3")
    journal.intent(entry(8))
    journal.forget("0/8")
    journal.note(Note("0/4", "report", {"text": "twice"}, "d", 7.0))
    journal.commit()
    again = DbJournal("t")
    assert [e.key for e in again.entries()] == ["0/1", "0/2"]
    assert [note.args["text"] for note in again.notes()] == ["hello"]


def test_keys_that_databases_do_not_like() -> None:
    journal = fresh()
    odd = 'a"\\\0\ud800é' + "x" * 900
    journal.intent(RecordedEffect(odd, "ki\0nd", "d", {}, 1.0))
    journal.commit()
    journal = DbJournal("t")
    journal.result(odd, 1, None, 1.0)
    journal.note(Note(odd, "report", {"text": "\0", "id": "\ud800"}, "d", 1.0))
    journal.commit()
    (found,) = DbJournal("t").entries()
    assert (found.key, found.kind, found.answer) == (odd, "ki\0nd", 1)
    assert Report.objects.get(task="t").text == "\0"


def test_reports_become_rows_and_events_once() -> None:
    journal = fresh()
    note = Note("0/1", "report", {"text": "odd", "id": "o1", "level": "warning", "details": {"a": 1}}, "d", 7.0)
    journal.note(note)
    journal.note(Note("0/2", "log", {"text": "line", "level": "critical", "logger": "x"}, "d", 7.0))
    journal.note(Note("0/3", "track", {"event": "x"}, "d", 7.0))
    journal.commit()
    again = DbJournal("t")
    again.note(note)
    again.commit()
    rows = Report.objects.filter(task="t").order_by("seq")
    assert [(r.kind, r.level, r.entity_id, r.text, r.details) for r in rows] == [
        ("report", "warning", "o1", "odd", {"a": 1}),
        ("log", "error", "", "line", {"logger": "x", "level": "critical"}),
    ]
    assert Event.objects.filter(task_id="t", kind="report").count() == 2


def test_nothing_of_it_can_be_read_in_the_file() -> None:
    journal = fresh()
    journal.intent(RecordedEffect("0/1", "k", "d", {"password": "canary-1"}, 1.0))
    journal.result("0/1", "canary-2", None, 2.0)
    journal.note(Note("0/2", "report", {"text": "canary-3"}, "d", 7.0))
    journal.checkpoint({"Objects": "canary-4"}, 1.0)
    journal.end(Ended("failed", "canary-5", {"message": "canary-6"}))
    journal.commit()
    with connection.cursor() as cursor:
        for table in ("journalentry", "journalnote", "journaltask", "report", "event", "task"):
            cursor.execute(f"SELECT * FROM dispatch_{table}")
            rows = [bytes(v) if isinstance(v, memoryview) else v for row in cursor.fetchall() for v in row]
            assert rows
            assert "canary" not in str(rows)


def test_without_the_lease_nothing_is_written() -> None:
    Task.objects.create(id="t", project_id="p", user_id="u", kind="deploy", spec=SPEC)
    lease = claim("me", 60.0)
    assert lease is not None
    journal = DbJournal("t", lease.hold)
    journal.begin(SPEC, "1.0", 5.0)
    journal.intent(entry(1))
    journal.note(Note("0/4", "report", {"text": "x", "level": "error"}, "d", 7.0))
    journal.commit()
    assert Task.objects.get(id="t").errors
    assert release("me") == 1
    journal.intent(entry(2))
    journal.note(Note("0/5", "report", {"text": "y"}, "d", 7.0))
    with pytest.raises(LeaseLost):
        journal.commit()
    assert [JournalEntry.objects.count(), Report.objects.count()] == [1, 1]
    other = claim("other", 60.0)
    assert other is not None
    assert (other.task_id, other.fence) == ("t", 3)


def test_decisions_are_for_tasks_that_wait_for_one() -> None:
    journal = filled()
    with pytest.raises(NotOpen):
        resolve(journal, "0/3", redo=True)
    journal.end(Ended("needs_person"))
    journal.commit()
    with pytest.raises(NotOpen):
        resolve(journal, "0/1", redo=True)
    resolve(journal, "0/3", answer=[1])
    assert DbJournal("t").entries()[2].answer == [1]
    assert max(entry.place or 0 for entry in DbJournal("t").entries()) == 3


def test_that_the_log_is_full_is_said_though_a_commit_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_space, "fits", lambda *_: False)
    refusals = [DataError("no")]

    def hold(**_: object) -> None:
        if refusals:
            raise refusals.pop()

    Task.objects.create(id="t", project_id="p", user_id="u", kind="deploy", spec=SPEC)
    journal = DbJournal("t", hold)
    journal.begin(SPEC, "1.0", 5.0)
    journal.note(Note("0/1", "report", {"text": "hello"}, "d", 7.0))
    with pytest.raises(DataError):
        journal.commit()
    assert not Report.objects.exists()
    journal.commit()
    (said,) = Report.objects.values_list("text", flat=True)
    assert "Quota 'logs'" in said
