"""What the database said is remembered exactly as long as it says it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vetro.server import cache
from vetro.server.cache import RecentCache, UntilCommit, as_text


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """The connection that is asked; statements commit at once unless a transaction was begun."""
    connection = opened(tmp_path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (a)")
    connection.execute("INSERT INTO t VALUES (1)")
    monkeypatch.setattr(cache, "own_connection", lambda: connection)
    yield connection
    connection.close()


def opened(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "db", isolation_level=None)


class Asked:
    """The sum of all rows, and how often it was asked for."""

    def __init__(self, own: sqlite3.Connection) -> None:
        self.own = own
        self.times = 0
        self.known = UntilCommit(2)

    def __call__(self, key: str = "sum") -> Any:
        return self.known.get(key, self._make)

    def _make(self) -> Any:
        self.times += 1
        return self.own.execute("SELECT SUM(a) FROM t").fetchone()[0]


def test_it_is_asked_once_while_nothing_changes(own: sqlite3.Connection) -> None:
    asked = Asked(own)
    assert [asked(), asked(), asked()] == [1, 1, 1]
    assert asked.times == 1


def test_own_changes_and_those_of_others_are_seen_at_once(own: sqlite3.Connection, tmp_path: Path) -> None:
    asked = Asked(own)
    other = opened(tmp_path)
    assert asked() == 1
    own.execute("INSERT INTO t VALUES (2)")
    assert asked() == 3
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO t VALUES (4)")
    assert (asked(), asked.times) == (3, 2)  # not committed yet
    other.execute("COMMIT")
    assert (asked(), asked.times) == (7, 3)
    other.execute("DELETE FROM t")
    assert (asked(), asked.times) == (None, 4)
    other.close()


def test_what_is_rolled_back_is_not_remembered(own: sqlite3.Connection) -> None:
    asked = Asked(own)
    assert asked() == 1
    own.execute("BEGIN")
    own.execute("INSERT INTO t VALUES (2)")
    assert asked() == 3
    own.execute("ROLLBACK")
    assert asked() == 1


def test_another_connection_begins_anew(
    own: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(own)
    assert asked() == 1
    other = opened(tmp_path)
    monkeypatch.setattr(cache, "own_connection", lambda: other)
    assert (asked(), asked.times) == (1, 2)
    other.close()


def test_it_holds_no_more_than_it_may(own: sqlite3.Connection) -> None:
    asked = Asked(own)
    for key in "abc":
        asked(key)
    asked("a")  # room was made for c
    assert asked.times == 4
    asked("c")
    assert asked.times == 4


def test_other_databases_are_asked_each_time(own: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(own)
    monkeypatch.setattr(cache, "own_connection", lambda: None)
    assert [asked(), asked()] == [1, 1]
    assert asked.times == 2


def test_the_last_values_are_kept() -> None:
    made: list[str] = []
    known = RecentCache(2)
    for key in ("a", "b", "a", "c", "a", "b"):
        assert known.get(key, lambda key=key: made.append(key) or key) == key  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]


def test_what_is_large_leaves_less_room_for_others() -> None:
    made: list[str] = []
    known = RecentCache(10, 100, as_text)

    def get(key: str, size: int) -> None:
        known.get(key, lambda: made.append(key) or "x" * (size - 2))

    for key in ("a", "b", "c"):
        get(key, 40)
    get("huge", 101)
    get("huge", 101)
    get("b", 40)
    get("c", 40)
    assert made == ["a", "b", "c", "huge", "huge"]
    get("a", 60)
    get("b", 40)
    assert made[5:] == ["a", "b"]
    get("a", 60)
    assert len(made) == 7
