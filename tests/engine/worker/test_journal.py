"""The journal keeps what was committed, in order, whatever happens to its writer."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path

import pytest

from tests.support.file_journal import FileJournal, JournalDamaged
from vetro.engine.worker.decisions import resolve
from vetro.engine.worker.journal import (
    Ended,
    NoSuchTask,
    Note,
    NotOpen,
    OtherEngine,
    OtherTask,
    RecordedEffect,
    about,
)

TASK = {"id": "t", "model": {"a": [1, None]}}


def entry(number: int) -> RecordedEffect:
    return RecordedEffect(f"0/{number}", "clock", f"digest {number}", {"n": number}, float(number))


def fresh(path: Path, task: str = "t") -> FileJournal:
    journal = FileJournal(path / "journal.db", task)
    journal.begin({**TASK, "id": task}, "1.0", 5.0)
    return journal


def filled(path: Path, task: str = "t") -> FileJournal:
    journal = fresh(path, task)
    for number in (1, 2, 3):
        journal.intent(entry(number))
    journal.result("0/2", {"x": "\ud800"}, None, 8.0)
    journal.result("0/1", None, {"kind": "error", "message": "no", "names": ["A"]}, 9.0)
    journal.note(Note("0/4", "report", {"text": "hello"}, "d", 7.0))
    journal.checkpoint({"Objects": {"deep": True}}, 9.5)
    journal.attempt()
    journal.attempt(died=True)
    journal.cancel("enough")
    journal.cancel("again")
    journal.commit()
    return journal


def test_what_was_committed_is_read_back(tmp_path: Path) -> None:
    filled(tmp_path).close()
    with FileJournal(tmp_path / "journal.db", "t") as journal:
        progress = journal.progress()
        assert (progress.task, progress.engine, progress.begun) == (TASK, "1.0", 5.0)
        assert (progress.attempts, progress.deaths, progress.cancelled, progress.ended) == (1, 1, "enough", None)
        one, two, three = journal.entries()
        assert (two.answer, two.place, two.ended) == ({"x": "\ud800"}, 1, 8.0)
        assert (one.error, one.place) == ({"kind": "error", "message": "no", "names": ["A"]}, 2)
        assert three.open
        assert three.about == {"n": 3}
        assert journal.notes("report") == journal.notes() == [Note("0/4", "report", {"text": "hello"}, "d", 7.0)]
        assert journal.notes("log") == []
        assert journal.model() == {"Objects": {"deep": True}}
        assert journal.result("0/3", 1, None, 1.0) == 3


def test_what_was_not_committed_is_not_there(tmp_path: Path) -> None:
    journal = fresh(tmp_path)
    journal.commit()
    journal.intent(entry(1))
    journal.close()
    with FileJournal(tmp_path / "journal.db", "t") as again:
        assert again.entries() == []


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    """Plans and templates in it hold passwords."""
    with fresh(tmp_path):
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert "journal.db" in modes and set(modes.values()) == {0o600}


def test_a_task_begins_once(tmp_path: Path) -> None:
    with fresh(tmp_path) as journal:
        assert journal.begin(TASK, "1.0", 99.0).begun == 5.0
        with pytest.raises(OtherTask):
            journal.begin({**TASK, "model": {}}, "1.0", 99.0)
        with pytest.raises(OtherEngine) as caught:
            journal.begin(TASK, "2.0", 99.0)
        assert caught.value.hint is not None
        assert "retry" in caught.value.hint
        journal.end(Ended("done", 3))
        # What has ended may be looked at with any engine.
        ended = journal.begin(TASK, "2.0", 99.0).ended
        assert ended is not None
        assert (ended.state, ended.result) == ("done", 3)


def test_results_are_written_once(tmp_path: Path) -> None:
    with filled(tmp_path) as journal:
        for key in ("0/2", "0/99"):
            with pytest.raises(NotOpen):
                journal.result(key, 1, None, 1.0)
            with pytest.raises(NotOpen):
                journal.forget(key)
        journal.forget("0/3")
        assert [e.key for e in journal.entries()] == ["0/1", "0/2"]
        journal.note(Note("0/4", "report", {"text": "twice"}, "d", 7.0))
        assert [note.args["text"] for note in journal.notes()] == ["hello"]


def test_one_file_holds_many_tasks(tmp_path: Path) -> None:
    filled(tmp_path, "t").close()
    with fresh(tmp_path, "u") as other:
        other.commit()
        assert other.entries() == []
        assert other.model() is None
    with FileJournal(tmp_path / "journal.db", "v") as none, pytest.raises(NoSuchTask):
        none.progress()


def test_a_killed_writer_leaves_its_last_commit(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        journal = filled(tmp_path)
        journal.intent(entry(9))  # never committed
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    with FileJournal(tmp_path / "journal.db", "t") as journal:
        assert [e.key for e in journal.entries()] == ["0/1", "0/2", "0/3"]


def test_a_torn_write_is_as_if_it_never_was(tmp_path: Path) -> None:
    """The write-ahead log is cut at many places: what opens is the state of some commit, never in between."""
    source = tmp_path / "source"
    source.mkdir()
    pid = os.fork()
    if pid == 0:
        journal = fresh(source)
        journal.commit()
        for number in range(1, 6):
            journal.intent(entry(2 * number))
            journal.intent(entry(2 * number + 1))
            journal.commit()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    main, log = (source / "journal.db").read_bytes(), (source / "journal.db-wal").read_bytes()
    seen = set()
    for size in range(len(log) // 2, len(log) + 1, 997):
        folder = tmp_path / str(size)
        folder.mkdir()
        (folder / "journal.db").write_bytes(main)
        (folder / "journal.db-wal").write_bytes(log[:size])
        with FileJournal(folder / "journal.db", "t") as journal:
            found = len(journal.entries())
        assert found % 2 == 0
        seen.add(found)
    assert len(seen) > 1


def test_a_file_that_is_no_journal_is_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_text("this is a text of some length, and no database at all" * 50)
    with pytest.raises(JournalDamaged, match=r"journal\.db"):
        FileJournal(path, "t")
    with pytest.raises(JournalDamaged):
        FileJournal(tmp_path / "missing" / "journal.db", "t")
    newer = tmp_path / "newer.db"
    connection = sqlite3.connect(newer)
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(JournalDamaged, match="format 99"):
        FileJournal(newer, "t")


def test_size_follows_the_effects_not_the_checkpoints(tmp_path: Path) -> None:
    model = {"Objects": ["x" * 1000] * 100}
    sizes = []
    for count in (1, 30):
        folder = tmp_path / str(count)
        folder.mkdir()
        with fresh(folder) as journal:
            for _ in range(count):
                journal.checkpoint(model, 1.0)
                journal.commit()
        sizes.append((folder / "journal.db").stat().st_size)
    assert sizes[1] < 4 * sizes[0]


def test_decisions_are_for_tasks_that_wait_for_one(tmp_path: Path) -> None:
    with filled(tmp_path) as journal:
        with pytest.raises(NotOpen):
            resolve(journal, "0/3", redo=True)
        journal.end(Ended("needs_person"))
        with pytest.raises(NotOpen):
            resolve(journal, "0/1", redo=True)
        resolve(journal, "0/3", answer=[1])
        assert journal.entries()[2].answer == [1]


def test_about_keeps_what_fits_in_a_line() -> None:
    args = {"a": 1, "b": "x" * 201, "c": "short", "d": {"big": 1}, "e": None, "plan": {"Name": "install", "Body": "…"}}
    assert about(args) == {"a": 1, "c": "short", "name": "install"}
