"""The recording driver's queues: a plan is kept once for each id, its result waits until it is acknowledged."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from vetro.clouds.guest.agent_queue import queue_prefix
from vetro.clouds.interface import NotFound, Owner
from vetro.clouds.messages import Message
from vetro.clouds.record.answers import as_text, result_of, texts_of
from vetro.clouds.record.store import RecordStore

#: Seconds between two looks for results of other processes.
_LOOK = 0.05


class Recorder(Protocol):
    """What the queues need of the recording driver."""

    @property
    def store(self) -> RecordStore: ...
    @property
    def closed(self) -> bool: ...
    def clock(self) -> float: ...
    def effects(self, section: str, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Any]: ...


class RecordChannel:
    """Implements `vetro.clouds.messages.Channel` for one environment."""

    def __init__(self, driver: Recorder, owner: Owner) -> None:
        self._driver = driver
        self._owner = owner
        self._store = driver.store
        self._prefix = queue_prefix(owner.environment)
        self._received: dict[str, set[str]] = {}
        #: Results that were read and not yet received.
        self._read: dict[str, deque[Message]] = {}
        self._closed = False

    def send(self, queue: str, message: Message) -> None:
        """See `Channel.send`. A plan for a server that is not there yet waits for it."""
        if not queue.startswith(self._prefix):
            raise NotFound(f"the queue {queue} is not one of environment '{self._owner.environment}'")
        try:
            plan = json.loads(message.body)
        except ValueError:
            plan = None
        plan = plan if isinstance(plan, dict) else {}
        reply_to = message.reply_to or plan.get("ReplyTo") or ""
        name = plan.get("Name")
        with self._store.transaction():
            kept = self._store.run(
                "INSERT OR IGNORE INTO plans (project, environment, queue, id, name, body, reply_to, at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self._owner.project,
                    self._owner.environment,
                    queue,
                    message.id,
                    name if isinstance(name, str) else "",
                    json.dumps(plan),
                    reply_to,
                    self._driver.clock(),
                ),
            )
            if kept:
                self.answer(queue)

    def batch(self) -> AbstractContextManager[None]:
        """All that is sent and acknowledged in the block is written down at its end."""
        return self._store.transaction()

    def answer(self, queue: str) -> None:
        """Answers the plans of a queue that were not answered yet, when their server is there."""
        owner, store = (self._owner.project, self._owner.environment), self._store
        servers = store.rows(
            "SELECT id, name, ready FROM servers"
            " WHERE project = ? AND environment = ? AND queue = ? AND status = 'ACTIVE'",
            (*owner, queue),
        )
        if not servers:
            return
        server, server_name, ready = servers[0]
        for place, id, name, body, reply_to in store.rows(
            "SELECT place, id, name, body, reply_to FROM plans"
            " WHERE project = ? AND environment = ? AND queue = ? AND result IS NULL ORDER BY place",
            (*owner, queue),
        ):
            plan = json.loads(body)
            effects = self._driver.effects("plans", {"plan": [name], "script": texts_of(plan), "server": [server_name]})
            now = self._driver.clock()
            # One plan after the other: the next begins when this one has ended.
            delay = effects.get("delay", 0)
            ready = max(ready, now) + delay
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(ready))
            result = None if effects.get("never") else as_text(result_of(plan, effects, id, stamp))
            with store.transaction():
                # "null": never answered; two processes cannot answer one plan twice.
                taken = store.run(
                    "UPDATE plans SET server = ?, result = ? WHERE place = ? AND result IS NULL",
                    (server, result or "null", place),
                )
                if taken and result is not None:
                    store.run(
                        "INSERT INTO results (project, environment, queue, id, body, due) VALUES (?, ?, ?, ?, ?, ?)",
                        (*owner, reply_to, id, result, ready),
                    )
                if delay:
                    store.run("UPDATE servers SET ready = max(ready, ?) WHERE id = ?", (ready, server))
        store.tell()

    def receive(self, queue: str, timeout: float) -> Message | None:
        """See `Channel.receive`."""
        ends = time.monotonic() + timeout
        store, read = self._store, self._read.setdefault(queue, deque())
        while not self._closed and not self._driver.closed:
            if read:
                return read.popleft()
            told, now = store.told, self._driver.clock()
            due = self._look(queue, now)
            if read:
                continue
            left = ends - time.monotonic()
            if left <= 0:
                return None
            with store.news:
                if store.told == told:
                    store.news.wait(min(left, _LOOK, max(0.001, due - now) if due is not None else _LOOK))
        return None

    def _look(self, queue: str, now: float) -> float | None:
        """Reads the results that are due; when the first of the others is."""
        seen, read = self._received.setdefault(queue, set()), self._read[queue]
        for id, body, due in self._store.results(self._owner.project, self._owner.environment, queue):
            if id in seen:
                continue
            if due > now:
                return due
            seen.add(id)
            read.append(Message(id, body))
        return None

    def acknowledge(self, queue: str, id: str) -> None:
        """See `Channel.acknowledge`."""
        self._store.run(
            "DELETE FROM results WHERE project = ? AND environment = ? AND queue = ? AND id = ?",
            (self._owner.project, self._owner.environment, queue, id),
        )
        self._received.get(queue, set()).discard(id)

    def purge(self) -> None:
        """See `PurgedChannel.purge`. Plans that wait for their servers are never answered."""
        owner = (self._owner.project, self._owner.environment)
        with self._store.transaction():
            self._store.run(
                "UPDATE plans SET result = 'null' WHERE project = ? AND environment = ? AND result IS NULL", owner
            )
            self._store.run("DELETE FROM results WHERE project = ? AND environment = ?", owner)

    def connected(self, queue: str) -> bool | None:
        """See `Channel.connected`: agents are there from when their servers are up."""
        found = self._store.rows(
            "SELECT ready FROM servers WHERE project = ? AND environment = ? AND queue = ? AND status = 'ACTIVE'",
            (self._owner.project, self._owner.environment, queue),
        )
        return bool(found) and found[0][0] <= self._driver.clock()

    def close(self) -> None:
        """See `Channel.close`."""
        self._closed = True
        with self._store.news:
            self._store.news.notify_all()
