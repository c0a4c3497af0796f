"""Files that are either old or new, never half; locks that end with their process."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vetro.muranopl.errors import MuranoError


class WorkspaceError(MuranoError):
    """A workspace cannot do what it was asked; the message says why."""

    kind = "error"
    code = "ENG130"


class EnvironmentBusy(WorkspaceError):
    """Another process works on the environment."""

    code = "ENG131"


class NoSuchEnvironment(WorkspaceError):
    """There is no environment of this name."""

    kind = "not-found"
    code = "ENG132"


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file at once: whoever reads it sees the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    _sync_folder(path.parent)


def write_json(path: Path, data: Any) -> None:
    """Writes plain data as JSON, at once."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(path, (text + "\n").encode("utf-8", "surrogatepass"))


def read_json(path: Path) -> Any:
    """The data of a JSON file. Raises `WorkspaceError` when it is damaged, `FileNotFoundError`."""
    data = path.read_bytes()
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise damaged(path, str(error)) from None


def read_mapping(path: Path, **wanted: type | tuple[type, ...]) -> dict[str, Any]:
    """A JSON file that holds a mapping with these entries. Raises like `read_json`, naming what is missing."""
    data = read_json(path)
    if not isinstance(data, dict):
        raise damaged(path, "it holds no mapping")
    for name, kind in wanted.items():
        if not isinstance(data.get(name), kind):
            raise damaged(path, f"'{name}' is missing or of another kind")
    return data


def damaged(path: Path, what: str) -> WorkspaceError:
    """The error for a file with another content than ours."""
    return WorkspaceError(f"{path} is damaged: {what}", hint="restore it from a backup")


def append_line(path: Path, text: str) -> None:
    """Adds a line to a file that only its owner may read."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "a", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text + "\n")


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Holds the lock file ``path``; the lock ends with the process. Raises `EnvironmentBusy` when another holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip()
            by = f" (process {owner})" if owner else ""
            raise EnvironmentBusy(f"{what} is being worked on by another process{by}", hint="wait for it") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
