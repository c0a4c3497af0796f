"""Environments of a workspace as archives, in the format that servers write and read (docs/using-a-server.md)."""

from __future__ import annotations

import io
import json
import re
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from vetro.cli.local_fresh import fresh_start
from vetro.yaql.errors import VetroError

#: Bytes of an archive's unpacked files together, and how many there may be; servers have the same limits.
LARGEST, MOST_FILES = 512 << 20, 20_000
#: What an archive holds; nothing else is taken out of one.
_KNOWN = re.compile(
    r"environment\.json|model-\d{1,18}\.json|reports\.jsonl|journal\.db|packages/[0-9a-f]{64}\.zip"
    r"|tasks/\d{1,18}/(?:task|outcome)\.json"
)
_HOW = "give what 'vetro env export' wrote"


class TransferError(VetroError):
    """An archive of an environment cannot be made or read."""

    kind = "bad-argument"
    code = "CLI139"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def export(workspace: str | None, name: str) -> tuple[bytes, str]:
    """The archive of an environment, and its name. Raises `TransferError` while a task is open."""
    from vetro.cli.task_run import open_workspace

    folder = open_workspace(workspace).get(name)
    target = io.BytesIO()
    with folder.lock():
        if folder.open_task() is not None:
            hint = f"vetro env resume {name} goes on with it; with --cancel it is ended"
            raise TransferError(f"environment '{name}' has a task that was interrupted", hint)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.path.rglob("*")):
                inner = path.relative_to(folder.path).as_posix()
                if _KNOWN.fullmatch(inner) and inner != "journal.db":
                    archive.write(path, inner)
            if folder.journal.exists():
                archive.writestr("journal.db", _database(folder.journal))
    return target.getvalue(), folder.name


def _database(path: Path) -> bytes:
    """A whole copy of a SQLite file, also while its log holds part of it."""
    import sqlite3
    from contextlib import closing

    with tempfile.TemporaryDirectory(prefix="vetro-export-") as folder:
        copy = Path(folder, "copy.db")
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        return copy.read_bytes()


def import_archive(workspace: str | None, data: bytes, name: str | None, fresh: bool) -> str:
    """Makes an environment of an archive; its name. Raises `TransferError`, `WorkspaceError` for a name that is taken.

    The settings of this machine hold for it: how servers are made is chosen as for a new environment. ``fresh``: its
    objects get new ids, its history stays behind, and nothing counts as deployed.
    """
    from vetro.cli.task_run import choose_driver, open_workspace
    from vetro.clouds import kinds
    from vetro.engine.workspace import EnvironmentFolder
    from vetro.engine.workspace.files import WorkspaceError, write_json

    place = open_workspace(workspace)
    archive = _opened(data)
    try:
        head = json.loads(archive.read("environment.json"))
        if not isinstance(head, dict) or not isinstance(head.get("name"), str):
            raise ValueError
    except (KeyError, ValueError, zipfile.BadZipFile):
        raise TransferError("the archive has no sound environment.json", _HOW) from None
    wanted = name or str(head["name"])
    if wanted in place.names():
        raise WorkspaceError(f"there is an environment '{wanted}' already", hint="give another one with --name")
    # Nothing else of the archive's settings: they would name files, brokers and networks of this machine.
    given = {key: head[key] for key in ("region",) if key in head}
    given["driver"] = kinds.RECORD if head.get("driver") == kinds.RECORD else choose_driver("auto", place)
    folder = place.create(wanted, **given)  # checks the name, and makes the folder for its owner only
    try:
        _unpack(archive, folder.path)
        changed = {key: value for key, value in head.items() if key not in ("script", "settings")}
        changed |= {"name": wanted, **given}
        # Two environments of one workspace have two ids.
        twin = any(other.id == head.get("id") for other in _others(place, wanted))
        if twin or fresh:
            changed["id"] = folder.id
            _with_id(folder.path, folder.id)
        write_json(folder.path / "environment.json", changed)
        made = EnvironmentFolder(folder.path)
        if not fresh:
            _check_resources(place, made, twin)
        _prepare(made)
        if fresh:
            fresh_start(made)
    except BaseException:
        shutil.rmtree(folder.path)
        raise
    return wanted


def _check_resources(place: Any, made: Any, twin: bool) -> None:
    """Raises `TransferError` where the model knows resources that are not there, or those of its ``twin`` here."""
    from vetro.clouds.overview import overview
    from vetro.server.environments.copies import has_resources

    if not has_resources(made.model().model):
        return
    if twin or not any(stack["environment"] == made.id for stack in overview(place.cloud).stacks):
        where = "they are those of the environment that is here already" if twin else "they are not in this one"
        raise TransferError(
            f"the environment of the archive has resources in a cloud, and {where}: it would count as deployed, and"
            " have none",
            "--fresh imports a copy in which nothing counts as deployed",
        )


def _others(place: Any, name: str) -> list[Any]:
    from vetro.engine.workspace.files import WorkspaceError

    found = []
    for other in place.names():
        if other != name:
            try:
                found.append(place.get(other))
            except WorkspaceError:
                continue
    return found


def _with_id(path: Path, id: str) -> None:
    from vetro.engine.workspace.files import read_mapping, write_json

    for file in path.glob("model-*.json"):
        model = read_mapping(file)
        for key in ("Objects", "ObjectsCopy"):
            if isinstance(model.get(key), dict) and isinstance(model[key].get("?"), dict):
                model[key]["?"]["id"] = id
        write_json(file, model)


def _opened(data: bytes) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise TransferError("this is no ZIP archive", _HOW) from None
    infos = archive.infolist()
    if len(infos) > MOST_FILES or sum(info.file_size for info in infos) > LARGEST:
        raise TransferError(f"the archive holds more than {MOST_FILES:,} files or {LARGEST >> 20} MiB")
    return archive


def _unpack(archive: zipfile.ZipFile, path: Path) -> None:
    for info in archive.infolist():
        if not _KNOWN.fullmatch(info.filename):
            continue
        target = path / info.filename
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with archive.open(info) as source:
                data = source.read(info.file_size + 1)
        except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError) as error:
            raise TransferError(f"{info.filename} in the archive cannot be read: {error}", _HOW) from None
        if len(data) > info.file_size:
            raise TransferError(f"{info.filename} in the archive is larger than it says")
        target.write_bytes(data)


def _prepare(folder: Any) -> None:
    """Unpacks packages of formats that want a folder. Raises `TransferError` where an archive is missing or changed."""
    import hashlib

    from vetro.engine.workspace.packing import unpack
    from vetro.packages import load_path
    from vetro.packages.manifest import MURANOPL

    for entry in folder.packages:
        path = folder.path / "packages" / f"{entry['digest']}.zip"
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != entry["digest"]:
            raise TransferError(
                f"the archive lacks package {entry['name']} {entry['version']}, or has it changed", _HOW
            )
        for package in load_path(str(path)):
            if package.manifest.format.name != MURANOPL:
                unpack(package, path.with_suffix(""))
