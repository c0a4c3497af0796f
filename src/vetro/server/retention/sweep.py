"""What is dropped after a while: journals of ended tasks and audit records (settings ``retention.*``), events after a
week, what the watcher recorded, notices, procedures, marks of deleted versions; web sessions that have expired, tokens
that ended, blobs, logins at the broker, tasks without environment (`retention.tasks`).
"""

from __future__ import annotations

import logging
import threading
import time
from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django.db import Error, connections

from vetro.agent.errors import AgentError
from vetro.server.accounts import revocation
from vetro.server.audit.models import AuditRecord
from vetro.server.catalog import deleted_versions, garbage
from vetro.server.config.config import Config
from vetro.server.environments import offers, packages, removal
from vetro.server.impact import service as impact
from vetro.server.notices import service as notices
from vetro.server.procedures import service as procedures
from vetro.server.queries import delete_in_batches
from vetro.server.retention import broker_logins
from vetro.server.retention import tasks as old_tasks
from vetro.server.servers import files
from vetro.server.tasks import clock, journal
from vetro.server.tasks.models import Event, JournalTask, SweepMark, Task
from vetro.server.watch import metrics
from vetro.server.watch import service as health
from vetro.yaql.errors import VetroError

_log = logging.getLogger("vetro.worker")

#: Days for which watchers may resume from an event.
EVENT_DAYS = 7
#: Rows that are dropped with one statement: nobody waits long for the database.
_TOGETHER = 500
#: How far a clock may be from that of the last round without being doubted, and how long it has to go on with that
#: time until it is believed: nothing is dropped until then.
DOUBT = timedelta(days=1)
#: When this process began to doubt the clock, in seconds since the machine was started; empty: it does not.
_doubted: list[float] = []


def sweep(config: Config, now: datetime | None = None) -> dict[str, int]:
    """Drops what is too old; how many of each: {journals, events, audit, sessions, tokens}."""
    now = now or clock.read()  # a machine with a wrong clock must not drop what is young
    found = {"journals": 0, "events": 0, "audit": 0, "sessions": 0, "tokens": 0}
    before = now - timedelta(days=config["retention.journal_days"])
    # Nothing ends before it begins: only journals that are old enough are looked at, by their index.
    old = JournalTask.objects.filter(
        begun__lt=before.timestamp(), task__state__in=Task.FINAL, task__finished__lt=before
    )
    while ids := list(old.values_list("task_id", flat=True)[:_TOGETHER]):
        journal.drop(ids)
        found["journals"] += len(ids)
    found["events"] = delete_in_batches(Event.objects.filter(at__lt=now - timedelta(days=EVENT_DAYS)), _TOGETHER)
    days = config["retention.audit_days"]
    if days:
        found["audit"] = delete_in_batches(AuditRecord.objects.filter(at__lt=now - timedelta(days=days)), _TOGETHER)
    impact.forget(now)
    offers.fill()
    health.forget(now - timedelta(days=health.DAYS))
    notices.forget(now)
    metrics.forget(now - timedelta(days=1))
    procedures.forget(now - timedelta(days=procedures.DAYS))
    files.sweep(config)
    found["sessions"] = delete_in_batches(Session.objects.filter(expire_date__lt=now), _TOGETHER)
    found["tokens"] = revocation.drop(now)
    deleted_versions.forget(now - timedelta(hours=1))
    return found


def begin(config: Config) -> threading.Thread:
    """Drops what is too old, and blobs and logins that nothing names, in a thread: many rows, a large store and a slow
    broker take longer than a lease. Tasks last: while the broker is away they say which logins are to go.
    """
    thread = threading.Thread(target=_clean, args=(config,), name="sweep", daemon=True)
    thread.start()
    return thread


def doubtful() -> bool:
    """Whether the clock leapt forward since the last round of any worker, also while none ran, less than a day ago."""
    now = clock.read()
    mark, _ = SweepMark.objects.get_or_create(id=1, defaults={"at": now})
    if now - mark.at > DOUBT:
        moment = time.clock_gettime(time.CLOCK_BOOTTIME)
        _doubted[:] = _doubted or [moment]
        if moment - _doubted[0] < DOUBT.total_seconds():
            return True
    _doubted.clear()
    SweepMark.objects.filter(id=1).update(at=now)
    return False


def _clean(config: Config) -> None:
    try:
        if doubtful():
            _log.warning("more than a day has passed since anything was dropped, or the clock is wrong: not for a day")
            return
        sweep(config)
        count = removal.drop_leftovers()
        packages.drop_unused()  # of states that are gone; their archives may go with the blobs
        if count:
            _log.info("%d rows of environments that are gone are removed", count)
        count = garbage.collect()
        if count:
            _log.info("%d blobs that nothing names are removed", count)
        if _clean_broker(config):
            count = old_tasks.drop(config)
            if count:
                _log.info("%d tasks of no environment are removed", count)
    except Error as error:  # the next round tries again
        _log.warning("what is too old could not be dropped, the database failed: %s", error)
    except (OSError, VetroError) as error:  # also a task that no key opens: nobody knows which blobs it needs
        _log.warning("unused blobs could not be removed: %s", error)
    finally:
        connections.close_all()


def _clean_broker(config: Config) -> bool:
    """Whether no login is left that nobody needs."""
    try:
        count = broker_logins.sweep(config)
    except AgentError as error:  # the next round tries again
        _log.warning("logins that nobody needs stay at the broker: %s", error.message)
        return False
    if count:
        _log.info("%d logins that nobody needs are removed from the broker", count)
    return True
