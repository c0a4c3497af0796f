"""Files of backups that somebody made to hurt whoever reads them: each is refused with words."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from vetro.server.operations.database import backup_file
from vetro.server.operations.database.backup_file import DATABASE, End, Head, Reader, Writer, examine
from vetro.server.operations.database.errors import BackupNewer, BackupUnusable

pytestmark = pytest.mark.attack("data", "hostile backups")
_DATA = bytes(range(256)) * 5000
_HEAD = Head("1.0", "2026-01-01T00:00:00+00:00", "sqlite", ("a.0001_b",), "canary")


def backup(folder: Path, head: bytes | None = None, end: dict[str, Any] | None = None) -> io.BytesIO:
    """A backup; ``head``: what stands there instead; ``end``: what the end says otherwise."""
    copy = folder / "copy"
    copy.write_bytes(_DATA)
    file = io.BytesIO()
    writer = Writer(file)
    if head is None:
        writer.head(_HEAD)
    else:
        writer.member(backup_file.HEAD, head)
    size, digest = writer.database(copy)
    if end is None:
        writer.end(End(size, digests={DATABASE: digest}))
    else:
        about = {"size": size, "blobs": 0, "blob_bytes": 0, "missing": [], "digests": {DATABASE: digest}, **end}
        writer.member(backup_file.END, json.dumps(about).encode())
        writer._tar.close()
    file.seek(0)
    return file


def test_an_honest_one_is_read(tmp_path: Path) -> None:
    head, end = examine(backup(tmp_path))
    assert (head, end.size, end.blobs) == (_HEAD, len(_DATA), 0)
    reader, there = Reader(backup(tmp_path)), io.BytesIO()
    assert (reader.files(), list(reader.blobs())) == ({}, [])
    reader.database(there)
    assert reader.finish() == end
    assert there.getvalue() == _DATA


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ({"digests": {DATABASE: "0" * 64}}, "its checksum is not that"),
        ({"size": 1}, "its checksum is not that"),
        ({"digests": {}}, "its checksum is not that"),
        ({"blobs": 1}, "holds 0 package archives; its end says 1"),
        ({"blobs": "many"}, "the end of the backup is damaged"),
        ({"digests": 5}, "the end of the backup is damaged"),
        ({"missing": None}, "the end of the backup is damaged"),
    ],
)
def test_ends_that_say_something_else(tmp_path: Path, end: dict[str, Any], said: str) -> None:
    with pytest.raises(BackupUnusable, match=said):
        examine(backup(tmp_path, end=end))


@pytest.mark.parametrize(
    "head",
    [b'{"a":' * 100_000, b"[]", b'{"format": 2}', b'{"format": 2, "migrations": 5}', b"\xff"],
    ids=["nested", "list", "empty", "number", "no text"],
)
def test_heads_that_are_none(tmp_path: Path, head: bytes) -> None:
    with pytest.raises(BackupUnusable, match="damaged"):
        examine(backup(tmp_path, head))


def test_other_formats(tmp_path: Path) -> None:
    with pytest.raises(BackupNewer, match="made by Vetro 9, in format 3; this knows 2"):
        examine(backup(tmp_path, b'{"format": 3, "version": "9"}'))
    with pytest.raises(BackupUnusable, match=r"of the first format, which Vetro 0\.1\.0\.dev0 wrote") as old:
        examine(backup(tmp_path, b'{"format": 1, "version": "0.1.0.dev0"}'))
    assert "with Vetro 0.1.0.dev0 'vetro db restore FILE --data DIR', then with this version" in str(old.value.hint)


def test_members_that_are_too_large_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database is never in memory; anything else that claims to be larger than any such is refused at its name."""
    monkeypatch.setattr(backup_file, "_MOST", 1 << 20)
    monkeypatch.setattr(backup_file, "_SMALL", 1 << 20)
    assert examine(backup(tmp_path))[1].size > 1 << 20
    with pytest.raises(BackupUnusable, match="is too large: 1048577 bytes"):
        examine(backup(tmp_path, b" " * ((1 << 20) + 1)))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_members_that_are_no_files(kind: bytes) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        info = tarfile.TarInfo(backup_file.HEAD)
        info.type, info.linkname = kind, "/etc/passwd"
        tar.addfile(info)
    file.seek(0)
    with pytest.raises(BackupUnusable, match="is no file"):
        Reader(file)


def test_members_that_say_how_large_they_are_and_have_no_bytes() -> None:
    """A terabyte of holes in 10 KiB: nothing of it is read, nor written to the disk."""
    member = tarfile.TarInfo(backup_file.HEAD)
    member.size, member.type = 512, tarfile.GNUTYPE_SPARSE
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    block[386:410] = b"%011o\0%011o\0" % (1 << 32, 512)  # where its bytes stand
    block[483:495] = b"\x80" + (1 << 40).to_bytes(11, "big")  # how many it has with its holes
    block[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(block))[0]
    with pytest.raises(BackupUnusable, match="is no file"):
        Reader(io.BytesIO(bytes(block) + bytes(512) + bytes(1024)))
    pax = tarfile.TarInfo(DATABASE)
    pax.size, pax.pax_headers = 512, {"GNU.sparse.size": str(1 << 40), "GNU.sparse.map": "0,512"}
    honest = tarfile.TarInfo(backup_file.HEAD)
    head = backup_file._json({"format": 2, **asdict(_HEAD)})
    honest.size = len(head)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(honest, io.BytesIO(head))
        tar.addfile(pax, io.BytesIO(bytes(512)))
    file.seek(0)
    with pytest.raises(BackupUnusable, match="is no file"):
        examine(file)


def test_a_head_that_is_a_bomb_is_not_parsed(tmp_path: Path) -> None:
    """Each three bytes of it would become a hundred."""
    with pytest.raises(BackupUnusable, match="is too large"):
        examine(backup(tmp_path, b"[" + b"{}," * (3 << 20) + b"{}]"))


def test_what_is_cut_off(tmp_path: Path) -> None:
    whole = backup(tmp_path).getvalue()
    for length in (600, 5000, len(_DATA) // 2, len(_DATA) + 1024):
        with pytest.raises(BackupUnusable):
            examine(io.BytesIO(whole[:length]))
