"""`vetro cp`: files and folders from servers and to them, as archives of tar over a command.

What a server sends is hostile: nothing is written but ordinary files and folders below the one place that was named,
made anew, and not more than was said. `tarfile`'s own extraction is not used.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

from vetro.cli import output as out
from vetro.cli.client.requests import Client, Refused
from vetro.cli.environments.server_commands import PART, Sender, ServerTarget, writer
from vetro.visible import visible

#: Files and folders of one copy, and levels of folders.
MOST, DEEPEST = 100_000, 100
#: Bytes of a header that says more of a member (long names); tarfile keeps it in memory.
_HEADER: Final = 64 << 10
_LONG: Final = frozenset((tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK))
#: What tarfile keeps in memory however long it is: headers for all members, the holes of a file.
_ENDLESS: Final = frozenset((tarfile.XGLTYPE, tarfile.GNUTYPE_SPARSE))
#: Bytes of what a small command says.
_SAID: Final = 8000


class ServerPath(NamedTuple):
    """A path in a server; without a name of one, in the only server."""

    environment: str
    server: str
    path: str


def place_of(text: str) -> ServerPath | None:
    """``NAME:PATH`` or ``NAME:SERVER:PATH``; None for a path of this machine, which may begin with './'."""
    parts = text.split(":", 2)
    if "/" in parts[0] or len(parts) == 1:
        return None
    if len(parts) == 2 or parts[1].startswith("/"):
        return ServerPath(parts[0], "", text.partition(":")[2])
    return ServerPath(*parts)


def fetch(client: Client, source: ServerPath, target: Path, most: int) -> None:
    """Copies from a server; ``most`` bytes at most. Raises `ClientError`."""
    name = posixpath.basename(posixpath.normpath(source.path))
    if not source.path.startswith("/") or not name:
        raise Refused(400, f"'{source.path}' is no absolute path of a file or folder in a server", None)
    if target.is_dir():
        target /= name
    if target.is_dir():
        raise Refused(409, f"{target} is there already", "name another place, or remove it")
    folder = target.absolute().parent
    if not folder.is_dir():
        raise Refused(409, f"there is no folder {folder}", None)
    server = ServerTarget(client, source.environment, source.server)
    with _explained(), tempfile.TemporaryDirectory(dir=folder, prefix=".vetro-cp-") as work:
        left_out = _received(server, source.path, Path(work, "content"), most)
        os.replace(Path(work, "content"), target)
    if left_out:
        out.note(f"links and special files are left out: {left_out}")


def put(client: Client, source: Path, target: ServerPath, most: int) -> None:
    """Copies to a server; ``most`` bytes at most. Raises `ClientError`."""
    if not target.path.startswith("/"):
        raise Refused(400, f"'{target.path}' is no absolute path in a server", None)
    if not source.exists():
        raise Refused(404, f"there is no {source}", None)
    server = ServerTarget(client, target.environment, target.server)
    path = posixpath.normpath(target.path)
    if server.run(["test", "-d", path], _drop, _drop) == 0:
        folder, name = path, source.absolute().resolve().name
    elif target.path.endswith("/"):
        raise Refused(404, f"there is no folder {target.path} in the server", None)
    else:
        folder, name = posixpath.split(path)
    failures: list[Exception] = []

    def feed(sender: Sender) -> None:
        try:
            _pack(source, name, sender, most)
        except Exception as error:
            failures.append(error)  # tar in the server misses the end

    said = _Beginning()
    status = server.run(["tar", "-x", "-f", "-", "--no-same-owner", "-C", folder], _drop, said, feed=feed)
    with _explained():
        for error in failures:
            raise error
    said.check(status)


def _received(server: ServerTarget, path: str, content: Path, most: int) -> int:
    """Writes what a server sends to ``content``; how much was left out."""
    said = _Beginning()
    # Where a link leads to in there; without a word where nothing is.
    said.check(server.run(["readlink", "-e", "--", path], said, said), "the server has no such file or folder")
    folder, name = posixpath.split(said.text().rstrip("\n"))
    reading, writing = os.pipe()
    failures: list[Exception] = []
    left_out = 0

    def unpack() -> None:
        nonlocal left_out
        try:
            with open(reading, "rb") as stream:
                left_out = unpacked(stream, name, content, most)
                while stream.read(PART):  # zeros that follow the end
                    pass
        except Exception as error:
            failures.append(error)

    said = _Beginning()
    thread = threading.Thread(target=unpack, daemon=True)
    thread.start()
    try:
        words = ["tar", "-c", "-f", "-", "--hard-dereference", "-C", folder or "/", "--", name]
        status = server.run(words, writer(writing), said)
    except BrokenPipeError:
        status = 0  # unpacking has failed
    finally:
        os.close(writing)
        thread.join()
    if status > 1:  # 1: a file changed while it was read
        said.check(status)
    for error in failures:
        if isinstance(error, (Refused, OSError)):
            raise error
        raise Refused(400, f"the server sent no archive of it: {visible(str(error))[:500]}", None) from None
    return left_out


class _Beginning:
    """The beginning of what a command says."""

    def __init__(self) -> None:
        self._said = bytearray()

    def __call__(self, data: bytes) -> None:
        self._said += data[: _SAID - len(self._said)]

    def text(self) -> str:
        return self._said.decode("utf-8", "surrogateescape")

    def check(self, status: int, silent: str = "") -> None:
        """Raises `Refused` unless the command succeeded; ``silent`` is why where it said nothing."""
        if status != 0:
            said = visible(self._said.decode("utf-8", "replace")).strip()
            if silent and status == 1 and not said:
                raise Refused(404, silent, None)
            raise Refused(409, f"the server refuses it: {said or f'status {status}'}", None)


@contextmanager
def _explained() -> Iterator[None]:
    """Says what this machine refuses."""
    try:
        yield
    except OSError as error:
        raise Refused(400, f"{error.filename or 'copying'}: {error.strerror}", None) from None


class _Member(tarfile.TarInfo):
    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        found = super().frombuf(buf, encoding, errors)
        if found.type in _LONG and not 0 <= found.size <= _HEADER:
            raise tarfile.ReadError("the name of a file is too long")
        if found.type in _ENDLESS:
            raise tarfile.ReadError("it has headers for all files, or files with holes")
        return found

    def _proc_gnusparse_10(self, *_: object) -> None:
        raise tarfile.ReadError("it has files with holes")


def unpacked(stream: IO[bytes], name: str, content: Path, most: int) -> int:
    """Writes the member ``name`` of an archive, a file or a folder with what is in it, to ``content``, which is new.

    Gives how many links and special files were left out. Raises `tarfile.TarError`, `ValueError` for what nobody asked
    for, `Refused` when it is more than ``most`` bytes or `MOST` files.
    """
    left_out = count = total = 0
    folders: list[tuple[Path, int]] = []
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as archive:
        while (member := archive.next()) is not None:
            # Else all of them stay, each with its headers.
            archive.members.clear()  # type: ignore[attr-defined]
            parts = member.name.rstrip("/").split("/")
            if parts[0] != name or any(part in ("", ".", "..") or "\0" in part for part in parts):
                raise ValueError(f"'{member.name[:200]}' is not what was asked for")
            count += 1
            total += member.size
            if count > MOST or len(parts) > DEEPEST or total > most or member.size < 0:
                what = f"{most:,} bytes, {MOST:,} files or {DEEPEST} levels of folders"
                raise Refused(413, f"it is more than {what}", "--most sets another limit for its bytes")
            place = content.joinpath(*parts[1:])
            if member.isdir():
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
                folders.append((place, member.mode))
            elif member.isreg():
                place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                source = archive.extractfile(member)
                assert source is not None
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with source, open(os.open(place, flags, 0o600), "wb") as file:
                    shutil.copyfileobj(source, file)
                    os.fchmod(file.fileno(), _mode(member.mode))
            else:
                left_out += 1
    if not os.path.lexists(content):
        raise ValueError("it has neither files nor folders" if not left_out else "it is no file or folder")
    for place, mode in reversed(folders):
        place.chmod(_mode(mode) | 0o700)
    return left_out


def _pack(source: Path, name: str, sender: Sender, most: int) -> None:
    total = 0

    def own(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        nonlocal total
        total += member.size
        if total > most:
            raise Refused(413, f"it is more than {most:,} bytes", "--most sets another limit")
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        return member if member.isreg() or member.isdir() or member.issym() else None

    with tarfile.open(fileobj=cast("IO[bytes]", sender), mode="w|", bufsize=PART) as archive:
        archive.add(source.resolve(), arcname=name, filter=own)


def _mode(mode: int) -> int:
    return mode & 0o777 | 0o600


def _drop(data: bytes) -> None:
    """Nobody wants it."""
