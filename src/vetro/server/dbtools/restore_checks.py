"""What `vetro.server.dbtools.restore` looks at before it writes anything: the database, and the keys."""

from __future__ import annotations

import time

from django.db import DEFAULT_DB_ALIAS, connections

from vetro.server.config import Config
from vetro.server.dbtools import copying, schema
from vetro.server.dbtools.backup import CANARY
from vetro.server.dbtools.backup_file import KEYS, Head
from vetro.server.dbtools.busy import users
from vetro.server.dbtools.errors import BackupNewer, RestoreRefused
from vetro.server.dbtools.tables import MADE, tables
from vetro.server.keyfile import KeysUnusable, read_keys

#: What `audit` calls a backup that was restored.
RESTORED = "database.restore"
#: Seconds until a connection of somebody who was killed has ended.
_GOING = 5.0


def refuse(head: Head, filled: bool) -> None:
    """Whatever can be seen before anything is read from the rows. ``filled``: they are there already."""
    if who := _users():
        error = RestoreRefused(f"the database is in use: {'; '.join(who[:5])}")
        error.hint = "stop the service, its workers and everything else that uses it"
        raise error
    found = schema.state()
    schema.refuse_foreign(found)
    known = {*found.done, *found.missing}
    if strange := [name for name in head.migrations if name not in known]:
        raise BackupNewer(f"the backup was made by Vetro {head.version}, whose tables this one does not know:"
                          f" {', '.join(strange[:3])}")  # fmt: skip
    if filled:
        return
    if found.done and (newer := set(schema.of_the_data(found.done)) - set(head.migrations)):
        error = RestoreRefused(f"the tables here are newer than those of the backup: {', '.join(sorted(newer)[:3])}")
        error.hint = (
            "take a database without tables: those of the backup are made first, and brought up to date afterwards"
        )
        raise error
    counts = {}
    there = set(connections[DEFAULT_DB_ALIAS].introspection.table_names())
    for table in tables():
        if table.name in there - MADE and (count := copying.count(DEFAULT_DB_ALIAS, table)):
            counts[table.name] = count
    if counts:
        shown = ", ".join(f"{name}: {count}" for name, count in list(counts.items())[:5])
        error = RestoreRefused(f"the database is not empty ({shown})")
        if not found.missing and (when := _restored_before(head)):
            error = RestoreRefused(f"this backup was restored here already, at {when}; nothing was changed")
        error.hint = "take an empty one, or another data directory: nothing is replaced"
        raise error


def _users() -> list[str]:
    """Who uses the database. PostgreSQL notices a moment later that somebody was killed."""
    until = time.monotonic() + (_GOING if connections[DEFAULT_DB_ALIAS].vendor == "postgresql" else 0)
    while (who := users(DEFAULT_DB_ALIAS)) and time.monotonic() < until:
        time.sleep(0.1)
    return who


def _restored_before(head: Head) -> str:
    """When the backup was restored into this database; empty: never."""
    from vetro.server.audit.models import AuditRecord

    for row in AuditRecord.objects.filter(action=RESTORED).order_by("-id"):
        if row.details.get("made") == head.made:
            return row.at.isoformat(timespec="seconds")
    return ""


def tried_keys(config: Config, head: Head, files: dict[str, bytes], fresh: bool) -> list[str]:
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
