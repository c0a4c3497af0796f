"""A cloud and its agents in one SQLite file, for tests that kill processes: it outlives them and counts deeds."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vetro.clouds.interface import Held, NotFound, ServerState, StackChange, StackFailed, StackState, StaleStack
from vetro.clouds.messages import Message
from vetro.library.stackdata import EMPTY, apply, digest_of, whole_of

_TABLES = """
CREATE TABLE IF NOT EXISTS stacks (name TEXT PRIMARY KEY, parts TEXT, digest TEXT);
CREATE TABLE IF NOT EXISTS done (number INTEGER PRIMARY KEY, what TEXT, name TEXT);
CREATE TABLE IF NOT EXISTS sent (id TEXT PRIMARY KEY, queue TEXT, body TEXT);
CREATE TABLE IF NOT EXISTS answers (number INTEGER PRIMARY KEY, queue TEXT, id TEXT, body TEXT,
  acked INTEGER DEFAULT 0);
CREATE INDEX IF NOT EXISTS waiting ON answers (queue, acked);
CREATE INDEX IF NOT EXISTS whats ON done (what);
CREATE TABLE IF NOT EXISTS queues (name TEXT PRIMARY KEY);
"""


def answer_of(id: str, body: str) -> str:
    """What an agent answers to a plan."""
    text = f"ran {json.loads(body)['Name']}"
    return json.dumps({"FormatVersion": "2.0.0", "SourceID": id, "ErrorCode": 0, "Body": text})


class World:
    """What really happened; `done` lists changes as (what, name) in their order."""

    #: Called after something was done, before anybody hears of it.
    crash: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.RLock()
        self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.executescript(_TABLES)

    def done(self, what: str) -> list[str]:
        """Names of the things of a sort that were done, in their order."""
        with self._guard:
            return [row[0] for row in self._db.execute("SELECT name FROM done WHERE what=? ORDER BY number", (what,))]

    def did(self, what: str, name: str) -> None:
        """Notes that something was done."""
        with self._guard:
            self._db.execute("INSERT INTO done (what, name) VALUES (?, ?)", (what, name))

    @contextmanager
    def deed(self) -> Iterator[None]:
        """One change, whole or not at all; `crash` comes after it."""
        with self._guard:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        self.crash()

    def run_plan(self, queue: str, id: str, body: str) -> bool:
        """An agent got a plan: it runs it, unless it had it before. Whether it did; inside of a `deed`."""
        new = self._db.execute("INSERT OR IGNORE INTO sent VALUES (?, ?, ?)", (id, queue, body)).rowcount > 0
        name = json.loads(body)["Name"]
        if new and name != "silent":
            self.did("run", name)
        return new

    def note_queue(self, name: str) -> None:
        """Somebody sends to this queue of an agent over a broker."""
        with self._guard:
            self._db.execute("INSERT OR IGNORE INTO queues VALUES (?)", (name,))

    def queues(self) -> list[str]:
        """Queues over a broker."""
        with self._guard:
            return [row[0] for row in self._db.execute("SELECT name FROM queues ORDER BY name")]

    def stacks(self) -> list[str]:
        """Names of the stacks that exist."""
        with self._guard:
            return [row[0] for row in self._db.execute("SELECT name FROM stacks ORDER BY name")]

    def resources(self) -> list[str]:
        """Names of the resources of all stacks."""
        with self._guard:
            rows = self._db.execute("SELECT parts FROM stacks").fetchall()
        return [key for (parts,) in rows for section, key, _ in json.loads(parts) if section == "resources"]

    def waiting(self) -> list[str]:
        """Ids of answers that nobody acknowledged."""
        return [row[0] for row in self._db.execute("SELECT id FROM answers WHERE acked=0")]

    def close(self) -> None:
        self._db.close()


class WorldCloud(World):
    """`vetro.clouds.interface.Cloud`, as far as tests go: a stack is its parts."""

    name = "world"

    def servers(self, owner: Any) -> list[ServerState]:
        """None is known to run: whatever is to be switched is."""
        return []

    def channel(self, owner: Any) -> Any:
        return WorldChannel(self.path)

    def _state(self, name: str) -> tuple[dict[tuple[str, str], Any], str] | None:
        row = self._db.execute("SELECT parts, digest FROM stacks WHERE name=?", (name,)).fetchone()
        return None if row is None else ({(s, k): v for s, k, v in json.loads(row[0])}, row[1])

    def _stack(self, region: str, name: str) -> StackState | None:
        with self._guard:
            found = self._state(name)
        if found is None:
            return None
        template, values, _, _ = whole_of(found[0])
        outputs = {key: value.get("value") for key, value in template.get("outputs", {}).items()}
        return StackState(name, region, "CREATE_COMPLETE", "", found[1], template, values, outputs)

    def read_stack(self, owner: Any, region: str, name: str, *, settled: bool = False) -> StackState | None:
        return self._stack(region, name)

    def push_stack(self, owner: Any, region: str, name: str, change: StackChange) -> StackState:
        with self._guard:
            before = self._state(name)
        if "broken" in name:
            raise StackFailed(f"stack {name} is in state CREATE_FAILED: no valid host")
        if before is None or before[1] != change.digest:
            if change.base is not None and change.base != (before[1] if before else EMPTY):
                raise StaleStack(f"stack {name} is in another state")
            parts = apply(before[0] if before and change.base is not None else {}, change.put, change.drop)
            assert digest_of(parts) == change.digest
            data = json.dumps([[*part, value] for part, value in parts.items()])
            with self.deed():
                self._db.execute("REPLACE INTO stacks VALUES (?, ?, ?)", (name, data, change.digest))
                self.did("push", name)
                self.did("state", f"{name} {change.digest}")
        found = self._stack(region, name)
        assert found is not None
        return found

    def delete_stack(self, owner: Any, region: str, name: str) -> None:
        with self.deed():
            if self._db.execute("DELETE FROM stacks WHERE name=?", (name,)).rowcount:
                self.did("delete", name)

    def power(self, owner: Any, server: str, action: str) -> None:
        with self.deed():
            if self.done("power")[-1:] != [f"{action} {server}"]:
                self.did("power", f"{action} {server}")

    def snapshot_report(self, owner: Any) -> Sequence[Any]:
        return ()

    def snapshot(self, owner: Any, name: str, still: bool = False) -> Sequence[Any]:
        self._once("make", name)
        return (Held(id="1", name="web", kind="server", method="rows"),)

    def restore(self, owner: Any, name: str) -> None:
        self._once("restore", name)

    def drop(self, owner: Any, name: str) -> None:
        self._once("drop", name)

    def _once(self, what: str, name: str) -> None:
        with self.deed():
            if f"{what} {name}" not in self.done("snapshot"):
                self.did("snapshot", f"{what} {name}")

    def network(self, owner: Any, region: str, query: str, args: Mapping[str, Any]) -> Any:
        if query == "router":
            with self.deed():
                if "router" not in self.done("network"):
                    self.did("network", "router")
            return "router-1"
        raise NotFound(f"no {query} here")

    def metadef(self, owner: Any, region: str, query: str, args: Mapping[str, Any]) -> Sequence[Any]:
        return ()


class WorldChannel(World):
    """`vetro.clouds.messages.Channel`: agents run each plan once, at once, and answer with its name.

    A plan named ``silent`` is never answered.
    """

    #: Seconds between two looks for an answer that another process may have put there.
    pause = 0.002

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._received: set[int] = set()
        self._ended = False

    def send(self, queue: str, message: Message) -> None:
        if not queue.startswith("e"):
            raise NotFound(f"queue {queue} belongs to somebody else")
        plan = json.loads(message.body)
        with self.deed():
            if self.run_plan(queue, message.id, message.body) and plan["Name"] != "silent":
                answer = (message.reply_to, message.id, answer_of(message.id, message.body))
                self._db.execute("INSERT INTO answers (queue, id, body) VALUES (?, ?, ?)", answer)

    def receive(self, queue: str, timeout: float) -> Message | None:
        until = time.monotonic() + timeout
        while not self._ended:
            with self._guard:
                rows = self._db.execute(
                    "SELECT number, id, body FROM answers WHERE queue=? AND acked=0 ORDER BY number", (queue,)
                ).fetchall()
            for number, id, body in rows:
                if number not in self._received:
                    self._received.add(number)
                    return Message(id, body)
            if time.monotonic() >= until:
                return None
            time.sleep(self.pause)
        return None

    def acknowledge(self, queue: str, id: str) -> None:
        with self._guard:
            self._db.execute("UPDATE answers SET acked=1 WHERE queue=? AND id=?", (queue, id))

    def connected(self, queue: str) -> bool:
        return True

    def close(self) -> None:
        """The file stays open: threads that still look end with their process."""
        self._ended = True
