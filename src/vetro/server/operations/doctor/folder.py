"""The data directory: whose it is, who may read it, how much room there is."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

from vetro.diagnostics import ERROR, OK, WARNING, Diagnostic, Text
from vetro.server.config.config import PRIVATE, Config

#: Bytes below which room is short, and below which things fail.
SHORT, NONE = 1 << 30, 200 << 20
#: Files that can still be made before it is mentioned.
_FILES = 20_000
#: File systems on which neither SQLite's journal nor locks of files work as they must.
_FAR = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "fuse.sshfs"})


def examine(config: Config) -> Iterator[Diagnostic]:
    """All of it."""
    data = config.data
    if not data.is_dir():
        yield Diagnostic(
            "folder",
            ERROR,
            Text("there is no data directory {data}", data=data),
            Text("start 'vetro serve', or see --data"),
        )
        return
    yield from _owners(data)
    if data.stat().st_mode & 0o077:
        yield Diagnostic(
            "folder",
            WARNING,
            Text("others may look into {data}", data=data),
            Text("chmod go= {data}", data=data),
            cure="private",
        )
        for name, others in PRIVATE.items():
            path = data / name
            if path.exists() and path.stat().st_mode & 0o077 & ~(others or 0):
                hint = Text("chmod go= {path}, as the user that it belongs to", path=path)
                yield Diagnostic(
                    "folder", ERROR, Text("others may read or replace {path}", path=path), hint, cure="private"
                )
    yield from _settings_file(config)
    yield from room(data)
    kind = file_system(data)
    if kind in _FAR and not str(config["database.url"]).startswith("postgres"):
        hint = Text("put the database on a local disk, or use PostgreSQL")
        yield Diagnostic(
            "folder",
            ERROR,
            Text("SQLite in {data} is on a file system over the network ({kind})", data=data, kind=kind),
            hint,
        )


def _owners(data: Path) -> Iterator[Diagnostic]:
    """The service must own what is in it: a command that root ran in it may have left files that it cannot write."""
    owner = data.stat().st_uid
    if os.geteuid() not in (0, owner):
        hint = Text("run this as {owner}: sudo -u {owner} vetro doctor", owner=_name(owner))
        yield Diagnostic(
            "folder",
            WARNING,
            Text(
                "{data} belongs to {owner}, you are {you}",
                data=data,
                owner=_name(owner),
                you=_name(os.geteuid()),
            ),
            hint,
        )
    others = []
    for path in (data, data / "blobs", data / "cache"):
        if path.is_dir():
            others += [entry.path for entry in os.scandir(path) if entry.stat(follow_symlinks=False).st_uid != owner]
    if others:
        text = Text(
            "{count} things in it do not belong to {owner}, {first} for one",
            count=len(others),
            owner=_name(owner),
            first=others[0],
        )
        yield Diagnostic("folder", ERROR, text, Text("chown -R {owner}: {data}", owner=_name(owner), data=data))


def _settings_file(config: Config) -> Iterator[Diagnostic]:
    file = config.file
    if file is None or not file.exists() or not _open_to_others(file, config.data.stat().st_gid):
        return
    secret = [v.setting.name for v in config.values() if v.setting.secret and v.source == str(file) and v.value]
    if secret:
        text = Text("others may read {file}, in which {names} may hold passwords", file=file, names=", ".join(secret))
        yield Diagnostic(
            "settings", WARNING, text, Text("chmod go= {file}; the service must still be able to read it", file=file)
        )


def _open_to_others(file: Path, group: int) -> bool:
    """Whether anybody reads it but its owner and the group of the service."""
    about = file.stat()
    everybody = about.st_mode & 0o004 and file.parent.stat().st_mode & 0o001
    return bool(everybody or (about.st_mode & 0o040 and about.st_gid != group))


def room(path: Path) -> Iterator[Diagnostic]:
    """How much fits into the file system of a folder."""
    disk = os.statvfs(path)
    free = disk.f_bavail * disk.f_frsize
    text = Text("{free} GiB are free in {path}", free=f"{free / (1 << 30):.1f}", path=path)
    if free < SHORT:
        hint = Text("make room: without it nothing can be deployed, and what runs stops")
        yield Diagnostic("folder", ERROR if free < NONE else WARNING, text, hint)
    elif disk.f_files and disk.f_favail < _FILES:
        hint = Text("make room: delete files, or make a file system with more inodes")
        yield Diagnostic(
            "folder",
            WARNING,
            Text("only {count} more files can be made in {path}", count=disk.f_favail, path=path),
            hint,
        )
    else:
        yield Diagnostic("folder", OK, text)


def file_system(path: Path, mounts: str = "/proc/mounts") -> str:
    """Its type, as the kernel calls it; empty where nobody says."""
    wanted = str(path.resolve())
    best, kind = "", ""
    try:
        lines = Path(mounts).read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        _, place, name, *_ = line.split()
        place = place.replace("\\040", " ")
        if (wanted == place or wanted.startswith(place.rstrip("/") + "/")) and len(place) >= len(best):
            best, kind = place, name
    return kind


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
