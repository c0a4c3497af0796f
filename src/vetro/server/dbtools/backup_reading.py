"""`examine`: reads all of the file of a backup and says whether it is whole; and what `restore` compares on its way."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from vetro.server.dbtools.backup_file import KEYS, End, Head, Reader
from vetro.server.dbtools.errors import BackupUnusable, RestoreFailed
from vetro.server.dbtools.tables import Sum


@dataclass(frozen=True, slots=True)
class Restored:
    """What was in the file. ``migrations``: what was done to tables of an older version afterwards."""

    made: str
    version: str
    rows: int
    tables: int
    blobs: int
    missing: tuple[str, ...]
    keys: bool
    migrations: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float


@contextmanager
def opened(place: str) -> Iterator[IO[bytes]]:
    """The file of a backup, ``-`` for standard input. Raises `BackupUnusable`."""
    if place == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(place).open("rb")  # noqa: SIM115 - closed below, and errors in between are not its own
    except OSError as error:
        raise BackupUnusable(f"{place} cannot be read: {error.strerror}") from None
    with file:
        yield file


def examine(file: IO[bytes]) -> Restored:
    """Reads all of a backup and compares it with its sums; changes nothing, needs no installation and no keys.

    Raises `BackupUnusable`, `BackupNewer`.
    """
    began = time.monotonic()
    reader = Reader(file)
    files = reader.files()
    blobs = 0
    for digest, data in reader.blobs():
        compare_blob(digest, data)
        blobs += 1
    sums = {}
    for table in reader.head.tables:
        sums[table.name] = Sum(table)
        for row in reader.rows(table):
            sums[table.name].add(row)
    end = reader.finish()
    compare(end, files, blobs, sums, BackupUnusable)
    return told(reader.head, end, (), (), began)


def compare(
    end: End,
    files: dict[str, bytes] | None,
    blobs: int | None,
    sums: dict[str, Sum] | None,
    failure: type[BackupUnusable] | type[RestoreFailed],
) -> None:
    """Raises ``failure`` unless files of keys, number of archives and sums of rows are what the end says; None is not
    compared."""
    if files is not None and {name: hashlib.sha256(data).hexdigest() for name, data in files.items()} != end.files:
        raise failure("the keys in the backup are not those that its end names")
    if blobs is not None and blobs != end.blobs:
        raise failure(f"the backup holds {blobs} package archives; its end says {end.blobs}")
    for name, total in (sums or {}).items():
        count, checksum, _ = end.tables.get(name, (0, "", 0))
        if (total.count, total.checksum) != (count, checksum):
            raise failure(f"table {name} is not as it was: {count} rows with checksum {checksum[:12]}…,"
                          f" found {total.count} with {total.checksum[:12]}…")  # fmt: skip


def compare_blob(digest: str, data: bytes) -> None:
    """Raises `BackupUnusable` unless an archive is what its name says."""
    if hashlib.sha256(data).hexdigest() != digest:
        raise BackupUnusable(f"package archive {digest[:12]}… in the backup is damaged")


def told(head: Head, end: End, migrations: tuple[str, ...], notes: tuple[str, ...], began: float) -> Restored:
    """The result, from head and end."""
    total = sum(count for count, _, _ in end.tables.values())
    return Restored(head.made, head.version, total, len(end.tables), end.blobs, tuple(end.missing), KEYS in end.files,
                    migrations, notes, time.monotonic() - began)  # fmt: skip
