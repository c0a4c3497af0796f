"""The database of a workspace: made, and brought up to date, at the first command of a version.

To make the tables takes a second, and commands of a new workspace should not wait that long. So a new database, with
the packages of the installation in it, is a copy of one that was made before (``templates``).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import vetro
from vetro.server.config.config import Config
from vetro.server.local import locks

_NAME = "vetro.db"
#: What the template of a version holds.
_PARTS = (_NAME, "blobs")


def prepare(config: Config, templates: Path | None = None) -> None:
    """Makes the database, or brings it up to date; Django is set up. Two processes wait for each other.

    Raises errors of `vetro.server.operations.database.schema` for one that a newer Vetro wrote.
    """
    path = config.data / _NAME
    if path.exists() and _mark(path) == version():
        return
    with locks.held(config.data / "locks" / "database"):
        if not path.exists() and templates is not None:
            _copy(_template(templates, config), config.data)
        if not path.exists() or _mark(path) != version():
            _make()


@cache
def version() -> int:
    """A number of 31 bits for tables and packages of this installation: another one whenever a file of them differs."""
    root = Path(vetro.__file__).parent
    found = hashlib.sha256()
    for folder in (root / "library", *sorted((root / "server").glob("*/migrations"))):
        for place, names, files in os.walk(folder):
            names[:] = sorted(name for name in names if name != "__pycache__")
            for name in sorted(files):
                about = os.stat(os.path.join(place, name))
                found.update(f"{place}/{name} {about.st_size} {about.st_mtime_ns}\n".encode())
    return int.from_bytes(found.digest()[:4], "big") >> 1


def _mark(path: Path) -> int:
    """The `version` for which a database was prepared; 0 for none. SQLite keeps the number in the file's head."""
    with closing(sqlite3.connect(path, timeout=20)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _make() -> None:
    from django.db import connection

    from vetro.server.catalog import standard_packages
    from vetro.server.operations.database import schema

    schema.migrate()
    standard_packages.ensure()
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA user_version = {version()}")
    connection.close()


def _template(folder: Path, config: Config) -> Path:
    """The folder of the template; made where it is missing."""
    target = folder / f"workspace-{version():08x}"
    if target.is_dir():
        return target
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(prefix=".workspace-", dir=folder) as draft:
        made = Path(draft, "made")
        made.mkdir()
        _make()
        with closing(sqlite3.connect(config.data / _NAME)) as source, closing(sqlite3.connect(made / _NAME)) as copy:
            source.backup(copy)
        shutil.copytree(config.data / "blobs", made / "blobs")
        with suppress(OSError):  # another process was quicker
            os.rename(made, target)
    return target


def _copy(template: Path, data: Path) -> None:
    if (data / _NAME).exists():  # the template was made of it
        return
    shutil.copytree(template / "blobs", data / "blobs", dirs_exist_ok=True)
    draft = data / f".{_NAME}"
    shutil.copyfile(template / _NAME, draft)
    draft.chmod(0o600)
    os.replace(draft, data / _NAME)
