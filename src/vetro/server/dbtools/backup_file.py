"""The file of a backup: a tar archive with a head, keys (if wanted), package archives, rows of tables, and an end.

======================== =====================================================================================
``vetro-backup.json``    the head (`Head`): format, version, migrations, tables with their columns
``keys``, ``signing``    the files of keys, where they were asked for
``blobs/SHA256``         package archives
``tables/NAME/NUMBER``   rows, as many as fit into a piece: JSON, compressed by gzip
``end.json``             the end (`End`): sums of rows and keys; a file without it is cut off
======================== =====================================================================================

Everything is written and read once from front to back, so it goes through pipes, and memory holds one piece at a time.
Ciphertext stays ciphertext: the file is as secret as the database, and with the keys as secret as what is in it.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import IO, Any, Final

from vetro.server.dbtools.errors import BackupNewer, BackupUnusable
from vetro.server.dbtools.tables import KINDS, Column, Table, as_json, from_json

#: Version of the format; files of a higher one are refused.
FORMAT: Final = 1
HEAD, END, KEYS, SIGNING = "vetro-backup.json", "end.json", "keys", "signing"
#: Bytes of JSON after which a piece of a table ends, before compression.
_PIECE = 4 << 20
#: Largest member that is read: no row and no archive comes near.
_MOST = 1 << 30
#: Types of integers: Django's names.
_INTEGERS = frozenset(
    f"{size}{kind}Field" for size in ("", "Big", "Small") for kind in ("Auto", "Integer")
) | frozenset(f"Positive{size}IntegerField" for size in ("", "Big", "Small"))
_NAME = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Head:
    """What the backup is of."""

    version: str
    #: When it was begun, ISO 8601 in UTC.
    made: str
    #: ``app.name`` of the migrations that the tables have.
    migrations: tuple[str, ...]
    tables: tuple[Table, ...]
    #: A text that the keys of the installation open.
    canary: str
    with_keys: bool


@dataclass(slots=True)
class End:
    """What must have been read."""

    #: table -> [rows, checksum, last number]
    tables: dict[str, tuple[int, str, int]] = field(default_factory=dict)
    blobs: int = 0
    blob_bytes: int = 0
    #: Digests of archives that were not in the store.
    missing: list[str] = field(default_factory=list)
    #: name -> SHA-256 of the files of keys.
    files: dict[str, str] = field(default_factory=dict)


class Writer:
    """Writes the parts, in their order, to a file or pipe."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w|", format=tarfile.USTAR_FORMAT)  # noqa: SIM115 - `end` does

    def head(self, head: Head) -> None:
        """The first member."""
        self.member(HEAD, _json({"format": FORMAT, **asdict(head)}))

    def member(self, name: str, data: bytes) -> None:
        """Any member."""
        info = tarfile.TarInfo(name)
        info.size = len(data)
        info.mode = 0o600
        self._tar.addfile(info, io.BytesIO(data))

    def rows(self, table: Table, rows: Iterable[list[Any]]) -> None:
        """All rows of a table, in pieces."""
        piece: list[str] = []
        size = number = 0

        def write() -> None:
            data = ("[" + ",\n".join(piece) + "]").encode("ascii")
            self.member(f"tables/{table.name}/{number:06}", gzip.compress(data, 1, mtime=0))

        for row in rows:
            text = json.dumps([as_json(value) for value in row], separators=(",", ":"))
            piece.append(text)
            size += len(text)
            if size >= _PIECE:
                write()
                piece, size, number = [], 0, number + 1
        if piece:
            write()

    def end(self, end: End) -> None:
        """The last member; nothing may follow."""
        self.member(END, _json(asdict(end)))
        self._tar.close()


