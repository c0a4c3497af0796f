"""What a driver made, as JSON files that are written before the thing is made: a crash leaves nothing unknown."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from vetro.clouds.drivers.specification import Specification
from vetro.clouds.drivers.specs import GroupSpec, NetworkSpec, ServerSpec
from vetro.clouds.drivers.values import ValueInvalid

SpecT = TypeVar("SpecT", bound=Specification)


def digest(text: str, length: int) -> str:
    """Hexadecimal digits for the name of a file or an interface, which has at most 15 letters."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def save(path: Path, data: Any, mode: int = 0o600) -> None:
    """Writes JSON; a reader sees the old file or the new one. A crash of the machine leaves one of them, too."""
    fresh = path.with_name(f"{path.name}.new{os.getpid()}")
    handle = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(data, file, default=str)  # addresses and networks
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def load(path: Path) -> Any:
    """The JSON in a file; None when it is not there or is none."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def save_server(path: Path, spec: ServerSpec) -> None:
    """Writes a server's record."""
    save(path, asdict(spec))


def load_server(path: Path) -> ServerSpec | None:
    """A server's record, or None; also for one that holds what no server can have."""
    return _made(ServerSpec, load(path))


def _made(kind: type[SpecT], data: Any) -> SpecT | None:
    try:
        return kind(**data)
    except (TypeError, ValueInvalid):
        return None


class Table:
    """Records of one kind, a file each, named after a digest of their ids."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def put(self, id: str, record: Any) -> None:
        """Adds or replaces."""
        save(self._path(id), asdict(record))

    def remove(self, id: str) -> bool:
        """Forgets; False when there was none."""
        path = self._path(id)
        for begun in self._folder.glob(f"{path.name}.new*"):  # by a process that was killed while it wrote
            begun.unlink(missing_ok=True)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        return True

    def has(self, id: str) -> bool:
        """Whether there is one."""
        return self._path(id).exists()

    def raw(self) -> Iterator[dict[str, Any]]:
        """All of them, as plain data."""
        for path in sorted(self._folder.glob("*.json")):
            data = load(path)
            if isinstance(data, dict):
                yield data

    def _path(self, id: str) -> Path:
        return self._folder / f"{digest(id, 32)}.json"


def networks(table: Table) -> list[NetworkSpec]:
    """Networks of a table."""
    return [found for item in table.raw() if (found := _made(NetworkSpec, item)) is not None]


def groups(table: Table) -> dict[str, GroupSpec]:
    """Security groups of a table by id."""
    return {found.id: found for item in table.raw() if (found := _made(GroupSpec, item)) is not None}
