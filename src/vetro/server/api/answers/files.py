"""Answers about files that actions are given, and that they return."""

from __future__ import annotations

from typing import IO, Any

from vetro.server.caller import Caller
from vetro.server.servers import files


def begin_file(caller: Caller, environment_id: str) -> dict[str, Any]:
    """Begins a file. See `vetro.server.servers.files.begin`."""
    return _shown(files.begin(caller, environment_id), 0)


def put_part(caller: Caller, environment_id: str, file: str, *, offset: int, source: Any, size: int) -> dict[str, Any]:
    """Adds a part, which ``source`` gives. See `vetro.server.servers.files.add_part`."""
    return _shown(file, files.add_part(caller, environment_id, file, offset, source, size))


def open_file(caller: Caller, environment_id: str, file: str) -> IO[bytes]:
    """The content. See `vetro.server.servers.files.open_file`."""
    return files.open_file(caller, environment_id, file)


def remove_files(caller: Caller, environment_id: str) -> None:
    """Removes all files of an environment."""
    files.remove_all(caller, environment_id)


def _shown(file: str, size: int) -> dict[str, Any]:
    return {"file": file, "size": size, "part": files.LARGEST_PART}
