"""Writers of one SQLite file wait in line, and nobody is left out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.db.backends.utils import CursorWrapper

from vetro.server.sqlite import base
from vetro.server.sqlite.base import DatabaseWrapper


def connect(path: Path) -> DatabaseWrapper:
    settings: dict[str, Any] = {
        "ENGINE": "vetro.server.sqlite", "NAME": str(path), "OPTIONS": {"transaction_mode": "IMMEDIATE"},
        "AUTOCOMMIT": True, "ATOMIC_REQUESTS": False, "CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": False,
        "TIME_ZONE": None, "TEST": {}, "HOST": "", "PORT": "", "USER": "", "PASSWORD": "",
    }  # fmt: skip
    return DatabaseWrapper(settings, "writers")


def write(connection: DatabaseWrapper, cursor: CursorWrapper) -> None:
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    value = cursor.execute("SELECT n FROM t").fetchone()[0]
    cursor.execute("UPDATE t SET n = %s", [value + 1])
    connection.commit()
    connection.set_autocommit(True)


@pytest.fixture(autouse=True)
def allowed(django_db_blocker: Any) -> Iterator[None]:
    """The databases of these tests are their own."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    connection = connect(tmp_path / "x.db")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("CREATE TABLE t (n INTEGER)")
        cursor.execute("INSERT INTO t VALUES (0)")
    connection.close()
    return tmp_path / "x.db"


def test_many_threads_write_and_none_starves(path: Path) -> None:
    waits: list[float] = []

    def work() -> None:
        connection = connect(path)
        with connection.cursor() as cursor:
            for _ in range(25):
                began = time.monotonic()
                write(connection, cursor)
                waits.append(time.monotonic() - began)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connection = connect(path)
    with connection.cursor() as cursor:
        assert cursor.execute("SELECT n FROM t").fetchone()[0] == 200
    connection.close()
    assert len(waits) == 200


def test_a_transaction_that_is_rolled_back_or_lost_lets_the_next_one_in(path: Path) -> None:
    first, second = connect(path), connect(path)
    for end in (first.rollback, first.close):
        first.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        end()
        if first.connection is not None:
            first.set_autocommit(True)
        with second.cursor() as cursor:
            write(second, cursor)
    second.close()


def test_patience_ends(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "PATIENCE", 0.05)
    first, second = connect(path), connect(path)
    first.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    with pytest.raises(OperationalError, match="locked"):
        second.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    first.rollback()
    first.close()
    second.close()
