"""The file of a backup: a tar archive of a head, keys (if wanted), package archives, the database, and an end.

======================== =====================================================================================
``vetro-backup.json``    the head (`Head`): format, version, kind of database, migrations
``keys``, ``signing``    the files of keys, where they were asked for
``blobs/SHA256``         package archives
``database``             a database of SQLite, or what ``pg_dump --format=custom`` wrote
``end.json``             the end (`End`): checksums and counts; a file without it is cut off
======================== =====================================================================================

Everything is written and read once from front to back, so it goes through pipes. Ciphertext stays ciphertext: the file
is as secret as the database, and with the keys as secret as what is in it.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, field
from pathlib import Path
from typing import IO, Any, Final

from vetro.data_classes import dataclass
from vetro.server.operations.database.errors import BackupNewer, BackupUnusable

#: What `audit` calls a backup that was made; `vetro doctor` and pages look for the newest. They need no PostgreSQL.
ACTION: Final = "database.backup"

#: Version of the format; files of a higher one are refused, and those of the first one name the way to convert them.
FORMAT: Final = 2
HEAD, END, KEYS, SIGNING, DATABASE = "vetro-backup.json", "end.json", "keys", "signing", "database"
#: Bytes of the largest archive, which is read into memory, and of what is parsed or a file of keys: none comes near.
_MOST, _SMALL = 1 << 30, 8 << 20
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Head:
    """What the backup is of."""

    version: str
    #: When it was begun, ISO 8601 in UTC.
    made: str
    #: ``sqlite`` or ``postgresql``.
    database: str
    #: ``app.name`` of the migrations that the tables have.
    migrations: tuple[str, ...]
    #: A text that the keys of the installation open.
    canary: str


@dataclass(slots=True)
class End:
    """What must have been read."""

    #: Bytes of the database.
    size: int = 0
    blobs: int = 0
    blob_bytes: int = 0
    #: Digests of archives that were not in the store.
    missing: list[str] = field(default_factory=list)
    #: Name of a member -> SHA-256, for the files of keys and the database.
    digests: dict[str, str] = field(default_factory=dict)


class Writer:
    """Writes the parts, in their order, to a file or pipe."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w|", format=tarfile.GNU_FORMAT)  # noqa: SIM115 - `end` does

    def head(self, head: Head) -> None:
        """The first member."""
        self.member(HEAD, _json({"format": FORMAT, **asdict(head)}))

    def member(self, name: str, data: bytes) -> None:
        """A member that is in memory."""
        self._add(name, len(data), io.BytesIO(data))

    def database(self, path: Path) -> tuple[int, str]:
        """Writes the copy of the database in the file ``path``; its size and SHA-256."""
        size = path.stat().st_size
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            self._add(DATABASE, size, file)
        return size, digest

    def end(self, end: End) -> None:
        """The last member; nothing may follow."""
        self.member(END, _json(asdict(end)))
        self._tar.close()

    def _add(self, name: str, size: int, file: IO[bytes]) -> None:
        info = tarfile.TarInfo(name)
        info.size = size
        info.mode = 0o600
        self._tar.addfile(info, file)


