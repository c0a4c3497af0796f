"""Durable queues in one SQLite file: what the local channel keeps of one environment.

Several processes may use one file. A message stays until it is acknowledged; its id stays after that (bounded), so that
a message that comes again is dropped. The file also knows the folders in which the servers' sockets are, so that
whoever serves them next finds them all.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from vetro.agent.errors import ChannelClosed, ChannelStoreError, MessageInvalid
from vetro.clouds.messages import Message

#: How many ids of acknowledged messages a queue remembers at least.
REMEMBERED = 65_536
#: Forgetting is done every so many acknowledgements.
_FORGET_EVERY = 4096

_SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  queue TEXT NOT NULL,
  id TEXT NOT NULL,
  body TEXT,
  signature BLOB,
  reply_to TEXT,
  done INTEGER NOT NULL DEFAULT 0,
  until REAL,
  output INTEGER NOT NULL DEFAULT 0,
  UNIQUE (queue, id)
);
CREATE INDEX IF NOT EXISTS ids ON messages (id);
CREATE INDEX IF NOT EXISTS waiting ON messages (queue, seq) WHERE done = 0;
CREATE TABLE IF NOT EXISTS servers (queue TEXT PRIMARY KEY, folder TEXT NOT NULL);
"""


class Stored(NamedTuple):
    """A message and its place among all messages of the file."""

    seq: int
    message: Message


class QueueStore:
    """The queues of one file. May be used from several threads."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._acknowledged = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._db: sqlite3.Connection | None = sqlite3.connect(
                path, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_SCHEMA)
            _complete(self._db)
            path.chmod(0o600)  # plans may hold secrets
        except (OSError, sqlite3.Error) as error:
            raise ChannelStoreError(f"cannot open the message store {path}: {error}") from error

    @contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._db is None:
                raise ChannelClosed("the channel was closed")
            try:
                yield self._db
            except UnicodeEncodeError:
                raise MessageInvalid("a message holds half of a surrogate pair, which is no Unicode text") from None
            except sqlite3.Error as error:
                raise ChannelStoreError(f"cannot use the message store: {error}") from error

    def put(self, queue: str, message: Message) -> bool:
        """Stores a message for good; False when the queue has or had one with this id."""
        with self._use() as db:
            cursor = db.execute(
                "INSERT OR IGNORE INTO messages (queue, id, body, signature, reply_to, until, output)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    *(queue, message.id, message.body, message.signature, message.reply_to, message.until),
                    message.output,
                ),
            )
            return cursor.rowcount > 0

    def next(self, queue: str, after: int = 0) -> Stored | None:
        """The first message that waits behind a place."""
        with self._use() as db:
            row = db.execute(
                "SELECT seq, id, body, signature, reply_to, until, output FROM messages"
                " WHERE queue = ? AND done = 0 AND seq > ? ORDER BY seq LIMIT 1",
                (queue, after),
            ).fetchone()
        if row is None:
            return None
        seq, id, body, signature, reply_to, until, output = row
        return Stored(seq, Message(id, body, signature, reply_to, until, output=bool(output)))

    def waiting(self, queue: str, most: int) -> int:
        """How many messages wait in a queue, counted up to ``most``."""
        with self._use() as db:
            row = db.execute(
                "SELECT count(*) FROM (SELECT 1 FROM messages WHERE queue = ? AND done = 0 LIMIT ?)", (queue, most)
            ).fetchone()
        return int(row[0])

    def had(self, queue: str, id: str) -> tuple[bool, str | None]:
        """Whether the queue has or had a message with this id, and where its answer shall go."""
        with self._use() as db:
            row = db.execute("SELECT reply_to FROM messages WHERE queue = ? AND id = ?", (queue, id)).fetchone()
        return (False, None) if row is None else (True, row[0])

    def answered(self, id: str, *, by: str, on: str) -> int:
        """On how many other queues than ``on`` there are or were answers to the message ``id`` of the queue ``by``."""
        with self._use() as db:
            row = db.execute(
                "SELECT count(*) FROM messages WHERE id = ? AND queue NOT IN (?, ?)", (id, by, on)
            ).fetchone()
        return int(row[0])

    def done(self, queue: str, id: str) -> None:
        """Ends the delivery of a message; its id stays known."""
        with self._use() as db:
            db.execute(
                "UPDATE messages SET done = 1, body = NULL, signature = NULL WHERE queue = ? AND id = ? AND done = 0",
                (queue, id),
            )
            self._acknowledged += 1
            if self._acknowledged % _FORGET_EVERY == 0:
                db.execute(
                    "DELETE FROM messages WHERE done = 1 AND queue = ?1 AND seq <= (SELECT seq FROM messages"
                    " WHERE queue = ?1 AND done = 1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
                    (queue, REMEMBERED),
                )

    def purge(self) -> None:
        """Ends the delivery of all messages; their ids stay known."""
        with self._use() as db:
            db.execute("UPDATE messages SET done = 1, body = NULL, signature = NULL WHERE done = 0")

    def version(self) -> int:
        """A number that changes when another process has written."""
        with self._use() as db:
            return int(db.execute("PRAGMA data_version").fetchone()[0])

    def servers(self) -> Mapping[str, Path]:
        """The folders of the sockets by queue."""
        with self._use() as db:
            return {queue: Path(folder) for queue, folder in db.execute("SELECT queue, folder FROM servers")}

    def add_server(self, queue: str, folder: Path) -> None:
        """Notes where the socket of a queue is."""
        with self._use() as db:
            db.execute("INSERT OR REPLACE INTO servers (queue, folder) VALUES (?, ?)", (queue, str(folder)))

    def remove_server(self, queue: str) -> None:
        """Forgets the socket of a queue; its messages stay."""
        with self._use() as db:
            db.execute("DELETE FROM servers WHERE queue = ?", (queue,))

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None


def _complete(db: sqlite3.Connection) -> None:
    """Adds what a file of an earlier version lacks."""
    there = {column[1] for column in db.execute("PRAGMA table_info(messages)")}
    for name, kind in (("until", "REAL"), ("output", "INTEGER NOT NULL DEFAULT 0")):
        if name not in there:
            try:
                db.execute(f"ALTER TABLE messages ADD COLUMN {name} {kind}")
            except sqlite3.OperationalError as error:
                if "duplicate column" not in str(error):  # another process was quicker
                    raise
