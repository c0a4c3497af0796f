"""`OutputLog`: what scripts of a task write, and effects report, while they run, kept as lines of its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction
from django.db.models import F

from vetro.diagnostics import Text
from vetro.server.quotas.enforcement import fits
from vetro.server.tasks import reports
from vetro.server.tasks.journal import Hold, no_lease
from vetro.server.tasks.models import Task

#: The kind of these lines.
KIND: Final = "output"
#: Characters of one task; what is beyond is not kept.
MOST: Final = 16 << 20


class OutputLog:
    """Of one run of a task. Each piece is stored once, however often it is told. ``hold`` is called first in each
    transaction (`vetro.server.tasks.claim.Lease.hold`): who lost the task writes nothing more."""

    def __init__(self, task: Task, hold: Hold = no_lease) -> None:
        self._task = task
        self._hold = hold
        self._size = 0
        self._full = False

    def add(self, key: str, piece: Mapping[str, Any]) -> None:
        """Stores a piece of what a script writes (`vetro.engine.host.script_output`); ``key``: of its effect."""
        if self._full:
            return
        text, left = str(piece["text"]), int(piece["left"])
        if left:
            text = f"… {left:,} bytes are left out here …\n{text}".rstrip("\n")
        self._size += len(text)
        with transaction.atomic():
            self._hold()
            self._full = self._size > MOST or not fits(self._task.project_id, "logs", len(text))
            if self._full:
                what = Text("further output of scripts is not kept: there is too much of it")
                reports.add(self._task, "output", what, level="warning")
                return
            about = {"script": piece["script"], "stream": piece["stream"]}
            name = f"{key} output {piece['number']}"
            new = reports.add(self._task, name, text, entity_id=str(piece["id"]), details=about, kind=KIND)
            if new:
                Task.objects.filter(id=self._task.id).update(log_bytes=F("log_bytes") + len(text))

    def report(self, key: str, told: Mapping[str, Any]) -> None:
        """Stores what the effects host has to say to people about an effect, once for each level."""
        with transaction.atomic():
            self._hold()
            reports.add(self._task, f"{key} {told['level']}", told["text"], level=told["level"], entity_id=told["id"])
