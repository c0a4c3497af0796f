"""Files between people and servers, of any size: what actions of an environment are given, and what they return.

A file lies in the folder of its environment until it is a day old (setting ``files.hours``). It comes in parts, so
that nobody holds a whole one, and so it goes to servers (`vetro.engine.host.file_parts`). All files of a project
together have at most ``files.each_project_mib``. Its name is made at random; whoever may run the actions of an
environment may have its files, and nobody of another one finds them.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from pathlib import Path
from typing import IO, cast

from vetro import file_lock
from vetro.diagnostics import Text
from vetro.engine.host.file_parts import LARGEST_PART, LOCK, MOST, bytes_in, files_in
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.config.config import Config
from vetro.server.config.file_folders import folder_of, most_of, remove_folder, root_of
from vetro.server.environments import lookup
from vetro.server.environments.models import Environment
from vetro.server.errors import Conflict, Invalid, NotFound, TooLarge, TooMany
from vetro.server.setup import config

__all__ = ["LARGEST_PART", "MOST", "add_part", "begin", "open_file", "remove_all", "sweep"]

_ID = re.compile(r"[0-9a-f]{32}")


def begin(caller: Caller, environment_id: str) -> str:
    """What a new, empty file is called. Raises `NotFound`, `TooMany`."""
    row = _row_of(caller, environment_id)
    folder = folder_of(config(), row.project_id, row.id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file_lock.exclusive(folder.parent / LOCK):
        folder.mkdir(mode=0o700, exist_ok=True)  # it may have been removed meanwhile
        for other in _folders_in(folder.parent):  # on a machine of one's own nobody else does
            _drop_old(other, config())
        if files_in(folder.parent) >= MOST:
            retry = {"retry_after": 60}
            raise TooMany(Text("a project has at most {most} files at once", most=MOST), details=retry)
        id = secrets.token_hex(16)
        os.close(os.open(folder / id, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    record(caller, "environment.file.begin", row.id, row.name, file=id)
    return id


def add_part(caller: Caller, environment_id: str, id: str, offset: int, source: IO[bytes], size: int) -> int:
    """Adds bytes to the end of a file; how many it has now. A part that came already comes again without effect.

    Raises `NotFound`, `TooLarge` for a part, or files, that are too large, `Conflict` for a part that does not belong
    there, `Invalid` for one that ends too early.
    """
    path = _path_of(caller, environment_id, id)
    if size > LARGEST_PART:
        raise TooLarge(Text("a part of a file has at most {bytes} bytes", bytes=LARGEST_PART))
    data = source.read(size + 1)
    if len(data) != size:
        raise Invalid(Text("the part has {found} bytes instead of {size}", found=len(data), size=size))
    project = path.parent.parent
    most = most_of(config())
    with file_lock.exclusive(project / LOCK):
        now = _size_of(path)
        if offset + size == now and size:
            return now
        if offset != now:
            raise Conflict(Text("the file has {bytes} bytes: that is where the next part begins", bytes=now))
        if bytes_in(project) + size > most:
            raise TooLarge(
                Text("the files of a project have at most {mib} MiB together", mib=most >> 20),
                hint=Text("they go by themselves; those of an environment can be removed at once"),
            )
        with _opened(path, os.O_WRONLY | os.O_APPEND, "ab") as file:
            file.write(data)
    return now + size


def open_file(caller: Caller, environment_id: str, id: str) -> IO[bytes]:
    """A file, to be read. Raises `NotFound`."""
    return _opened(_path_of(caller, environment_id, id), os.O_RDONLY, "rb")


def remove_all(caller: Caller, environment_id: str) -> None:
    """Removes all files of an environment. Raises `NotFound`."""
    row = _row_of(caller, environment_id)
    record(caller, "environment.file.remove", row.id, row.name)
    remove_folder(folder_of(config(), row.project_id, row.id))


def sweep(settings: Config) -> int:
    """Removes files that are too old; how many."""
    count = 0
    for project in _folders_in(root_of(settings)):
        with file_lock.exclusive(project / LOCK):
            for folder in _folders_in(project):
                count += _drop_old(folder, settings)
                with contextlib.suppress(OSError):  # there are others in it
                    folder.rmdir()
    return count


def _drop_old(folder: Path, settings: Config) -> int:
    until, count = time.time() - 3600 * float(settings["files.hours"]), 0
    for path in folder.iterdir():
        if path.stat().st_mtime < until:
            path.unlink()
            count += 1
    return count


def _folders_in(folder: Path) -> list[Path]:
    return [one for one in folder.iterdir() if one.is_dir()] if folder.is_dir() else []


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        raise _missing() from None


def _opened(path: Path, flags: int, mode: str) -> IO[bytes]:
    try:
        return cast(IO[bytes], os.fdopen(os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC), mode))
    except FileNotFoundError:  # it has just gone
        raise _missing() from None


def _missing() -> NotFound:
    return NotFound(Text("the file is not here any more, or never was"))


def _path_of(caller: Caller, environment_id: str, id: str) -> Path:
    path = _folder_of(caller, environment_id) / id
    if not _ID.fullmatch(id) or not path.is_file():
        raise _missing()
    return path


def _folder_of(caller: Caller, environment_id: str) -> Path:
    row = _row_of(caller, environment_id)
    return folder_of(config(), row.project_id, row.id)


def _row_of(caller: Caller, environment_id: str) -> Environment:
    return Environment.objects.only("project_id", "name").get(id=lookup.environment(caller, environment_id))
