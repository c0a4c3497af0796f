"""`restore`: an installation out of the file of a backup, into an empty database; SQLite or PostgreSQL, whichever the
backup was made of.

All rows are written in one transaction, read again and compared with the sums in the file before it is committed. What
is broken off before leaves the database as empty as it was; archives and keys that were written by then are no harm:
archives are named after what is in them, and keys are added to. The transaction also notes which backup it was, so that
what is broken off afterwards is brought to its end when the same backup is restored again.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from django.db import DEFAULT_DB_ALIAS, Error, IntegrityError, connections, transaction

from vetro.server.config import Config
from vetro.server.dbtools import copying, schema
from vetro.server.dbtools.backup_file import KEYS, SIGNING, End, Head, Reader
from vetro.server.dbtools.backup_reading import Restored, compare, compare_blob, told
from vetro.server.dbtools.errors import BackupUnusable, MoveFailed, RestoreFailed
from vetro.server.dbtools.restore_checks import RESTORED, refuse, tried_keys
from vetro.server.dbtools.tables import Sum, Table, rows
from vetro.server.keyfile import write_keys

#: Tables whose rows are of the machines of the installation that was saved.
_OF_MACHINES = ("dispatch_workerprocess",)
Say = Callable[[str], None]


def restore(config: Config, file: IO[bytes], *, fresh_keys: bool = False, say: Say = print) -> Restored:
    """Fills the empty database of this installation, its store of archives and, if they are in the file, its keys.

    ``fresh_keys``: the file of keys here was only just made and has encrypted nothing. Raises `BackupUnusable`,
    `BackupNewer`, `RestoreRefused`, `RestoreFailed`, `KeysUnusable`, and errors of `schema`.
    """
    began = time.monotonic()
    reader = Reader(file)
    head = reader.head
    filled = schema.state().filled == _name(head)
    refuse(head, filled)
    files = reader.files()
    keys = tried_keys(config, head, files, fresh_keys)
    count = _put_archives(reader, say)
    notes: tuple[str, ...]
    if filled:
        end, notes = _passed(reader), ("its rows had been written before: what was left to do is done",)
    else:
        end, notes = _written(config, reader, files, keys, count, say)
    migrations = schema.migrate()
    if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute("ANALYZE")
    found = told(head, end, tuple(migrations), notes, began)
    with transaction.atomic(using=DEFAULT_DB_ALIAS):
        _note(found)
        schema.forget_filled(_name(head))
    return found


def _name(head: Head) -> str:
    """What tells a backup from all others."""
    return f"{head.made} {hashlib.sha256(head.canary.encode()).hexdigest()[:32]}"


def _put_archives(reader: Reader, say: Say) -> int:
    from vetro.server.catalog import blobs

    count = 0
    for digest, data in reader.blobs():
        compare_blob(digest, data)
        blobs.put(data)
        count += 1
    say(f"{count} package archives")
    return count


def _passed(reader: Reader) -> End:
    """The end of the file, without a look at the rows before it."""
    for table in reader.head.tables:
        for _ in reader.rows(table):
            pass
    return reader.finish()


def _written(
    config: Config, reader: Reader, files: dict[str, bytes], keys: list[str], archives: int, say: Say
) -> tuple[End, tuple[str, ...]]:
    """Makes the tables and writes all rows; what has to be said of the keys."""
    head = reader.head
    _make_tables(head)
    try:
        with transaction.atomic(using=DEFAULT_DB_ALIAS):
            _lock(head.tables)
            end = _fill(reader, say)
            compare(end, files, archives, None, BackupUnusable)
            _read_again(head.tables, end)
            for name in _OF_MACHINES:
                with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
                    cursor.execute(f"DELETE FROM {connections[DEFAULT_DB_ALIAS].ops.quote_name(name)}")
            notes = _install_keys(config, files, keys)
            schema.note_filled(_name(head))
    except MoveFailed as error:
        raise RestoreFailed(error.message) from None
    except IntegrityError as error:
        raise RestoreFailed(f"the backup holds references to rows that are gone: {_line(error)}") from None
    except Error as error:
        raise RestoreFailed(f"restoring was broken off: {_line(error)}") from None
    say("what was written was read again: all rows and checksums agree")
    return end, notes


def _make_tables(head: Head) -> None:
    """The tables of the version that made the backup, where there are none."""
    found = schema.state()
    if not found.done or set(head.migrations) - set(found.done):
        with schema.migration_lock():
            schema.migrate_to(head.migrations)


def _lock(everything: tuple[Table, ...]) -> None:
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "postgresql":
        names = ", ".join(connection.ops.quote_name(table.name) for table in everything)
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {names} IN EXCLUSIVE MODE")


def _fill(reader: Reader, say: Say) -> End:
    everything = reader.head.tables
    with copying.quietly(DEFAULT_DB_ALIAS):
        copying.empty(DEFAULT_DB_ALIAS, everything)
        for number, table in enumerate(everything, 1):
            total = Sum(table)
            copying.fill(DEFAULT_DB_ALIAS, table, copying.summed(total, reader.rows(table)))
            if total.count:
                say(f"[{number}/{len(everything)}] {table.name}: {total.count} rows")
        end = reader.finish()
        for table in everything:
            if table.numbered:
                copying.set_last_number(DEFAULT_DB_ALIAS, table, end.tables.get(table.name, (0, "", 0))[2])
        connections[DEFAULT_DB_ALIAS].check_constraints()
    return end


def _read_again(everything: tuple[Table, ...], end: End) -> None:
    sums = {}
    for table in everything:
        sums[table.name] = Sum(table)
        for row in rows(DEFAULT_DB_ALIAS, table):
            sums[table.name].add(row)
    compare(end, None, None, sums, RestoreFailed)


def _install_keys(config: Config, files: dict[str, bytes], keys: list[str]) -> tuple[str, ...]:
    """Puts the keys into their files; what has to be said of it."""
    from vetro.server.crypto import forget_keys

    notes = []
    path = config.path("secrets.key_file")
    if KEYS in files:
        write_keys(path, keys)
        forget_keys()
        notes.append(f"the keys are in {path}")
    if SIGNING in files:
        signing = config.path("engine.signing_key")
        if not signing.exists():
            _write_private(signing, files[SIGNING])
            notes.append(f"the key that signs plans is in {signing}")
        elif signing.read_bytes() != files[SIGNING]:
            notes.append(
                f"{signing} is another key than that of the backup: servers that were made before refuse its plans"
            )
    return tuple(notes)


def _write_private(path: Path, data: bytes) -> None:
    """A file that is there as a whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, path)


def _note(found: Restored) -> None:
    from vetro.server.audit.record import record
    from vetro.server.caller import SYSTEM

    record(SYSTEM, RESTORED, made=found.made, rows=found.rows, version=found.version)


def _line(error: Exception) -> str:
    return str(error).splitlines()[0][:300]
