"""`vetro cp`: files and folders from servers and to them; what a hostile server sends stays in its place."""

from __future__ import annotations

import io
import os
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.deploykit import Place
from tests.support.commands import Execution
from vetro.cli.client.requests import Refused
from vetro.cli.environments import server_files
from vetro.cli.environments.server_files import place_of, unpacked


@pytest.fixture
def place(here: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(here)
    found.deploy()
    Execution(monkeypatch)
    return found


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A folder of the server."""
    folder = tmp_path / "server" / "site"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "index.html").write_bytes(os.urandom(700_000))
    (folder / "deep/er/run").write_text("#!/bin/sh\n")
    (folder / "deep/er/run").chmod(0o4755)
    (folder / "-odd name\n").write_text("odd")
    (folder / "way out").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    return folder


def test_folders_and_files_come_and_go(place: Place, there: Path, tmp_path: Path) -> None:
    done = place.ok("cp", f"e:box:{there}", str(tmp_path))
    assert "left out: 2" in done.stderr
    got = tmp_path / "site"
    assert (got / "index.html").read_bytes() == (there / "index.html").read_bytes()
    assert (got / "deep/er/run").stat().st_mode & 0o7777 == 0o755
    assert sorted(os.listdir(got)) == ["-odd name\n", "deep", "index.html"]
    assert "is there already" in place.refused("cp", f"e:{there}", str(tmp_path))
    place.ok("cp", str(got), f"e:{there.parent}/again")
    assert (there.parent / "again/index.html").read_bytes() == (there / "index.html").read_bytes()
    place.ok("cp", str(got), f"e:{there}")
    assert (there / "site/deep/er/run").read_text() == "#!/bin/sh\n"

    (there / "link").symlink_to("index.html")
    place.ok("cp", f"e:{there}/link", str(tmp_path / "new"))
    assert (tmp_path / "new").read_bytes() == (there / "index.html").read_bytes()
    (tmp_path / "new").write_text("changed")
    place.ok("cp", str(tmp_path / "new"), f"e:{there}/")
    assert (there / "new").read_text() == "changed"
    place.ok("cp", f"e:{there}/new", str(tmp_path / "new"))
    assert not list(tmp_path.glob(".vetro-cp-*"))


def test_what_is_refused(place: Place, there: Path, tmp_path: Path) -> None:
    for words, says in (
        ((f"e:{there}/none", "."), "the server has no such file or folder"),
        ((f"e:{there}/pipe", "x"), "no file or folder"),
        (("e:relative", "."), "no absolute path"),
        (("e:/", "."), "no absolute path"),
        ((f"e:{there}", "none/x"), "no folder"),
        ((f"e:{there}", "x", "--most", "0"), "most"),
        (("none", f"e:{there}"), "there is no none"),
        ((str(place.package), f"e:{there}/none/"), "no folder"),
        ((str(place.package), f"e:{there}/none/x"), "refuses it"),
        ((str(place.package), "e:relative"), "no absolute path"),
        (("a", "b"), "One side"),
        (("e:/a", "e:/b"), "One side"),
    ):
        done = place.run("cp", *words)
        assert done.exit_code in (1, 2) and says in done.output, (words, done.output)
    (there / "big").write_bytes(b"x" * (2 << 20))
    assert "more than 1,048,576 bytes" in place.refused("cp", f"e:{there}/big", "x", "--most", "1")
    assert "more than 1,048,576 bytes" in place.refused("cp", str(there / "big"), f"e:{there}/x", "--most", "1")
    assert not (tmp_path / "x").exists() and not list(tmp_path.glob(".vetro-cp-*"))


def test_places_are_told_from_paths() -> None:
    assert place_of("shop:web-1:/a:b") == ("shop", "web-1", "/a:b")
    assert place_of("shop:/a:b") == ("shop", "", "/a:b")
    assert place_of("./shop:/a") is None and place_of("/x:/a") is None and place_of("plain") is None


# -- what a hostile server sends ---------------------------------------------------------------------------------------


def archive(*members: tuple[str, bytes, dict[str, object]]) -> io.BytesIO:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, data, about in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for key, value in about.items():
                setattr(member, key, value)
            tar.addfile(member, io.BytesIO(data))
    stream.seek(0)
    return stream


LINK = {"type": tarfile.SYMTYPE, "linkname": "/etc"}
HARD = {"type": tarfile.LNKTYPE, "linkname": "../../secret"}
FOLDER = {"type": tarfile.DIRTYPE}
HOSTILE: dict[str, Callable[[], io.BytesIO]] = {
    "another name": lambda: archive(("other", b"x", {})),
    "absolute": lambda: archive(("/etc/passwd", b"x", {})),
    "up": lambda: archive(("a", b"", FOLDER), ("a/../../x", b"x", {})),
    "dots": lambda: archive(("..", b"x", {})),
    "twice": lambda: archive(("a", b"x", {}), ("a", b"y", {})),
    "below a file": lambda: archive(("a", b"x", {}), ("a/b", b"y", {})),
    "only a link": lambda: archive(("a", b"", LINK)),
    "only a hard link": lambda: archive(("a", b"", HARD)),
    "a device": lambda: archive(("a", b"", {"type": tarfile.BLKTYPE, "devmajor": 8})),
    "nothing": lambda: archive(),
    "no archive": lambda: io.BytesIO(b"hello" * 500),
    "half of one": lambda: io.BytesIO(archive(("a", b"x" * 5000, {})).getvalue()[:2000]),
    "too much": lambda: archive(("a", b"x" * 20_000, {})),
    "too deep": lambda: archive(("/".join(["a"] * 150), b"x", {})),
    "a long name": lambda: archive(("a/" + "b" * 200_000, b"x", {})),
    "much of nothing": lambda: archive(("a", b"", FOLDER), *((f"a/{number}", b"", {}) for number in range(60))),
    "headers for all": lambda: io.BytesIO(
        tarfile.TarInfo.create_pax_global_header({"comment": "x" * 9000}) + archive(("a", b"x", {})).getvalue()
    ),
    "a chain of headers": lambda: io.BytesIO(tarfile.TarInfo("a" * 150).tobuf(tarfile.PAX_FORMAT)[:1024] * 3000),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_writes_nothing_elsewhere(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_files, "MOST", 50)
    (tmp_path / "secret").write_text("secret")
    work = tmp_path / "inner" / "work"
    work.mkdir(parents=True)
    with pytest.raises((tarfile.TarError, ValueError, Refused, OSError, RecursionError)):
        unpacked(HOSTILE[what](), "a", work / "content", 10_000)
    assert sorted(os.listdir(tmp_path)) == ["inner", "secret"] and os.listdir(tmp_path / "inner") == ["work"]
    assert set(os.listdir(work)) <= {"content"}


def test_what_a_server_says_of_its_files_does_not_stay_in_memory(tmp_path: Path) -> None:
    about = {"pax_headers": {"comment": "x" * 60_000}}
    stream = archive(("a", b"", FOLDER), *((f"a/{number}", b"", about) for number in range(150)))
    tracemalloc.start()
    try:
        assert unpacked(stream, "a", tmp_path / "content", 10_000) == 0
        assert tracemalloc.get_traced_memory()[1] < 3 << 20, "not all headers together"
    finally:
        tracemalloc.stop()
    assert len(os.listdir(tmp_path / "content")) == 150


class Endless(io.RawIOBase):
    """Bytes, and what has no end."""

    def __init__(self, begin: bytes) -> None:
        self._begin, self._read = begin, 0

    def read(self, size: int = -1) -> bytes:
        assert self._read < 1 << 20, "it is read on and on"
        part = self._begin[self._read : self._read + size].ljust(size, b"1")
        self._read += size
        return part


def old_holes() -> bytes:
    member = tarfile.TarInfo("a")
    member.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    block[482] = 1  # more holes follow
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def new_holes() -> bytes:
    member = tarfile.TarInfo("a")
    member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    return member.tobuf(tarfile.PAX_FORMAT) + b"1000000000\n"


@pytest.mark.parametrize("holes", [old_holes, new_holes])
def test_a_map_of_holes_is_not_read_into_memory(tmp_path: Path, holes: Callable[[], bytes]) -> None:
    with pytest.raises(tarfile.ReadError, match="holes"):
        unpacked(Endless(holes()), "a", tmp_path / "content", 10_000)


def test_a_file_through_a_link_lands_in_no_other_place(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    way = {"type": tarfile.SYMTYPE, "linkname": str(tmp_path / "victim")}
    stream = archive(
        ("a", b"", FOLDER), ("a/out", b"", way), ("a/out/file", b"x", {}), ("a/suid", b"x", {"mode": 0o6777})
    )
    assert unpacked(stream, "a", tmp_path / "content", 10_000) == 1
    assert os.listdir(tmp_path / "victim") == []
    assert (tmp_path / "content/out/file").read_text() == "x", "a folder of its own"
    assert (tmp_path / "content/suid").stat().st_mode & 0o7777 == 0o777
