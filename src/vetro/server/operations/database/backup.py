"""`backup`: an installation into one file, while it runs: its database as it was at one moment, and the package
archives that it names.

The moment is a snapshot of the database, which keeps nobody from writing. Archives never change and are written before
the database that names them; one that is removed between the snapshot and its turn makes the backup begin with a new
snapshot.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from django.db import DEFAULT_DB_ALIAS, Error, connections

from vetro import __version__
from vetro.data_classes import dataclass
from vetro.server.audit.record import record
from vetro.server.caller import SYSTEM
from vetro.server.catalog import blobs, garbage
from vetro.server.catalog.models import Package
from vetro.server.config.config import Config
from vetro.server.environments import packages
from vetro.server.operations.database import engines, partial_files, schema
from vetro.server.operations.database.backup_file import ACTION, DATABASE, KEYS, SIGNING, End, Head, Writer
from vetro.server.operations.database.errors import BackupFailed
from vetro.server.operations.database.snapshot import snapshot
from vetro.server.secrets.encryption import keyring

#: What the keys must open.
CANARY = b"these are the keys of this installation"
#: How often a snapshot is taken before archives that are gone count as missing.
_TRIES = 3
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Saved:
    """What is in the file. ``missing``: archives that the catalog names and the store does not have."""

    database_bytes: int
    blobs: int
    blob_bytes: int
    missing: tuple[str, ...]
    with_keys: bool
    size: int
    seconds: float


def backup(config: Config, place: str, *, with_keys: bool = False, replace: bool = False, say: Say = print) -> Saved:
    """Writes the backup to the file ``place``, ``-`` for standard output. A file appears when it is whole.

    ``with_keys``: also the file of keys and the key that signs plans. ``replace``: an existing file. Raises
    `BackupFailed`, `SchemaOlder`, `SchemaNewer`, `DatabaseMoved`, `KeysUnusable`; errors of the database.
    """
    began = time.monotonic()
    schema.require()
    keys = _keys(config, with_keys)
    with _opened(config, place, replace) as (file, copy):
        counted = _Counted(file)
        try:
            end = _write(Writer(counted), keys, copy, say)  # type: ignore[arg-type]
        except BaseException:
            counted.stop()
            raise
    _note(end, with_keys)
    return Saved(end.size, end.blobs, end.blob_bytes, tuple(end.missing), with_keys, counted.size,
                 time.monotonic() - began)  # fmt: skip


def _write(writer: Writer, keys: dict[str, bytes], copy: Path, say: Say) -> End:
    made = datetime.now(UTC).isoformat(timespec="seconds")
    canary = keyring().encrypt(CANARY).decode("ascii")
    kind = connections[DEFAULT_DB_ALIAS].vendor
    writer.head(Head(__version__, made, kind, schema.state().done, canary))
    end = End()
    for name, data in keys.items():
        writer.member(name, data)
        end.digests[name] = hashlib.sha256(data).hexdigest()
    written: set[str] = set()
    for attempt in range(_TRIES):
        with snapshot():
            missing = _blobs(writer, written, end)
            if missing and attempt + 1 < _TRIES:
                continue
            end.missing = sorted(missing)
            say(f"{end.blobs} package archives")
            engines.copy_to(copy)
            break
    end.size, end.digests[DATABASE] = writer.database(copy)
    writer.end(end)
    return end


def _blobs(writer: Writer, written: set[str], end: End) -> set[str]:
    """Writes the archives that the snapshot names and that are not written yet; those that are not there."""
    missing = set()
    try:
        there = set(blobs.store().names())
    except OSError as error:
        failed = BackupFailed(f"the store of package archives cannot be read: {error}")
        failed.hint = "see 'storage.blobs'; 'vetro doctor' tries it"
        raise failed from None
    for digest in sorted(garbage.used() - written):
        if digest not in there:
            # What a task names may only look like a digest; what the catalog names is one.
            missing.add(digest)
            continue
        try:
            data = blobs.get(digest)
        except blobs.BlobMissing:
            missing.add(digest)
            continue
        writer.member(f"blobs/{digest}", data)
        written.add(digest)
        end.blobs += 1
        end.blob_bytes += len(data)
    return missing & named() if missing else missing


def named() -> set[str]:
    """Digests of archives that packages and environments name."""
    found = {package.digest for package in packages.archives()}
    for digests in Package.objects.values_list("digest", "ui", "logo", "supplier_logo"):
        found.update(digests)
    return found - {""}


def _keys(config: Config, wanted: bool) -> dict[str, bytes]:
    if not wanted:
        return {}
    found = {}
    for name, path, needed in (
        (KEYS, config.path("secrets.key_file"), True),
        (SIGNING, config.path("engine.signing_key"), False),
    ):
        try:
            found[name] = path.read_bytes()
        except FileNotFoundError:
            if needed:
                raise BackupFailed(f"there is no file of keys {path}") from None
        except OSError as error:
            raise BackupFailed(f"{path} cannot be read: {error.strerror}") from None
    return found


@contextmanager
def _opened(config: Config, place: str, replace: bool) -> Iterator[tuple[IO[bytes], Path]]:
    """The file to write to, which gets its name when all is in it and on the disk; and a file for the database's copy,
    which is removed."""
    path = config.data / "backup" if place == "-" else Path(place).absolute()
    if place != "-" and path.exists() and not replace:
        refused = BackupFailed(f"{path} is there already")
        refused.hint = "choose another name; --replace replaces it"
        raise refused
    try:
        with partial_files.signals_end(), partial_files.scratch(path.with_name(f"{path.name}.database")) as copy:
            if place == "-":
                yield sys.stdout.buffer, copy
                sys.stdout.buffer.flush()
                return
            with partial_files.draft_of(path) as file:
                yield file, copy
    except OSError as error:
        failed = BackupFailed(f"{path} cannot be written: {error.strerror or error}")
        failed.hint = "name a folder with room that this user may write to"
        raise failed from None


def _note(end: End, with_keys: bool) -> None:
    """The audit says when everything was read; that a backup was made does not depend on it."""
    with suppress(Error):
        record(SYSTEM, ACTION, bytes=end.size, archives=end.blobs, keys=with_keys)


class _Counted:
    """A file that knows how much was written to it. Once stopped, nothing more is: an archive that is thrown away
    writes what it still holds."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._stopped = False
        self.size = 0

    def stop(self) -> None:
        """Drops what is written from now on."""
        self._stopped = True

    def write(self, data: bytes) -> int:
        """As a file's."""
        if not self._stopped:
            self._file.write(data)
            self.size += len(data)
        return len(data)
