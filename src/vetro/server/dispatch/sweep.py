"""What is dropped after a while: journals of ended tasks, events, audit records (settings ``retention.*``)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from vetro.server.audit.models import AuditRecord
from vetro.server.config import Config
from vetro.server.dispatch import journal
from vetro.server.dispatch.models import Event, JournalTask, Task

#: Days for which watchers may resume from an event.
EVENT_DAYS = 7
#: Rows that are dropped with one statement: nobody waits long for the database.
_TOGETHER = 500


def sweep(config: Config, now: datetime | None = None) -> dict[str, int]:
    """Drops what is too old; how many of each: {journals, events, audit}."""
    now = now or datetime.now(UTC)
    found = {"journals": 0, "events": 0, "audit": 0}
    before = now - timedelta(days=config["retention.journal_days"])
    old = JournalTask.objects.filter(task__state__in=Task.FINAL, task__finished__lt=before)
    while ids := list(old.values_list("task_id", flat=True)[:_TOGETHER]):
        journal.drop(ids)
        found["journals"] += len(ids)
    found["events"] = _drop(Event, "seq", now - timedelta(days=EVENT_DAYS))
    days = config["retention.audit_days"]
    if days:
        found["audit"] = _drop(AuditRecord, "id", now - timedelta(days=days))
    return found


def _drop(table: type[Event] | type[AuditRecord], key: str, before: datetime) -> int:
    count = 0
    while ids := list(table.objects.filter(at__lt=before).values_list(key, flat=True)[:_TOGETHER]):
        count += table.objects.filter(**{f"{key}__in": ids}).delete()[0]
    return count