class Reader:
    """Reads the parts, in their order, from a file or pipe. Everything raises `BackupUnusable` for what is damaged.

    ``head`` is read at once; then call `files`, `blobs`, `database` and `finish`, each once and in this order.
    """

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self._tar = tarfile.open(fileobj=file, mode="r|")  # noqa: SIM115 - the file is the caller's
        except (tarfile.TarError, EOFError, OSError) as error:
            raise BackupUnusable(f"this is no backup of Vetro: {error}") from None
        self._next: tarfile.TarInfo | None = None
        self._digests: dict[str, str] = {}
        self._blobs = self._blob_bytes = self._size = 0
        self.head = self._head()

    def _head(self) -> Head:
        found = self._peek()
        if found is None or found.name != HEAD:
            raise BackupUnusable("this is no backup of Vetro: it does not begin with a head")
        data = _parsed(HEAD, self._bytes(_SMALL))
        version = str(data.get("version"))[:40]
        if data.get("format") == 1:
            raise _old(version)
        if data.get("format") != FORMAT:
            raise BackupNewer(
                f"the backup was made by Vetro {version}, in format {str(data.get('format'))[:10]}; this knows {FORMAT}"
            )
        try:
            migrations = tuple(str(name) for name in data["migrations"])
            return Head(version, str(data["made"]), str(data["database"]), migrations, str(data["canary"]))
        except (KeyError, TypeError, ValueError) as error:
            raise BackupUnusable(f"the head of the backup is damaged: {error}") from None

    def files(self) -> dict[str, bytes]:
        """The files of keys, by name."""
        found = {}
        while (member := self._peek()) is not None and member.name in (KEYS, SIGNING):
            found[member.name] = self._bytes(_SMALL)
            self._digests[member.name] = hashlib.sha256(found[member.name]).hexdigest()
        return found

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        """Package archives: (digest, bytes), each compared with its digest."""
        while (member := self._peek()) is not None and member.name.startswith("blobs/"):
            digest, data = member.name.removeprefix("blobs/"), self._bytes(_MOST)
            if hashlib.sha256(data).hexdigest() != digest:
                raise BackupUnusable(f"package archive {digest[:12]}… in the backup is damaged")
            self._blobs += 1
            self._blob_bytes += len(data)
            yield digest, data

    def database(self, target: IO[bytes] | None = None) -> None:
        """Writes the database to ``target``, or only reads it. What it is worth is known when `finish` has returned."""
        member = self._peek()
        if member is None or member.name != DATABASE:
            raise BackupUnusable("the backup is cut off: its database is missing")
        digest = hashlib.sha256()
        for chunk in self._chunks():
            digest.update(chunk)
            self._size += len(chunk)
            if target is not None:
                target.write(chunk)
        self._digests[DATABASE] = digest.hexdigest()

    def finish(self) -> End:
        """The end, compared with everything that was read."""
        member = self._peek()
        if member is None:
            raise BackupUnusable("the backup is cut off: its end is missing")
        if member.name != END:
            raise BackupUnusable(f"the backup is damaged: {member.name[:80]} stands where its end should")
        data = _parsed(END, self._bytes(_SMALL))
        try:
            end = End(int(data["size"]), int(data["blobs"]), int(data["blob_bytes"]),
                      [str(digest) for digest in data["missing"]], dict(data["digests"]))  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise BackupUnusable(f"the end of the backup is damaged: {error}") from None
        if self._digests.get(DATABASE) != end.digests.get(DATABASE) or self._size != end.size:
            raise BackupUnusable("the database in the backup is damaged: its checksum is not that which its end names")
        if self._digests != end.digests:
            raise BackupUnusable("the keys in the backup are not those that its end names")
        if (self._blobs, self._blob_bytes) != (end.blobs, end.blob_bytes):
            raise BackupUnusable(f"the backup holds {self._blobs} package archives; its end says {end.blobs}")
        return end

    def _peek(self) -> tarfile.TarInfo | None:
        """The next member, which stays the next one until it is read."""
        if self._next is None:
            try:
                self._next = self._tar.next()
            except (tarfile.TarError, EOFError, OSError, ValueError) as error:
                raise BackupUnusable(f"the backup is damaged or cut off: {error}") from None
            # Members with holes name any size, and have no bytes.
            if self._next is not None and (not self._next.isreg() or self._next.issparse()):
                raise BackupUnusable(f"{self._next.name[:80]} in the backup is no file")
        return self._next

    def _bytes(self, most: int) -> bytes:
        assert self._next is not None
        if self._next.size > most:
            raise BackupUnusable(f"{self._next.name[:80]} in the backup is too large: {self._next.size} bytes")
        return b"".join(self._chunks())

    def _chunks(self) -> Iterator[bytes]:
        assert self._next is not None
        member, self._next = self._next, None
        try:
            file = self._tar.extractfile(member)
            assert file is not None
            left = member.size
            while left:
                chunk = file.read(min(left, _CHUNK))
                if not chunk:
                    raise BackupUnusable(f"the backup is cut off in {member.name[:80]}")
                left -= len(chunk)
                yield chunk
        except (tarfile.TarError, EOFError) as error:
            raise BackupUnusable(f"the backup is damaged or cut off: {error}") from None


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


def examine(file: IO[bytes]) -> tuple[Head, End]:
    """Reads all of a backup and compares it with its checksums; changes nothing, needs no installation and no keys.

    Raises `BackupUnusable`, `BackupNewer`.
    """
    reader = Reader(file)
    reader.files()
    for _ in reader.blobs():
        pass
    reader.database()
    return reader.head, reader.finish()


def _old(version: str) -> BackupUnusable:
    error = BackupUnusable(f"the backup is of the first format, which Vetro {version} wrote and this one does not read")
    error.hint = (
        f"convert it: with Vetro {version} 'vetro db restore FILE --data DIR', then with this version"
        " 'vetro db migrate --data DIR' and 'vetro db backup NEW --data DIR'"
    )
    return error


def _json(data: Any) -> bytes:
    return json.dumps(data, indent=1).encode()


def _parsed(name: str, data: bytes) -> Mapping[str, Any]:
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise BackupUnusable(f"{name} in the backup is damaged")
    return parsed
