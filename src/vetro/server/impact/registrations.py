"""What this app does for the apps below, registered at their hooks (`vetro.server.hooks`)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from importlib import import_module

from vetro.diagnostics import Text, encode_messages
from vetro.engine.outcome import Outcome
from vetro.server.catalog import hooks as catalog
from vetro.server.impact import groups
from vetro.server.impact.models import ARCHIVE_DAYS, Entry, Impact
from vetro.server.tasks import clock
from vetro.server.tasks import hooks as tasks
from vetro.server.tasks.models import Task


def register() -> None:
    """Called once, when models are there."""
    tasks.works.register(_work)
    tasks.changed.register(_changed)
    catalog.used_digests.register(_used_digests)


def _work(work: tasks.Work) -> Outcome:
    # With clouds: workers need it; commands begin without.
    outcome: Outcome = import_module("vetro.server.impact.tasks").work(work)
    return outcome


def _changed(task: Task) -> None:
    """What was not looked at when a task ended is told so."""
    if task.kind != "plans" or task.state not in Task.FINAL or task.state == "done":
        return
    why = Text("its task ended before: {state}", state=task.state)
    finding = groups.skipped(why)
    Entry.objects.filter(task_id=task.id, group="").update(group=finding.group, detail=encode_messages(finding.detail))


def _used_digests() -> Iterable[str]:
    kept = Impact.objects.filter(created__gt=clock.read() - timedelta(days=ARCHIVE_DAYS))
    return kept.values_list("digest", flat=True)
