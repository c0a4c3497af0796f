"""`LogSpace`: keeps reports and log lines of a task within the quota of its project."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property

from vetro.engine.worker.journal import Note
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.server.quotas.enforcement import fits
from vetro.server.quotas.limits import limit
from vetro.server.tasks import reports
from vetro.server.tasks.models import Task


class LogSpace:
    """Belongs to one journal; call it in the transaction that writes the notes."""

    def __init__(self, task_id: str, row: Task | None = None) -> None:
        self._task_id = task_id
        self._row = row

    @cached_property
    def owner(self) -> Mapping[str, str]:
        """See `reports.owner_of`."""
        if self._row is not None:
            return {"project_id": self._row.project_id, "environment_id": self._row.environment_id}
        return reports.owner_of(self._task_id)

    def kept(self, notes: Sequence[Note]) -> tuple[list[Note], int]:
        """Those of the notes that are written, and the bytes of reports and log lines among them.

        When these do not fit any more they are left out, and a line of the service says so, once in a task.
        """
        size = sum(_size(note) for note in notes if note.kind in reports.KINDS)
        if not size:
            return list(notes), 0
        project = self.owner["project_id"]
        if fits(project, "logs", size):
            return list(notes), size
        most = limit(project, "logs")
        text = (
            f"Quota 'logs': the reports and log lines of project '{project}' take all of {most:,} MiB; further"
            " ones of this task are left out (remove environments that nobody needs, or have an administrator raise"
            f" it with 'vetro quota set {project} logs=NUMBER')"
        )
        reports.add(Task.objects.get(id=self._task_id), "quota", text, level="warning")
        return [note for note in notes if note.kind not in reports.KINDS], 0


def _size(note: Note) -> int:
    with deep_calls():
        return len(json.dumps(note.args))