class Reader:
    """Reads the parts, in their order, from a file or pipe. Everything raises `BackupUnusable` for what is damaged."""

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self._tar = tarfile.open(fileobj=file, mode="r|")  # noqa: SIM115 - the file is the caller's
        except (tarfile.TarError, EOFError, OSError) as error:
            raise BackupUnusable(f"this is no backup of Vetro: {error}") from None
        self._next: tuple[str, bytes] | None = None
        self.end: End | None = None
        self.head = self._head()

    def _head(self) -> Head:
        found = self._peek()
        if found is None or found[0] != HEAD:
            raise BackupUnusable("this is no backup of Vetro: it does not begin with a head")
        self._next = None
        data = _parsed(HEAD, found[1])
        version = data.get("version")
        if not isinstance(data.get("format"), int) or data["format"] > FORMAT:
            raise BackupNewer(
                f"the backup was made by Vetro {version}, in format {data.get('format')}; this knows {FORMAT}"
            )
        try:
            tables = tuple(
                Table(
                    _name(table["name"]),
                    tuple(_column(c) for c in table["columns"]),
                    _name(table["numbered"]) if table["numbered"] else "",
                )
                for table in data["tables"]
            )
            return Head(str(version), str(data["made"]), tuple(map(str, data["migrations"])), tables,
                        str(data["canary"]), bool(data["with_keys"]))  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise BackupUnusable(f"the head of the backup is damaged: {error}") from None

    def files(self) -> dict[str, bytes]:
        """The files of keys, by name."""
        found = {}
        while (member := self._peek()) is not None and member[0] in (KEYS, SIGNING):
            found[member[0]] = member[1]
            self._next = None
        return found

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        """Package archives: (digest, bytes)."""
        while (member := self._peek()) is not None and member[0].startswith("blobs/"):
            self._next = None
            yield member[0].removeprefix("blobs/"), member[1]

    def rows(self, table: Table) -> Iterator[list[Any]]:
        """The rows of a table. Tables come in the order of the head."""
        kinds = [column.kind for column in table.columns]
        while (member := self._peek()) is not None and member[0].startswith(f"tables/{table.name}/"):
            self._next = None
            name, data = member
            try:
                piece = json.loads(_unpacked(data))
                for row in piece:
                    yield [from_json(value, kind) for value, kind in zip(row, kinds, strict=True)]
            except (EOFError, zlib.error, ValueError, TypeError, AttributeError, RecursionError) as error:
                raise BackupUnusable(f"{name} in the backup is damaged: {error}") from None

    def finish(self) -> End:
        """The end. Raises `BackupUnusable` when something else is there, or nothing."""
        member = self._peek()
        if member is None:
            raise BackupUnusable("the backup is cut off: its end is missing")
        if member[0] != END:
            raise BackupUnusable(f"the backup holds {member[0]} where its end should be")
        data = _parsed(END, member[1])
        try:
            tables = {
                str(name): (int(n), str(checksum), int(last)) for name, (n, checksum, last) in data["tables"].items()
            }
            return End(tables, int(data["blobs"]), int(data["blob_bytes"]), list(data["missing"]), dict(data["files"]))
        except (KeyError, TypeError, ValueError) as error:
            raise BackupUnusable(f"the end of the backup is damaged: {error}") from None

    def _peek(self) -> tuple[str, bytes] | None:
        if self._next is None:
            try:
                info = self._tar.next()
                if info is None:
                    return None
                file = self._tar.extractfile(info)
                if file is None or info.size > _MOST:
                    raise BackupUnusable(f"{info.name[:100]} in the backup is nothing that a backup holds")
                data = file.read()
                if len(data) != info.size:
                    raise BackupUnusable(f"the backup is cut off within {info.name[:100]}")
            except (tarfile.TarError, EOFError, OSError, ValueError) as error:
                raise BackupUnusable(f"the backup is damaged or cut off: {error}") from None
            self._next = (info.name, data)
        return self._next


def _json(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, indent=1).encode("ascii")


def _parsed(name: str, data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BackupUnusable(f"{name} in the backup is damaged: {error}") from None
    if not isinstance(found, dict):
        raise BackupUnusable(f"{name} in the backup is damaged: it holds no object")
    return found


def _unpacked(data: bytes) -> bytes:
    """Raises EOFError, zlib.error for what is cut off, damaged, or larger than a member may be."""
    stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
    found = stream.decompress(data, _MOST)
    if not stream.eof or stream.unused_data:
        raise EOFError("it does not end where it should")
    return found


def _column(data: Any) -> Column:
    most, integer = data["most"], data["integer"]
    if integer and integer not in _INTEGERS:
        raise ValueError(f"{str(integer)[:80]!r} is no type of integers")
    return Column(_name(data["name"]), _kind(data["kind"]), None if most is None else int(most), str(integer))


def _name(text: Any) -> str:
    """A name that may stand in SQL."""
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        raise BackupUnusable(f"the head of the backup names {str(text)[:80]!r}, which is no table or column")
    return text


def _kind(text: Any) -> str:
    if text not in KINDS:
        raise BackupUnusable(f"the head of the backup names {str(text)[:80]!r}, which is no kind of column")
    return str(text)
