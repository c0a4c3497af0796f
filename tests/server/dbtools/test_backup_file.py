"""Files of backups that somebody made to hurt whoever reads them: each is refused with words."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from vetro.server.dbtools import backup_file
from vetro.server.dbtools.backup_file import End, Head, Reader, Writer
from vetro.server.dbtools.backup_reading import examine
from vetro.server.dbtools.errors import BackupUnusable
from vetro.server.dbtools.tables import Column, Sum, Table

_TABLE = Table("things", (Column("id", "int", None, "BigAutoField"), Column("name", "text", 20)), "id")
_ROWS = [[1, "one"], [2, "two"]]


def backup(piece: bytes | None = None, head: Callable[[dict[str, Any]], object] | None = None) -> io.BytesIO:
    """A backup of two rows; ``piece``: what stands where they should; ``head`` changes what the head says."""
    file, total = io.BytesIO(), Sum(_TABLE)
    writer = Writer(file)
    about = Head("1.0", "2026-01-01T00:00:00+00:00", (), (_TABLE,), "canary", False)
    if head is None:
        writer.head(about)
    else:
        # What asdict makes of it; an attacker writes what he likes.
        plain = io.BytesIO()
        Writer(plain).head(about)
        data = json.loads(plain.getvalue()[512:].partition(b"\0")[0])
        head(data)
        writer.member(backup_file.HEAD, json.dumps(data).encode())
    if piece is None:
        writer.rows(_TABLE, _ROWS)
    else:
        writer.member("tables/things/000000", piece)
    for row in _ROWS:
        total.add(row)
    writer.end(End({"things": (total.count, total.checksum, 2)}))
    file.seek(0)
    return file


def test_an_honest_one_is_read() -> None:
    assert list(_rows(backup())) == _ROWS
    assert examine(backup()).rows == 2


def _rows(file: io.BytesIO) -> list[list[Any]]:
    reader = Reader(file)
    return list(reader.rows(reader.head.tables[0]))


@pytest.mark.parametrize(
    "piece",
    [
        gzip.compress(b"[" * 100_000),
        gzip.compress(b"[[1, {}]]"),
        gzip.compress(b'[[1, "one"]]')[:-4],
        gzip.compress(b'[[1, "one"]]') + b"more",
        gzip.compress(b'[[1, "one", 3]]'),
        gzip.compress(b"{}x"),
        b"no gzip",
    ],
    ids=["nested", "mapping", "cut off", "continued", "too long", "no JSON", "plain"],
)
def test_rows_that_are_none(piece: bytes) -> None:
    with pytest.raises(BackupUnusable, match="tables/things/000000 in the backup is damaged"):
        examine(backup(piece))


def test_what_grows_when_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup_file, "_MOST", 1 << 20)
    with pytest.raises(BackupUnusable, match="does not end where it should"):
        examine(backup(gzip.compress(b" " * (2 << 20) + b"[]")))


@pytest.mark.parametrize(
    ("part", "value"),
    [("integer", "Ship"), ("most", "many"), ("kind", "code"), ("name", 'id"; DROP TABLE x; --'), ("name", 7)],
)
def test_columns_that_are_none(part: str, value: object) -> None:
    def change(head: dict[str, Any]) -> None:
        head["tables"][0]["columns"][0][part] = value

    with pytest.raises(BackupUnusable, match="the head of the backup"):
        examine(backup(head=change))


def test_a_head_without_a_bottom() -> None:
    file = io.BytesIO()
    writer = Writer(file)
    writer.member(backup_file.HEAD, b'{"a":' * 100_000)
    writer.end(End())
    file.seek(0)
    with pytest.raises(BackupUnusable, match="damaged"):
        examine(file)


def test_all_types_of_integers_are_known() -> None:
    from django.db.backends.base.operations import BaseDatabaseOperations

    assert set(BaseDatabaseOperations.integer_field_ranges) == backup_file._INTEGERS
