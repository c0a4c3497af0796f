"""`Watch`: the events of a project as they come, as text of server-sent events.

Numbers of events are given before transactions commit, so on PostgreSQL one may appear after a higher one. Therefore
each look goes back a little and leaves out what was sent; after a reconnection the last seconds are sent again.

PostgreSQL tells of events as they are committed, by whatever server or worker (`vetro.server.tasks.notifications`):
then a look follows at once, and else only now and then. SQLite is looked at all the time.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from django.db import connection

from vetro.server.errors import Forbidden, NotSignedIn
from vetro.server.requests.streams import RETRY_MS, stopping
from vetro.server.tasks import clock, notifications
from vetro.server.tasks.models import Event

#: Seconds between two looks: at first after something happened, and at most.
FIRST, MOST = 0.1, 0.7
#: Seconds between two looks where the database tells what happens.
TOLD = 10.0
#: Seconds without anything after which a comment is sent, and between two looks at the token.
HEARTBEAT, TOKEN = 15.0, 2.0
#: How far a look goes back: no transaction of ours takes longer.
LATE = 10.0
#: Events of one look.
_AT_ONCE = 500
_FIELDS = ("seq", "at", "project_id", "environment_id", "task_id", "kind", "data")


class Watch:
    """What somebody watches. ``still()`` raises `NotSignedIn` or `Forbidden` once they may not any more.

    ``after``: the last event that they have; None: only what happens from now on.
    """

    def __init__(
        self,
        project_id: str,
        environment_id: str | None,
        task_id: str | None,
        after: int | None,
        still: Callable[[], Any],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        self._filter = {"environment_id": environment_id} if environment_id is not None else {"project_id": project_id}
        if task_id is not None:
            self._filter["task_id"] = task_id
            if environment_id is None:
                del self._filter["project_id"]  # administrators may watch a task of any project
        self._last = after
        self._still = still
        self._told = threading.Event()
        self._clock, self._sleep = clock, sleep or self._told.wait
        self._sent: OrderedDict[int, None] = OrderedDict()

    def parts(self) -> Iterator[str]:
        """The text, for ever: until the client goes, the token ends, or the service stops."""
        leave = notifications.subscribe(notifications.EVENTS, self._hear)
        try:
            yield from self._parts()
        finally:
            leave()

    def _hear(self, message: str) -> None:
        project, environment, task = message.rsplit(" ", 2) if message else ("", "", "")
        about = {"project_id": project, "environment_id": environment, "task_id": task}
        if not message or all(about[name] == value for name, value in self._filter.items()):
            self._told.set()

    def _parts(self) -> Iterator[str]:
        yield f"retry: {RETRY_MS}\n\n"
        if self._last is None:
            self._last = _end("-seq")
            self._forget_past()
            yield f"id: {self._last}\nevent: begin\ndata: {{}}\n\n"
        elif self._last and not _end("seq") - 1 <= self._last <= _end("-seq"):
            # Events after that place were dropped since, or the database is an earlier one (a backup was restored): its
            # numbers would be waited for in vain. What was missed has to be read anew.
            if self._last > (newest := _end("-seq")):
                self._last = newest
                self._forget_past()
            yield f'id: {self._last}\nevent: begin\ndata: {{"missed": true}}\n\n'
        pause, spoken, checked, looked = FIRST, self._clock(), self._clock(), -TOLD
        while not stopping():
            if not connection.in_atomic_block:
                connection.close_if_unusable_or_obsolete()
            now = self._clock()
            if now - checked >= TOKEN:
                checked = now
                try:
                    self._still()
                except (NotSignedIn, Forbidden) as error:
                    yield f"event: end\ndata: {json.dumps({'reason': error.message})}\n\n"
                    return
            texts = []
            if self._told.is_set() or not notifications.hearing() or now - looked >= TOLD:
                self._told.clear()
                looked = now
                texts = [text_of(row) for row in self._look()]
            if len(texts) >= _AT_ONCE:
                self._told.set()  # there may be more
            if texts:
                spoken, pause = now, FIRST
                yield "".join(texts)
                continue
            if now - spoken >= HEARTBEAT:
                spoken = now
                yield ": nothing new\n\n"
            if connection.settings_dict["CONN_MAX_AGE"] == 0 and not connection.in_atomic_block:
                connection.close()  # a pool lends it to others meanwhile
            self._sleep(MOST if notifications.hearing() else pause)
            pause = min(pause * 1.4, MOST)

    def _look(self) -> list[dict[str, Any]]:
        assert self._last is not None
        rows = Event.objects.filter(**self._filter)
        fresh = list(rows.filter(seq__gt=self._last).order_by("seq").values(*_FIELDS)[:_AT_ONCE])
        found = [*self._latecomers(rows), *fresh]
        if fresh:
            self._last = fresh[-1]["seq"]
        for row in found:
            self._sent[row["seq"]] = None
        while len(self._sent) > 20 * _AT_ONCE:
            self._sent.popitem(last=False)
        return found

    def _latecomers(self, rows: Any) -> list[dict[str, Any]]:
        """Rows with lower numbers that were committed after higher ones. SQLite has none: one writes at a time."""
        if connection.vendor == "sqlite":
            return []
        late = rows.filter(seq__lte=self._last, at__gt=clock.after(-LATE)).order_by("seq")
        return [row for row in late.values(*_FIELDS)[: 4 * _AT_ONCE] if row["seq"] not in self._sent]

    def _forget_past(self) -> None:
        """What is there at the beginning counts as sent."""
        if connection.vendor != "sqlite":
            recent = Event.objects.filter(**self._filter, at__gt=clock.after(-LATE))
            self._sent.update(dict.fromkeys(recent.values_list("seq", flat=True)))


def _end(order: str) -> int:
    """The first number in an order of those that are kept; 0 without events."""
    return Event.objects.order_by(order).values_list("seq", flat=True).first() or 0


def text_of(row: dict[str, Any]) -> str:
    """One event."""
    data = {
        "environment_id": row["environment_id"] or None,
        "task_id": row["task_id"] or None,
        "at": row["at"].isoformat(),
        **row["data"],
    }
    text = json.dumps(data, ensure_ascii=False, default=str)
    return f"id: {row['seq']}\nevent: {row['kind']}\ndata: {text}\n\n"
