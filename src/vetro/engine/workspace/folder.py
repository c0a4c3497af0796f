"""`EnvironmentFolder`: what one environment is on disk."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vetro.engine.models.environment import Environment
from vetro.engine.task.task import Task
from vetro.engine.workspace.files import (
    WorkspaceError,
    append_line,
    damaged,
    locked,
    read_mapping,
    write_bytes,
    write_json,
)
from vetro.engine.workspace.packing import unpack
from vetro.engine.workspace.task_folder import TaskFolder
from vetro.packages.manifest import MURANOPL

if TYPE_CHECKING:
    from vetro.engine.workspace.store import Workspace

#: Version of the layout; newer ones are refused.
FORMAT = 1


class EnvironmentFolder:
    """One environment of a workspace."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data = read_mapping(
            path / "environment.json", format=int, id=str, name=str, created=(int, float), packages=list
        )
        if self._data["format"] > FORMAT:
            raise WorkspaceError(f"{path} was written by a newer Vetro", hint="use that version for it")
        for entry in self._data["packages"]:
            if not isinstance(entry, dict) or not {"name", "version", "digest"} <= set(entry):
                raise damaged(path / "environment.json", "'packages' holds something else than packages")

    @classmethod
    def create(cls, path: Path, name: str, id: str, **more: Any) -> EnvironmentFolder:
        """Makes the folder of a new environment. Raises `WorkspaceError` when there is one already."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700)  # models and reports hold passwords
        except FileExistsError:
            if (path / "environment.json").exists():
                raise WorkspaceError(f"there is an environment '{name}' already") from None
        data = {"format": FORMAT, "id": id, "name": name, "created": time.time(), "packages": [], **more}
        write_json(path / "model-0.json", Environment.new(name, id).model)
        write_json(path / "environment.json", data)
        return cls(path)

    def copy(self, path: Path) -> EnvironmentFolder:
        """The environment with its settings and packages as the folder ``path``, without its history."""
        path.mkdir(mode=0o700, parents=True)
        if (self.path / "packages").is_dir():
            shutil.copytree(self.path / "packages", path / "packages")
        write_json(path / "environment.json", self._data)
        return EnvironmentFolder(path)

    @property
    def id(self) -> str:
        """The id of the environment and of its root object."""
        return str(self._data["id"])

    @property
    def name(self) -> str:
        """The name, which is also that of the folder."""
        return str(self._data["name"])

    @property
    def created(self) -> float:
        """Seconds since the epoch."""
        return float(self._data["created"])

    def setting(self, name: str) -> Any:
        """One of the values given at creation (driver, region…), or None."""
        return self._data.get(name)

    def set(self, **values: Any) -> None:
        """Changes such values."""
        self._data.update(values)
        write_json(self.path / "environment.json", self._data)

    @property
    def workspace(self) -> Workspace:
        """The workspace that it is in."""
        from vetro.engine.workspace.store import Workspace

        return Workspace(self.path.parent.parent)

    def lock(self) -> AbstractContextManager[None]:
        """Held while something is changed or run. Raises `EnvironmentBusy`."""
        return locked(self.path / "lock", f"environment '{self.name}'")

    @property
    def journal(self) -> Path:
        """The journal's file: one for all tasks of the environment."""
        return self.path / "journal.db"

    # -- packages ------------------------------------------------------------------------------------------------

    def add_packages(self, packages: Iterable[Any]) -> list[str]:
        """Keeps copies of these packages; those of the same name and version are replaced. What changed, as text."""
        entries = {(e["name"], e["version"]): e for e in self._data["packages"]}
        changed = []
        for package in packages:
            blob = package.blob
            digest = hashlib.sha256(blob).hexdigest()
            key = (package.name, str(package.version))
            if key in entries and entries[key]["digest"] == digest:
                continue
            file = self.path / "packages" / f"{digest}.zip"
            if not file.exists():
                write_bytes(file, blob)
            if package.manifest.format.name != MURANOPL:
                unpack(package, self.path / "packages" / digest)
            changed.append(f"{'changed' if key in entries else 'added'} {package.name} {package.version}")
            entries[key] = {"name": key[0], "version": key[1], "digest": digest}
        if changed:
            self._data["packages"] = [entries[key] for key in sorted(entries)]
            self.set()
        return changed

    @property
    def packages(self) -> list[dict[str, str]]:
        """{name, version, digest} of the packages."""
        return [dict(entry) for entry in self._data["packages"]]

    def package_paths(self) -> list[str]:
        """Absolute paths of their archives, or folders where their format wants these."""
        folder = (self.path / "packages").absolute()
        places = [(folder / e["digest"], folder / f"{e['digest']}.zip") for e in self._data["packages"]]
        return [str(unpacked if unpacked.is_dir() else archive) for unpacked, archive in places]

    # -- models --------------------------------------------------------------------------------------------------

    def latest(self) -> int:
        """The number of the newest model; 0 before the first task ended."""
        numbers = [int(p.stem[6:]) for p in self.path.glob("model-*.json") if p.stem[6:].isdigit()]
        if not numbers:
            raise WorkspaceError(f"environment '{self.name}' has no model", hint="restore model-0.json from a backup")
        return max(numbers)

    def model(self, number: int | None = None) -> Environment:
        """The model with this number, the newest without. Raises `WorkspaceError` when there is none."""
        path = self.path / f"model-{self.latest() if number is None else number}.json"
        try:
            model = read_mapping(path)
        except FileNotFoundError:
            raise WorkspaceError(f"environment '{self.name}' has no model {number}") from None
        root = model.get("Objects")
        if root is not None and not (isinstance(root, dict) and isinstance(root.get("?"), dict)):
            raise damaged(path, "'Objects' is no object")
        return Environment(model)

    # -- tasks ---------------------------------------------------------------------------------------------------

    def tasks(self) -> list[TaskFolder]:
        """All tasks, oldest first."""
        folder = self.path / "tasks"
        numbers = sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit()) if folder.is_dir() else []
        return [TaskFolder(folder / str(n), n) for n in numbers if (folder / str(n) / "task.json").exists()]

    def open_task(self) -> TaskFolder | None:
        """The task that was begun and has not ended."""
        tasks = self.tasks()
        return tasks[-1] if tasks and not tasks[-1].finished else None

    def begin(self, task: Task) -> TaskFolder:
        """Writes down a task that is to run. Raises `WorkspaceError` while another one is open."""
        if self.open_task() is not None:
            raise WorkspaceError(f"environment '{self.name}' has a task that was interrupted")
        number = self.next_number()
        folder = TaskFolder(self.path / "tasks" / str(number), number)
        write_json(folder.path / "task.json", task.as_json())
        return folder

    def next_number(self) -> int:
        """The number of the next model, and of the task that leaves it."""
        return max([self.latest(), *(t.number for t in self.tasks())]) + 1

    def end(self, folder: TaskFolder, model: Mapping[str, Any] | None, outcome: Mapping[str, Any]) -> None:
        """Writes down how a task ended. The model first: an outcome promises that it is there."""
        if model is not None:
            write_json(self.path / f"model-{folder.number}.json", model)
        write_json(folder.path / "outcome.json", dict(outcome))

    def task_id(self, folder: TaskFolder) -> str:
        """The id under which the journal has a task, also of one whose file is damaged."""
        try:
            return folder.task().id
        except WorkspaceError:
            return f"{self.id}-{folder.number}"

    def give_up(self, folder: TaskFolder) -> bool:
        """Ends a task without running it; whether its last checkpoint, if it has one, became the newest model.

        Nothing is done outside: what the task had made stays as it is, and the next deployment starts from the model.
        """
        from vetro.engine.worker.journal import JournalError
        from vetro.engine.worker.sqlite_journal import SqliteJournal

        model = None
        if self.journal.exists():
            with suppress(JournalError), closing(SqliteJournal(self.journal, self.task_id(folder))) as journal:
                model = journal.model()
        told = folder.summary()
        error = {"kind": "cancelled", "message": "the task was given up", "names": []}
        record = {"state": "abandoned", "kind": told["kind"], "method": told["method"], "error": error}
        self.end(folder, model, {**record, "result": None, "ended": time.time()})
        return model is not None

    # -- reports -------------------------------------------------------------------------------------------------

    def report(self, task: int, key: str, entry: Mapping[str, Any]) -> None:
        """Adds a status or log line. It is kept once: a continued task reports under the same key again."""
        line = json.dumps({"task": task, "key": key, **entry}, ensure_ascii=False)
        append_line(self.path / "reports.jsonl", line)

    def reports(self) -> Iterator[dict[str, Any]]:
        """All lines in order, each once; a line that a crash cut off is left out."""
        seen: set[tuple[Any, Any]] = set()
        try:
            file = open(self.path / "reports.jsonl", encoding="utf-8", errors="surrogatepass")  # noqa: SIM115
        except FileNotFoundError:
            return
        with file:
            for line in file:
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                key = (entry.get("task"), entry.get("key"))
                if key not in seen:
                    seen.add(key)
                    yield entry

    def status(self) -> str:
        """One word: new, deploying, interrupted, ready, destroyed, or how the last task ended: failed, cancelled…"""
        tasks = self.tasks()
        if not tasks:
            return "new"
        if not tasks[-1].finished:
            return "deploying" if self._is_busy() else "interrupted"
        state = str(tasks[-1].summary()["state"])
        if self.latest() > tasks[-1].number:
            return "new"  # what the task left was forgotten since
        if state != "done":
            return state
        return "destroyed" if self.model().root is None else "ready"

    def _is_busy(self) -> bool:
        from vetro.engine.workspace.files import EnvironmentBusy

        if not os.access(self.path, os.W_OK):
            return False
        try:
            with self.lock():
                return False
        except EnvironmentBusy:
            return True
