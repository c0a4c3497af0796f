"""`restore`: an installation out of the file of a backup, into an empty database of the kind that it was saved from.

The database is filled in one transaction. What is broken off before leaves it as empty as it was; archives and keys
that were written by then are no harm: archives are named after what is in them, and keys are added to. What is broken
off afterwards leaves a mark, with which nothing but another restoring begins on that database.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections, transaction

from vetro.data_classes import dataclass
from vetro.server.audit.models import AuditRecord
from vetro.server.audit.record import record
from vetro.server.caller import SYSTEM
from vetro.server.catalog import blobs
from vetro.server.config.config import Config
from vetro.server.operations.database import engines, partial_files, schema
from vetro.server.operations.database.activity import users
from vetro.server.operations.database.backup import CANARY
from vetro.server.operations.database.backup_file import KEYS, SIGNING, Head, Reader
from vetro.server.operations.database.errors import BackupNewer, RestoreRefused
from vetro.server.secrets.encryption import Keyring, forget_keys
from vetro.server.secrets.key_file import KeysUnusable, read_keys, write_keys

#: What `audit` calls a backup that was restored.
RESTORED = "database.restore"
#: Tables in which migrations write rows.
MADE = frozenset({"auth_permission", "catalog_category", "django_content_type"})
#: Seconds until a connection of somebody who was killed has ended.
_GOING = 5.0
_KINDS = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Restored:
    """What was in the file. ``migrations``: what was done to tables of an older version afterwards."""

    made: str
    version: str
    database_bytes: int
    blobs: int
    missing: tuple[str, ...]
    keys: bool
    migrations: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float


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
    with partial_files.scratch(config.data / "restored.database") as copy:
        _put_archives(reader, say)
        with copy.open("wb") as target:
            reader.database(target)
        end = reader.finish()
        say("the file is whole: all checksums agree")
        notes = _install_keys(config, files, keys)
        engines.fill_from(copy, head.made)
    migrations = schema.migrate(restoring=True)
    with transaction.atomic(using=DEFAULT_DB_ALIAS):
        _note(head)
        engines.clear_mark()
    return Restored(head.made, head.version, end.size, end.blobs, tuple(end.missing), KEYS in files,
                    tuple(migrations), notes, time.monotonic() - began)  # fmt: skip


def _refuse(head: Head) -> None:
    """Whatever can be seen before anything is written."""
    if who := _users():
        error = RestoreRefused(f"the database is in use: {'; '.join(who[:5])}")
        error.hint = "stop the service, its workers and everything else that uses it"
        raise error
    connection = connections[DEFAULT_DB_ALIAS]
    if head.database != connection.vendor:
        theirs, ours = (_KINDS.get(kind, "something else") for kind in (head.database, connection.vendor))
        error = RestoreRefused(f"the backup is of {theirs}; the database here is {ours}")
        error.hint = f"restore it into {theirs}; 'vetro db move' brings the installation to another database"
        raise error
    found = schema.state()
    schema.refuse_foreign(found, restoring=True)
    known = {*found.done, *found.missing}
    if strange := [name for name in schema.of_the_data(head.migrations) if name not in known]:
        raise BackupNewer(f"the backup was made by Vetro {head.version}, whose tables this one does not know:"
                          f" {', '.join(strange[:3])}")  # fmt: skip
    if found.restoring:
        return
    counts = filled(DEFAULT_DB_ALIAS)
    if counts:
        shown = ", ".join(f"{name}: {count}" for name, count in list(counts.items())[:5])
        error = RestoreRefused(f"the database is not empty ({shown})")
        if not found.missing and (when := _restored_before(head)):
            error = RestoreRefused(f"this backup was restored here already, at {when}; nothing was changed")
        error.hint = "take an empty one, or another data directory: nothing is replaced"
        raise error


def filled(alias: str) -> dict[str, int]:
    """The tables with rows that people or tasks made, and how many each has."""
    there = set(connections[alias].introspection.table_names())
    counts = {}
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        if table in there - MADE and (count := model._base_manager.using(alias).count()):
            counts[table] = count
    return counts


def _users() -> list[str]:
    """Who uses the database. PostgreSQL notices a moment later that somebody was killed."""
    until = time.monotonic() + (_GOING if connections[DEFAULT_DB_ALIAS].vendor == "postgresql" else 0)
    while (who := users(DEFAULT_DB_ALIAS)) and time.monotonic() < until:
        time.sleep(0.1)
    return who


def _restored_before(head: Head) -> str:
    """When the backup was restored into this database; empty: never."""
    for row in AuditRecord.objects.filter(action=RESTORED).order_by("-id"):
        if row.details.get("made") == head.made:
            return row.at.isoformat(timespec="seconds")
    return ""


def _tried_keys(config: Config, head: Head, files: dict[str, bytes], fresh: bool) -> list[str]:
    """The keys that the installation will have. Raises `KeysUnusable` unless they open what is in the backup."""
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


def _put_archives(reader: Reader, say: Say) -> None:
    count = 0
    for _, data in reader.blobs():
        blobs.put(data)
        count += 1
    say(f"{count} package archives")


def _install_keys(config: Config, files: dict[str, bytes], keys: list[str]) -> tuple[str, ...]:
    """Puts the keys into their files; what has to be said of it."""
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


def _note(head: Head) -> None:
    record(SYSTEM, RESTORED, made=head.made, version=head.version)
