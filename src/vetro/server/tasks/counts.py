"""How many tasks there are, by kind and state, without counting each time all that ever ended.

Tasks that have ended stay as they are, and are dropped long afterwards, if at all (`vetro.server.retention.tasks`):
that is noticed within an hour. So what had ended a while ago is counted once and remembered; after that only what ended
since then is counted, which an index answers. Others are few.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count

from vetro.server.tasks import clock
from vetro.server.tasks.models import Task

Counts = Counter[tuple[str, str]]

#: A task may become visible so many seconds after the time of its end: its transaction has to be committed.
LATE = 300.0
#: Seconds after which all are counted again: old ones may have been dropped, a backup played in.
AGAIN = 3600.0


class Ended:
    """Tasks that have ended; what is remembered of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counts = Counter()
        self._until: datetime | None = None
        self._began = 0.0

    def counts(self) -> Counts:
        """By (kind, state). Raises `django.db.Error`."""
        with self._lock:
            if time.monotonic() - self._began >= AGAIN:
                self._counts, self._until, self._began = Counter(), None, time.monotonic()
            until = clock.read() - timedelta(seconds=LATE)
            if self._until is None or until > self._until:
                self._counts = self._counts + _ended(self._until, until)
                self._until = until
            return self._counts + _ended(self._until, None)

    def forget(self) -> None:
        """The next time all are counted."""
        with self._lock:
            self._began = -AGAIN


def tasks() -> Counts:
    """All tasks by (kind, state). Raises `django.db.Error`."""
    rows = Task.objects.filter(state__in=(Task.QUEUED, Task.RUNNING, Task.NEEDS_PERSON))
    return _counted(rows) + ended.counts()


#: That of this process.
ended = Ended()


def _ended(after: datetime | None, until: datetime | None) -> Counts:
    """Of those that ended later than ``after`` and not later than ``until``, where these are given."""
    rows = Task.objects.filter(finished__isnull=False)
    if after is not None:
        rows = rows.filter(finished__gt=after)
    if until is not None:
        rows = rows.filter(finished__lte=until)
    return _counted(rows)


def _counted(rows: Any) -> Counts:
    found: Counts = Counter()
    for kind, state, count in rows.order_by().values_list("kind", "state").annotate(Count("id")):
        found[kind, state] = count
    return found
