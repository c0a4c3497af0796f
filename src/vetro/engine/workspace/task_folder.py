"""`TaskFolder`: what one task is on disk."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from vetro.engine.task.task import Task
from vetro.engine.workspace.files import WorkspaceError, damaged, read_mapping

#: Stands for the kind or the state of a task whose file cannot be read.
DAMAGED = "damaged"


class TaskFolder:
    """One task: what it was to do, its journal, how it ended."""

    def __init__(self, path: Path, number: int) -> None:
        self.path = path
        self.number = number

    def task(self) -> Task:
        """What is, or was, to do. Raises `WorkspaceError` when its file is damaged."""
        path = self.path / "task.json"
        try:
            try:
                return Task.from_json(read_mapping(path, id=str, kind=str, model=dict))
            except (TypeError, ValueError, AttributeError) as error:
                raise damaged(path, str(error)) from None
        except WorkspaceError as error:
            if not self.finished:
                name = self.path.parent.parent.name
                error.hint = f"restore it from a backup, or give the task up: vetro env resume {name} --abandon"
            raise

    @property
    def finished(self) -> bool:
        """Whether it has ended, in whatever way; otherwise it runs or was interrupted."""
        return (self.path / "outcome.json").exists()

    def outcome(self) -> dict[str, Any] | None:
        """How it ended: {state, error, result, started, ended, ...}; None before."""
        return read_mapping(self.path / "outcome.json", state=str) if self.finished else None

    def summary(self) -> dict[str, Any]:
        """{number, kind, method, state, ended}, whatever is damaged: a lost entry must not hide the others."""
        told: dict[str, Any] = {"number": self.number, "kind": DAMAGED, "method": None, "state": "open", "ended": None}
        with suppress(WorkspaceError):
            task = self.task()
            told.update(kind=task.kind, method=task.method)
        if self.finished:
            told["state"] = DAMAGED
            with suppress(WorkspaceError):
                told.update({k: v for k, v in (self.outcome() or {}).items() if k in ("state", "ended")})
        return told
