"""`restore`: an installation out of the file of a backup, into an empty database; SQLite or PostgreSQL, whichever the
backup was made of.

All rows are written in one transaction, read again and compared with the sums in the file before it is committed. What
is broken off leaves the database as empty as it was; archives that were written by then are no harm, they are named
after what is in them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from django.db import DEFAULT_DB_ALIAS, Error, IntegrityError, connections, transaction

from vetro.server.config import Config
from vetro.server.dbtools import copying, schema
from vetro.server.dbtools.backup import CANARY
from vetro.server.dbtools.backup_file import KEYS, SIGNING, End, Head, Reader
from vetro.server.dbtools.backup_reading import Restored, compare, compare_blob, told
from vetro.server.dbtools.busy import users
from vetro.server.dbtools.errors import BackupNewer, BackupUnusable, MoveFailed, RestoreFailed, RestoreRefused
from vetro.server.dbtools.tables import MADE, Sum, Table, rows, tables
from vetro.server.keyfile import KeysUnusable, read_keys, write_keys

ACTION = "database.restore"
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
    _refuse(head)
    files = reader.files()
    keys = _tried_keys(config, head, files, fresh_keys)
    from vetro.server.catalog import blobs

    count = 0
    for digest, data in reader.blobs():
        compare_blob(digest, data)
        blobs.put(data)
        count += 1
    say(f"{count} package archives")
    _make_tables(head)
    try:
        with transaction.atomic(using=DEFAULT_DB_ALIAS):
            _lock(head.tables)
            end = _fill(reader, say)
            compare(end, files, count, None, BackupUnusable)
            _read_again(head.tables, end)
            for name in _OF_MACHINES:
                with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
                    cursor.execute(f"DELETE FROM {connections[DEFAULT_DB_ALIAS].ops.quote_name(name)}")
            notes = _install_keys(config, files, keys)
    except MoveFailed as error:
        raise RestoreFailed(error.message) from None
    except IntegrityError as error:
        raise RestoreFailed(f"the backup holds references to rows that are gone: {_line(error)}") from None
    except Error as error:
        raise RestoreFailed(f"restoring was broken off: {_line(error)}") from None
    say("what was written was read again: all rows and checksums agree")
    migrations = schema.migrate()
    if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute("ANALYZE")
    found = told(head, end, tuple(migrations), notes, began)
    _note(found)
    return found


def _refuse(head: Head) -> None:
    """Whatever can be seen before anything is read from the rows."""
    if who := users(DEFAULT_DB_ALIAS):
        error = RestoreRefused(f"the database is in use: {'; '.join(who[:5])}")
        error.hint = "stop the service, its workers and everything else that uses it"
        raise error
    found = schema.state()
    schema.refuse_foreign(found)
    known = {*found.done, *found.missing}
    if strange := [name for name in head.migrations if name not in known]:
        raise BackupNewer(f"the backup was made by Vetro {head.version}, whose tables this one does not know:"
                          f" {', '.join(strange[:3])}")  # fmt: skip
    if found.done and (newer := set(schema.of_the_data(found.done)) - set(head.migrations)):
        error = RestoreRefused(f"the tables here are newer than those of the backup: {', '.join(sorted(newer)[:3])}")
        error.hint = (
            "take a database without tables: those of the backup are made first, and brought up to date afterwards"
        )
        raise error
    if not found.done:
        return
    filled = {}
    for table in tables():
        if table.name not in MADE and (count := copying.count(DEFAULT_DB_ALIAS, table)):
            filled[table.name] = count
    if filled:
        shown = ", ".join(f"{name}: {count}" for name, count in list(filled.items())[:5])
        error = RestoreRefused(f"the database is not empty ({shown})")
        error.hint = "take an empty one, or another data directory: nothing is replaced"
        raise error


def _tried_keys(config: Config, head: Head, files: dict[str, bytes], fresh: bool) -> list[str]:
    """The keys that the installation will have. Raises `KeysUnusable` unless they open what is in the backup."""
    from vetro.server.crypto import Keyring

    path = config.path("secrets.key_file")
    here = [] if fresh else read_keys(path, make=False) if path.exists() else []
    if KEYS in files:
        theirs = files[KEYS].decode("ascii", "replace").split()
        # Ours stay the newest, should something have been encrypted with them; theirs include the oldest.
        keys = [*(key for key in here if key not in theirs), *theirs]
    else:
        keys = here or read_keys(path, make=False)
    try:
        if Keyring(keys).decrypt(head.canary.encode()) != CANARY:
            raise KeysUnusable("the backup says of its keys what they do not say")
    except KeysUnusable:
        others = "those it brings do not, either" if KEYS in files else "it brings none"
        error = KeysUnusable(f"the keys in {path} do not open what is in the backup, and {others}")
        error.hint = f"copy the file of keys of the installation that was saved to {path}, then restore again"
        raise error from None
    return keys


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
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


def _note(found: Restored) -> None:
    from vetro.server.audit.record import record
    from vetro.server.caller import SYSTEM

    record(SYSTEM, ACTION, made=found.made, rows=found.rows, version=found.version)


def _line(error: Exception) -> str:
    return str(error).splitlines()[0][:300]
