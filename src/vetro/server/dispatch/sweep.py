"""What is dropped after a while: journals of ended tasks, events, audit records (settings ``retention.*``), blobs."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime, timedelta

from django.db import Error, connections

from vetro.server.audit.models import AuditRecord
from vetro.server.catalog import garbage
from vetro.server.config import Config
from vetro.server.dispatch import journal
from vetro.server.dispatch.models import Event, JournalTask, Task
from vetro.server.errors import ServiceError

_log = logging.getLogger("vetro.worker")

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


def begin_collecting() -> threading.Thread:
    """Removes blobs that nothing names, in a thread: looking through a large store takes longer than a lease."""
    thread = threading.Thread(target=_collect, name="garbage", daemon=True)
    thread.start()
    return thread


def _collect() -> None:
    try:
        count = garbage.collect()
        if count:
            _log.info("%d blobs that nothing names are removed", count)
    except (Error, OSError, ServiceError) as error:  # the next round tries again
        _log.warning("unused blobs could not be removed: %s", error)
    finally:
        connections.close_all()


def _drop(table: type[Event] | type[AuditRecord], key: str, before: datetime) -> int:
    count = 0
    while ids := list(table.objects.filter(at__lt=before).values_list(key, flat=True)[:_TOGETHER]):
        count += table.objects.filter(**{f"{key}__in": ids}).delete()[0]
    return count
